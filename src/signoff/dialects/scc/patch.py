"""
The headers of a unified diff: which paths it writes, by every header it has.

Hunks are counted out by their own numbers, so that no line of a hunk is taken for
a header and no header hides in one.  What cannot be read cannot be cleared: it is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

import msgspec
from msgspec import Struct

from signoff.errors import PatchRefused
from signoff.jsonvalue import shown

__all__ = ["Change", "ChangeKind", "changed_paths", "read_patch"]

MAX_BYTES: Final = 64 * 2**20
LINK: Final = "120000"
SUBMODULE: Final = "160000"

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@(?: .*)?")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\\\"]|^/|^[A-Za-z]:|(?:^|/)(?:\.{0,2})(?:/|$)")
_MODES: Final = ("old mode ", "new mode ", "deleted file mode ", "new file mode ")
_MOVES: Final = ("rename from ", "rename to ", "copy from ", "copy to ")
_SILENT: Final = ("similarity index ", "dissimilarity index ", "index ")
_NOWHERE: Final = "/dev/null"


class ChangeKind(Enum):
    """What a header says is done; each of them is a write."""

    MODIFY = "modify"
    ADD = "add"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"


class Change(Struct, frozen=True, kw_only=True):
    """
    One file of a diff.

    Args:
        kind: What is done.
        old: Its path before, ``""`` for a new file.
        new: Its path after, ``""`` for a deleted one.
        old_mode: Octal mode before, ``""`` where the diff does not say.
        new_mode: Octal mode after, likewise.
        binary: Its content is not text.
        added: Lines added.
        removed: Lines removed.
    """

    kind: ChangeKind
    old: str
    new: str
    old_mode: str = ""
    new_mode: str = ""
    binary: bool = False
    added: int = 0
    removed: int = 0

    @property
    def is_link(self) -> bool:
        """It is a symbolic link afterwards."""
        return self.new_mode == LINK

    @property
    def is_submodule(self) -> bool:
        """It is or was a submodule."""
        return SUBMODULE in {self.old_mode, self.new_mode}


def read_patch(data: bytes) -> tuple[Change, ...]:
    """
    Every change of a unified diff, in its order.

    Raises:
        PatchRefused: A name that is unsafe, quoted or not UTF-8, headers that disagree, or
            anything that is no diff.
    """
    if len(data) > MAX_BYTES:
        raise PatchRefused(f"is larger than {MAX_BYTES} bytes")
    return tuple(_Reading(data.split(b"\n")).changes())


def changed_paths(changes: tuple[Change, ...]) -> tuple[str, ...]:
    """Every path that is written, sorted: both sides of a rename and of a copy."""
    return tuple(sorted({path for one in changes for path in (one.old, one.new) if path}))


class _Headers(Struct, kw_only=True):
    """What the headers of one file have said so far."""

    git: str | None = None
    old: str | None = None
    new: str | None = None
    modes: dict[str, str] = {}
    moves: dict[str, str] = {}
    binary: bool = False
    added: int = 0
    removed: int = 0


class _Reading:
    """One pass over the lines of a diff."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines[:-1] if lines[-1] == b"" else lines
        self._at = 0

    def changes(self) -> Iterator[Change]:
        while self._at < len(self._lines):
            line = self._line()
            if line.startswith("diff --git "):
                yield _change(self._git_file(line))
            elif line.startswith("--- "):
                yield _change(self._file(_Headers()))
            elif line:
                raise PatchRefused(f'line {self._at + 1} is no part of a diff: "{shown(line, 80)}"')
            else:
                self._at += 1

    def _git_file(self, line: str) -> _Headers:
        headers = _Headers(git=line)
        self._at += 1
        while self._at < len(self._lines):
            line = self._line()
            for words, found in ((_MODES, headers.modes), (_MOVES, headers.moves)):
                for word in words:
                    if line.startswith(word):
                        self._once(found, word.strip(), line.removeprefix(word))
                        break
                else:
                    continue
                break
            else:
                if not line.startswith(_SILENT):
                    break
            self._at += 1
        return self._content(headers, line if self._at < len(self._lines) else "")

    def _once(self, found: dict[str, str], name: str, value: str) -> None:
        if name in found:
            raise PatchRefused(f'line {self._at + 1} says "{name}" twice')
        found[name] = value

    def _content(self, headers: _Headers, line: str) -> _Headers:
        if line.startswith("--- "):
            return self._file(headers)
        if line == "GIT binary patch":
            headers.binary = True
            self._at += 1
            while self._at < len(self._lines) and not self._lines[self._at].startswith(b"diff "):
                self._at += 1
        elif line.startswith("Binary files "):
            headers.binary = True
            self._at += 1
        return headers

    def _file(self, headers: _Headers) -> _Headers:
        headers.old = _header_path(self._line().removeprefix("--- "), "a/")
        self._at += 1
        line = self._line() if self._at < len(self._lines) else ""
        if not line.startswith("+++ "):
            raise PatchRefused(f"line {self._at + 1} must name the new file")
        headers.new = _header_path(line.removeprefix("+++ "), "b/")
        self._at += 1
        hunks = 0
        while self._at < len(self._lines) and self._lines[self._at].startswith(b"@@ "):
            self._hunk(headers)
            hunks += 1
        if not hunks:
            raise PatchRefused(f"line {self._at + 1} must begin a hunk")
        return headers

    def _hunk(self, headers: _Headers) -> None:
        start = self._at + 1
        found = _HUNK.fullmatch(self._lines[self._at].decode("utf-8", "replace"))
        if found is None:
            raise PatchRefused(f"line {start} is no beginning of a hunk")
        old, new = (1 if count is None else int(count) for count in found.groups())
        self._at += 1
        while old or new or self._is_remark():
            mark = self._lines[self._at][:1] if self._at < len(self._lines) else b"@"
            if mark not in {b" ", b"-", b"+", b"\\", b""}:
                raise PatchRefused(f"the hunk of line {start} ends too early")
            old -= mark in {b" ", b"-", b""}
            new -= mark in {b" ", b"+", b""}
            headers.removed += mark == b"-"
            headers.added += mark == b"+"
            if min(old, new) < 0:
                raise PatchRefused(f"the hunk of line {start} has more lines than it says")
            self._at += 1

    def _is_remark(self) -> bool:
        return self._at < len(self._lines) and self._lines[self._at].startswith(b"\\")

    def _line(self) -> str:
        try:
            return self._lines[self._at].decode()
        except UnicodeDecodeError as exc:
            raise PatchRefused(f"line {self._at + 1} is not UTF-8") from exc


