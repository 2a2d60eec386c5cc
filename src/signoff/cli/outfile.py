"""
Files that a command writes: whole and lasting, or not at all.

A file that was left by an earlier run is removed before the work begins, so that
it cannot be taken for the answer of this one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from signoff.cli.exits import Exit, Refusal
from signoff.folder import Folder, Unfinished, reason
from signoff.jsonvalue import shown

__all__ = [
    "held_back",
    "remove_stale",
    "require_apart",
    "require_elsewhere",
    "require_outside",
    "withdraw_verdict",
    "write_file",
]


def require_apart(target: str, sources: Iterable[str], *, option: str) -> None:
    """
    Nothing, if a file that will be written is none of those that are read.

    Raises:
        Refusal: It is one of them.
    """
    for source in sources:
        if _is_same(target, source):
            raise Refusal(
                f"{option} {shown(target)} is the file {shown(source)} that is read",
                next_step=f"give {option} another name",
            )


def require_outside(folder: str, names: Iterable[str]) -> None:
    """
    Nothing, if no file is inside a folder that a run clears.

    Raises:
        Refusal: One is.
    """
    for name in names:
        if name != "-" and _is_inside(name, folder):
            raise Refusal(
                f"{shown(name)} is inside {shown(folder)}, which holds a run and nothing else",
                next_step="keep it elsewhere",
            )


def require_elsewhere(contract: str, folder: str) -> None:
    """
    Nothing, if the contract is not in the run that it is to judge.

    Raises:
        Refusal: It is.
    """
    if folder and _is_inside(contract, folder):
        raise Refusal(
            f"{shown(contract)} is inside {shown(folder)}, the run that it is to judge",
            next_step="take the contract from where the work could not change it",
        )


def remove_stale(path: str) -> None:
    """
    Remove what an earlier run left under that name.

    Raises:
        Refusal: It cannot be removed, or is no regular file.
    """
    try:
        if not stat.S_ISREG(Path(path).stat(follow_symlinks=False).st_mode):
            raise _unwritten(path, "is not a regular file")
        with _folder(path) as folder:
            folder.remove(Path(path).name)
            folder.sync()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as exc:
        raise _unwritten(path, _said(exc)) from exc


def withdraw_verdict(folder: str) -> None:
    """Take back the verdict of a run whose answer could not be given; the rest of it stays."""
    from signoff.rundir import VERDICT  # only after a failure

    with suppress(OSError), Folder.open(folder) as opened:
        opened.remove(VERDICT)
        opened.sync()


def write_file(path: str, data: bytes) -> None:
    """
    Put the bytes under that name, in place of what was there.

    Raises:
        Refusal: They cannot be written; what was there is untouched.
    """
    with held_back(path, data):
        pass


@contextmanager
def held_back(path: str, data: bytes) -> Iterator[None]:
    """
    A file that is on the disk and gets its name when the ``with`` ends well.

    Raises:
        Refusal: It cannot be written; what was there is untouched.
    """
    if os.path.lexists(path) and not Path(path).is_file():
        raise _unwritten(path, "is not a regular file")
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(_folder(path))
            file = stack.enter_context(Unfinished(folder))
            file.write(data)
        except (OSError, ValueError) as exc:
            raise _unwritten(path, _said(exc)) from exc
        yield
        try:
            file.keep(Path(path).name)
            folder.sync()
        except OSError as exc:
            raise _unwritten(path, _said(exc)) from exc


def _folder(path: str) -> Folder:
    return Folder.open(os.path.realpath(Path(path).parent))


def _is_inside(name: str, folder: str) -> bool:
    try:
        return Path(os.path.realpath(name)).is_relative_to(os.path.realpath(folder))
    except ValueError:  # no file can have this name
        return False


def _is_same(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return False


def _said(exc: OSError | ValueError) -> str:
    return reason(exc) if isinstance(exc, OSError) else "no file can have this name"


def _unwritten(path: str, why: str) -> Refusal:
    return Refusal(
        f"{shown(path)}: cannot be written ({why})",
        code=Exit.UNWRITTEN,
        next_step="nothing that reads as a pass was left; free the place or choose another",
    )
