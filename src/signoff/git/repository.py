"""
Where a repository keeps what it knows, and what its references say.

They are read as files.  Its configuration is looked at for one thing only, the
upstream of the branch, and nothing that it includes is followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from signoff.errors import NotJudged
from signoff.git.files import file_bytes, unreadable
from signoff.model import inconclusive
from signoff.status import Cause

__all__ = ["FULL_ID", "NAME", "Repository", "open_repository"]

FULL_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
NAME: Final = re.compile(
    r"(?![-/.])(?!.*(?:\.\.|//|/\.|@\{|\.lock(?:/|$)|[/.]$))[^\x00-\x20\x7f~^:?*\[\\]+"
)
_SMALL: Final = 2**20
_PACKED: Final = 2**26
_INDEX: Final = 2**29
_HOPS: Final = 5
_OWN: Final = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
# Where a name is looked for, as git does it.
_PLACES: Final = (
    "{}",
    "refs/{}",
    "refs/tags/{}",
    "refs/heads/{}",
    "refs/remotes/{}",
    "refs/remotes/{}/HEAD",
)
_SECTION: Final = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(?:[#;].*)?')
_VALUE: Final = re.compile(r'\s*([A-Za-z][\w-]*)\s*=\s*"?([^"#;]*?)"?\s*(?:[#;].*)?')


class Repository(Struct, frozen=True, kw_only=True, dict=True):
    """
    A repository on disk.

    Args:
        folder: What is this working tree's own: HEAD, the index.
        shared: What all working trees of it share: objects and branches.
    """

    folder: str
    shared: str

    @property
    def objects(self) -> str:
        """The folder of its objects."""
        return os.path.join(self.shared, "objects")  # noqa: PTH118  a text

    def index(self) -> bytes | None:
        """The bytes of its index; None without one."""
        return file_bytes(f"{self.folder}/index", _INDEX)

    def head(self) -> str | None:
        """The id of the commit that is checked out; None before there is any."""
        found = file_bytes(f"{self.folder}/HEAD", _SMALL)
        if found is None:
            raise unreadable("HEAD")
        text = found.decode("utf-8", "replace").strip()
        if FULL_ID.fullmatch(text):
            return text
        branch = _symbolic(text)
        if branch is None or branch == "refs/heads/.invalid":
            raise unreadable("HEAD")
        return self._id_of(branch)

    def branch(self) -> str | None:
        """The name of the branch that is checked out; None where HEAD is detached."""
        found = file_bytes(f"{self.folder}/HEAD", _SMALL) or b""
        name = _symbolic(found.decode("utf-8", "replace").strip()) or ""
        return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None

    def find(self, name: str) -> str | None:
        """The id that a name stands for, looked for where git looks; None for an unknown one."""
        return next(iter(self.meanings(name).values()), None)

    def meanings(self, name: str) -> dict[str, str]:
        """The references that a name can stand for, each with its id, in git's order."""
        places = [
            place.format(name)
            for place in _PLACES
            if place != "{}" or name.startswith("refs/") or name.isupper()
        ]
        return {place: found for place in places if (found := self._id_of(place))}

    def upstreams(self) -> Iterator[str]:
        """
        References that the work can have started from, the likeliest first.

        The upstream of the branch, but not its own copy on the remote while that has a
        default branch of another name: what was pushed is part of the work.
        """
        branch = self.branch()
        remote, merge = self._configured(branch) if branch else ("", "")
        upstream = _tracked(remote, merge)
        default = f"refs/remotes/{remote if remote not in {'', '.'} else 'origin'}/HEAD"
        if upstream and merge != f"refs/heads/{branch}":
            yield upstream
        yield default
        if upstream:
            yield upstream

    def _configured(self, branch: str) -> tuple[str, str]:
        """The remote and the reference there that a branch follows, each ``""`` without one."""
        data = file_bytes(f"{self.shared}/config", _SMALL) or b""
        found = {"remote": "", "merge": ""}
        inside = False
        for line in data.decode("utf-8", "replace").splitlines():
            if section := _SECTION.fullmatch(line):
                name = re.sub(r"\\(.)", r"\1", section[2] or "")
                inside = (section[1].lower(), name) == ("branch", branch)
            elif inside and (value := _VALUE.fullmatch(line)) and value[1].lower() in found:
                found[value[1].lower()] = value[2]
        return found["remote"], found["merge"]

    def _id_of(self, reference: str) -> str | None:
        for _ in range(_HOPS):
            if not NAME.fullmatch(reference):
                return None
            text = self._text_of(reference)
            target = _symbolic(text)
            if target is None:
                return text if FULL_ID.fullmatch(text) else None
            reference = target
        return None

    def _text_of(self, reference: str) -> str:
        is_own = not reference.startswith("refs/") or reference.startswith(_OWN)
        data = file_bytes(f"{self.folder if is_own else self.shared}/{reference}", _SMALL)
        if data is not None:
            return data.decode("utf-8", "replace").split("\n")[0].split("\t")[0].strip()
        return self._packed().get(reference, "")

    def _packed(self) -> dict[str, str]:
        data = file_bytes(f"{self.shared}/packed-refs", _PACKED) or b""
        lines = (line.split(" ", 1) for line in data.decode("utf-8", "replace").splitlines())
        return {line[1]: line[0] for line in lines if len(line) == 2 and FULL_ID.fullmatch(line[0])}


def open_repository(root: str) -> Repository:
    """
    The repository whose working tree is a folder.

    Raises:
        NotJudged: There is none.
    """
    place = os.path.join(root, ".git")  # noqa: PTH118  a text
    pointer = file_bytes(place, _SMALL)
    if pointer is not None:
        target = pointer.decode("utf-8", "surrogateescape").removeprefix("gitdir: ").rstrip("\r\n")
        place = os.path.join(root, target)  # noqa: PTH118  as above
    common = file_bytes(f"{place}/commondir", _SMALL)
    shared = place
    if common is not None:
        shared = os.path.join(place, common.decode("utf-8", "surrogateescape").rstrip("\r\n"))  # noqa: PTH118  as above
    if not os.path.isdir(f"{shared}/objects"):  # noqa: PTH112  as above
        detail = "The workspace is not the top folder of a git repository."
        raise NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))
    return Repository(folder=place, shared=shared)


def _symbolic(text: str) -> str | None:
    """The reference that a symbolic one names; None where the text is none."""
    name = text.removeprefix("ref:").strip()
    return name if text.startswith("ref:") and name.startswith("refs/") else None


def _tracked(remote: str, merge: str) -> str:
    """The local copy of a reference of a remote; ``""`` where there can be none."""
    if not remote or not merge.startswith("refs/heads/"):
        return ""
    name = merge.removeprefix("refs/heads/")
    return merge if remote == "." else f"refs/remotes/{remote}/{name}"
