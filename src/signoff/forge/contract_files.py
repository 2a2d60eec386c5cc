"""
Forge contracts in a folder: ``<task_id>/<version>/contract.md`` with ``contract.json`` beside it.

Without the JSON the prose alone makes a minimal contract, which claims nothing; broken
JSON never does.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from signoff.dialects.forge.errors import ContractFormatError, UnknownContractError
from signoff.document import read_bytes
from signoff.errors import DocumentError
from signoff.forge.contract_spec import MAX_CONTRACT_BYTES, ContractSpec
from signoff.jsonvalue import shown

__all__ = ["ROOT_VARIABLE", "load_contract_spec", "nearest"]

ROOT_VARIABLE: Final = "SIGNOFF_FORGE_CONTRACTS"
MAX_NAMES: Final = 1_000
MAX_NEAREST: Final = 3
_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")
_ABSENT: Final = (errno.ENOENT, errno.ENOTDIR)
_OUTSIDE: Final = (errno.EXDEV, errno.ELOOP, errno.ENAMETOOLONG)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")


def load_contract_spec(
    task_id: str, version: str = "v1", *, root: str | os.PathLike[str] | None = None
) -> ContractSpec:
    """
    The contract of a task.

    Args:
        task_id: Name of the task's folder.
        version: Name of the folder below it.
        root: Folder of all contracts; by default what the environment variable
            ``SIGNOFF_FORGE_CONTRACTS`` says, else ``contracts`` in the current folder.

    Raises:
        UnknownContractError: There is none, or the name can be none; names the nearest.
        ContractFormatError: Its ``contract.json`` is broken.
    """
    folder = Path(os.environ.get(ROOT_VARIABLE) or "contracts") if root is None else Path(root)
    for name in (task_id, version):
        if not _is_name(name):
            raise UnknownContractError(
                f"no contract has the name {shown(repr(name))}: letters, digits, '.', '_', '-'"
            )
    place = f"{task_id}/{version}"
    data = _content(folder, f"{place}/contract.json")
    if data is not None:
        return _from_json(data, task_id, version, source=str(folder / place / "contract.json"))
    prose = _content(folder, f"{place}/contract.md")
    if prose is None:
        raise _unknown(folder, task_id, version)
    title = _first_heading(prose.decode("utf-8", "replace")) or task_id
    return ContractSpec(
        task_id,
        version,
        title=shown(title),
        contract_markdown_path=f"{place}/contract.md",
        synthesized=True,
    )


def _is_name(name: object) -> bool:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return False
    return ".." not in name and name != "."


def nearest(name: str, known: Iterable[str], *, count: int = MAX_NEAREST) -> tuple[str, ...]:
    """The names most like one that is not there."""
    import difflib  # only a wrong name needs it

    return tuple(difflib.get_close_matches(name[:200], [*known], n=count))


def _from_json(data: bytes, task_id: str, version: str, *, source: str) -> ContractSpec:
    spec = ContractSpec.from_bytes(data, source=source)
    if not spec.task_id:  # absent, as far as the file's own folder can tell
        spec = replace(spec, task_id=task_id, version=version)
    for field, found, expected in (
        ("task_id", spec.task_id, task_id),
        ("version", spec.version, version),
    ):
        if found != expected:
            raise ContractFormatError(
                f"expected {expected!r}, the name of its folder, got {shown(repr(found))}",
                field=field,
                source=shown(source),
            )
    return spec


def _content(folder: Path, name: str) -> bytes | None:
    """The bytes of a file below the folder; None where there is none."""
    try:
        return read_bytes(name, max_bytes=MAX_CONTRACT_BYTES, folder=folder)
    except DocumentError as exc:
        number = exc.__cause__.errno if isinstance(exc.__cause__, OSError) else None
        if number in _ABSENT:
            return None
        if number in _OUTSIDE:
            raise UnknownContractError(f"no contract is read from there: {exc}") from exc
        raise ContractFormatError(str(exc)) from exc


def _unknown(folder: Path, task_id: str, version: str) -> UnknownContractError:
    versions = _folders(folder / task_id)
    if versions:
        near = tuple(f"{task_id}/{one}" for one in nearest(version, versions) or versions[:3])
    else:
        near = nearest(task_id, _folders(folder))
    known = f"; nearest: {', '.join(map(shown, near))}" if near else ""
    where = shown(str(folder))
    if not folder.is_dir():
        known = f": no such folder; {ROOT_VARIABLE} can name another"
    return UnknownContractError(f"no contract {task_id}/{version} in {where}{known}")


def _folders(folder: Path) -> list[str]:
    """Names of the folders in a folder, not many."""
    try:
        with os.scandir(folder) as entries:
            found = (entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
            return sorted(islice(found, MAX_NAMES))
    except OSError:
        return []


def _first_heading(prose: str) -> str:
    """The text of the first heading that stands in no block of code; ``""`` without one."""
    fence = ""
    for line in prose.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
            fence = ""
        elif not fence and (heading := _HEADING.match(line)) and heading[1]:
            return heading[1]
    return ""
