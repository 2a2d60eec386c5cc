"""
What the base says of files: which are ignored, and how their content is kept.

Git itself applies the rules, to an empty tree in which we lay those files of the base
that hold them.  Rules that came with the work count for nothing, nor do those
outside of the tree: nobody hides a file by ignoring it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from signoff.errors import NotJudged
from signoff.git.objects import EXECUTABLE, REGULAR, Entry, Objects
from signoff.git.program import Git
from signoff.model import inconclusive
from signoff.status import Cause

__all__ = ["AS_IT_IS", "Keeping", "Rules"]

_NAMES: Final = (b".gitignore", b".gitattributes")
_ASKED: Final = ("text", "eol", "crlf", "ident", "filter")
_SET: Final = ("set", "auto")
_MAX_RULE_BYTES: Final = 2**22
_IDENT: Final = re.compile(rb"\$Id:[^$\n]*\$")
_POINTER: Final = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n"
    rb"(?:ext-.*\n)*oid (sha256:[0-9a-f]{64})\nsize (\d{1,18})\n"
)
_TREE: Final = "rules"


class Keeping(Struct, frozen=True):
    """
    How git keeps the content of a file.

    Args:
        is_text: CR LF on disk is LF in the repository.
        is_guessed: So it is only where the content looks like text.
        has_ident: ``$Id: ...$`` on disk is ``$Id$`` in the repository.
        is_large: The repository may hold a pointer of Git LFS.
    """

    is_text: bool = False
    is_guessed: bool = False
    has_ident: bool = False
    is_large: bool = False

    def kept(self, data: bytes) -> bytes:
        """The content on disk as it is kept."""
        if self.is_text and not (self.is_guessed and _looks_binary(data)):
            data = data.replace(b"\r\n", b"\n")
        return _IDENT.sub(b"$Id$", data) if self.has_ident else data

    def is_meant(self, pointer: bytes, digest: str, size: int) -> bool:
        """Content of that digest and size is the one that a pointer of Git LFS names."""
        found = _POINTER.fullmatch(pointer) if self.is_large else None
        return found is not None and (found[1].decode(), int(found[2])) == (digest, size)


AS_IT_IS: Final = Keeping()


class Rules:
    """
    The rules of a base.

    Args:
        git: A git of our own; the tree is laid below its folder.
        objects: The objects of the repository.
        base: Everything in the base, by path.
    """

    def __init__(self, git: Git, objects: Objects, base: Mapping[bytes, Entry]) -> None:
        self._git = git
        (git.folder / _TREE).mkdir()
        for path, entry in base.items():
            folder, _, name = path.rpartition(b"/")
            if name in _NAMES and entry.mode in {REGULAR, EXECUTABLE} and _is_plain(folder):
                self._lay(path, objects.content(entry.id).data)

    def ignored(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those of the paths that are ignored; a folder ends with a slash."""
        given = b"".join(b"./" + path + b"\0" for path in paths)
        if not given:
            return set()
        options = ("check-ignore", "--no-index", "-z", "--stdin")
        printed = self._git.run(*options, given=given, tree=_TREE)
        return {path[2:] for path in printed.split(b"\0") if path}

    def keeping(self, paths: Iterable[bytes]) -> dict[bytes, Keeping]:
        """How the content of each of the paths is kept."""
        given = b"".join(b"./" + path + b"\0" for path in paths)
        if not given:
            return {}
        options = ("check-attr", "-z", "--stdin", *_ASKED)
        fields = self._git.run(*options, given=given, tree=_TREE).split(b"\0")[:-1]
        found: dict[bytes, dict[str, str]] = {}
        for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
            found.setdefault(path[2:], {})[name.decode()] = value.decode("utf-8", "replace")
        return {path: _keeping(values) for path, values in found.items()}

    def _lay(self, path: bytes, data: bytes | None) -> None:
        if data is None or len(data) > _MAX_RULE_BYTES:
            detail = "The rules of the base are too large to be read."
            raise NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))
        tree = os.fsencode(self._git.folder / _TREE)
        os.makedirs(b"/".join((tree, path.rpartition(b"/")[0])), exist_ok=True)  # noqa: PTH103  bytes
        with open(b"/".join((tree, path)), "xb") as file:  # noqa: PTH123  as above
            file.write(data)


def _is_plain(folder: bytes) -> bool:
    """No part of it can mean another place than the one it names."""
    return b"\0" not in folder and b".git" not in folder.lower().split(b"/")


def _looks_binary(data: bytes) -> bool:
    return b"\0" in data or data.count(b"\r") != data.count(b"\r\n")


def _keeping(values: Mapping[str, str]) -> Keeping:
    is_text = values["text"] in _SET or (
        values["text"] == "unspecified"
        and (values["eol"] in {"lf", "crlf"} or values["crlf"] in {"set", "input"})
    )
    return Keeping(
        is_text=is_text,
        is_guessed=values["text"] == "auto",
        has_ident=values["ident"] == "set",
        is_large=values["filter"] == "lfs",
    )