def _header_path(text: str, prefix: str) -> str:
    """The path of a ``---`` or ``+++`` line; ``""`` for no file."""
    path = text.partition("\t")[0]
    if path == _NOWHERE:
        return ""
    return _safe(path.removeprefix(prefix) if path.startswith(prefix) else path)


def _safe(path: str) -> str:
    if not path or _UNSAFE.search(path):
        raise PatchRefused(f'"{shown(path)}" is no plain path in the workspace')
    return path


def _change(headers: _Headers) -> Change:
    change = _said(headers)
    moved = {word.partition(" ")[0] for word in headers.moves}
    if len(moved) > 1 or len(headers.moves) not in {0, 2}:
        raise PatchRefused(f'"{shown(change.new or change.old)}" is renamed or copied by half')
    for side, path in (("from", change.old), ("to", change.new)):
        for word in moved:
            if _safe(headers.moves[f"{word} {side}"]) != path:
                raise PatchRefused(f'the headers of "{shown(path)}" disagree')
    if not moved and change.old and change.new and change.old != change.new:
        raise PatchRefused(f'"{shown(change.old)}" becomes "{shown(change.new)}" without a rename')
    deletes, adds = "deleted file mode" in headers.modes, "new file mode" in headers.modes
    if headers.git and (deletes is not (not change.new) or adds is not (not change.old)):
        raise PatchRefused(f'the headers of "{shown(change.new or change.old)}" disagree')
    return msgspec.structs.replace(change, kind=_kind(change, moved))


def _said(headers: _Headers) -> Change:
    """The change with the paths that the headers agree on."""
    modes = headers.modes
    old_mode = modes.get("old mode") or modes.get("deleted file mode") or ""
    new_mode = modes.get("new mode") or modes.get("new file mode") or ""
    old, new = headers.old, headers.new
    if headers.git is not None:
        named_old, named_new = _git_paths(headers)
        if (old and old != named_old) or (new and new != named_new):
            raise PatchRefused(f'the headers of "{shown(named_new)}" disagree')
        if old is None:
            old = "" if "new file mode" in modes else named_old
            new = "" if "deleted file mode" in modes else named_new
    if not old and not new:
        raise PatchRefused("a change names no file")
    return Change(
        kind=ChangeKind.MODIFY,
        old=old or "",
        new=new or "",
        old_mode=old_mode,
        new_mode=new_mode,
        binary=headers.binary,
        added=headers.added,
        removed=headers.removed,
    )


def _git_paths(headers: _Headers) -> tuple[str, str]:
    """
    The two paths of a ``diff --git`` line.

    A space divides them and may be in them, so they are known only where they are
    one and the same, or where a rename or copy names both.
    """
    line = headers.git or ""
    for word in ("rename", "copy"):
        if f"{word} from" in headers.moves and f"{word} to" in headers.moves:
            old, new = _safe(headers.moves[f"{word} from"]), _safe(headers.moves[f"{word} to"])
            if line != f"diff --git a/{old} b/{new}":
                raise PatchRefused(f'the headers of "{shown(new)}" disagree')
            return old, new
    rest = line.removeprefix("diff --git a/")
    half = (len(rest) - len(" b/")) // 2
    path = rest[:half]
    if line != f"diff --git a/{path} b/{path}":
        raise PatchRefused(f'"{shown(line)}" names two files, or none')
    return _safe(path), path


def _kind(change: Change, moved: set[str]) -> ChangeKind:
    if moved:
        return ChangeKind.RENAME if moved == {"rename"} else ChangeKind.COPY
    if not change.old:
        return ChangeKind.ADD
    return ChangeKind.MODIFY if change.new else ChangeKind.DELETE
