"""Which files of a workspace are the verifier's own: written, kept or installed by it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.names import STATE
from signoff.dialects.scc.scope import SCRIPTS
from signoff.dialects.scc.settings import BUILTIN, NONE, PATH, SSOT_REGISTRY, UNIT_REGISTRY
from signoff.git.changes import Change, Side
from signoff.git.objects import REGULAR
from signoff.git.worktree import Worktree
from signoff.scc.comparison import Compared, path_text
from signoff.scc.record_file import RECORDS
from signoff.scc.run_names import LOCKS, STAGING
from signoff.scc.starter import is_same, settings_text
from signoff.scc.store import FILE
from signoff.scc.written import LEDGER_FILE

__all__ = ["OwnFiles"]

_STATE: Final = tuple(
    f"{path}{end}" for path in (FILE, LEDGER_FILE) for end in ("", "-wal", "-shm", "-journal")
)
_STATE_FOLDERS: Final = tuple(f"{path}/" for path in (LOCKS, STAGING, RECORDS))


class OwnFiles(Struct, frozen=True, kw_only=True):
    """
    Tells the verifier's own files from those that somebody else wrote in their place.

    Args:
        written: Digests that it wrote, by path.
        compared: The workspace.
        files: The workspace, to read.
        keeps_state: The verifier works in it, so its state changes there.
        known: What was found out already of what lies at a path.
    """

    written: Mapping[str, frozenset[str]]
    compared: Compared
    files: Worktree
    keeps_state: bool = True
    known: dict[bytes, bool] = {}

    def made(self, change: Change) -> bool:
        """A change is the verifier's own, whichever state of it is looked at."""
        path = path_text(change.path)
        if self._is_state(path, change.path):
            return True
        if not self._is_plain(change.path):
            return False
        return all(
            self._removed(path, change.before) if side is None else self._wrote(path, side)
            for side in change.after
        )

    def holds(self, path: bytes) -> bool:
        """What lies at a path is the verifier's own."""
        if path not in self.known:
            self.known[path] = self._holds(path)
        return self.known[path]

    def _holds(self, path: bytes) -> bool:
        text = path_text(path)
        if self._is_state(text, path):
            return True
        if not self._is_plain(path):
            return False
        if self.files.digest(path)[0].removeprefix("sha256:") in self.written.get(text, ()):
            return True
        return text in {*SCRIPTS, PATH} and _is_installed(text, self.files.content(path).data)

    def _is_state(self, text: str, path: bytes) -> bool:
        """It is kept by the verifier while it works, and no commit has changed it."""
        if not self.keeps_state or not text.startswith(f"{STATE}/"):
            return False
        node = self.compared.nodes.get(path)
        return (
            (text in _STATE or text.startswith(_STATE_FOLDERS))
            and (node is None or node.is_file)
            and self.compared.base.get(path) == self.compared.head.get(path)
        )

    def _is_plain(self, path: bytes) -> bool:
        """There is nothing, or a file as the verifier makes them: regular, not executable."""
        node = self.compared.nodes.get(path)
        return node is None or (node.is_file and not node.mode & 0o111)

    def _wrote(self, path: str, side: Side) -> bool:
        if side.entry.mode not in {0, REGULAR}:
            return False
        data = side.read().data
        known = self.written.get(path, ())
        return (data is not None and sha256(data).hexdigest() in known) or _is_installed(path, data)

    def _removed(self, path: str, before: Side | None) -> bool:
        """What is gone was the verifier's own; only it has a reason to remove that."""
        return before is not None and path in self.written and self._wrote(path, before)


def _is_installed(path: str, data: bytes | None) -> bool:
    """What the installation puts there, before anybody has edited it."""
    if data is None:
        return False
    return is_same(path, data) if path in SCRIPTS else path == PATH and data in _settings()


@cache
def _settings() -> frozenset[bytes]:
    return frozenset(
        settings_text(unit_registry=units, ssot_registry=ssot)
        for units in (BUILTIN, UNIT_REGISTRY)
        for ssot in (NONE, SSOT_REGISTRY)
    )
