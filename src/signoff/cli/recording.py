"""What is recorded with an output: files of evidence, and the folder the work was done in."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path, PurePath
from typing import Final, Protocol

from signoff.cli.exits import Refusal
from signoff.cli.reading import unreadable
from signoff.document import read_bytes
from signoff.errors import DocumentError
from signoff.jsonvalue import shown
from signoff.model import Evidence

__all__ = ["EvidenceStore", "open_workspace", "record_evidence", "store_for"]

# As the stores have it, which are imported only where there is evidence.
MAX_EVIDENCE_BYTES: Final = 2**30
# A table of our own: what a machine says of an ending would make reports differ.
MEDIA_TYPES: Final = {
    ".bmp": "image/bmp",
    ".csv": "text/csv",
    ".gif": "image/gif",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webp": "image/webp",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".zip": "application/zip",
}
UNKNOWN: Final = "application/octet-stream"


class EvidenceStore(Protocol):
    """Where evidence is put, and read by its digest."""

    def put(self, data: bytes, *, media_type: str = ..., name: str = ...) -> Evidence:
        """Keep bytes."""
        ...

    def read(self, digest: str) -> bytes:
        """The bytes of a digest."""
        ...


def open_workspace(name: str) -> Path:
    """
    The folder the work was done in, as an absolute path.

    Raises:
        Refusal: There is no such folder.
    """
    path = Path(name).absolute()
    if not path.is_dir():
        raise Refusal(
            f"--workspace {shown(name)} is no folder",
            next_step="give it the folder that the work was done in",
        )
    return path


def store_for(names: Collection[str], workspace: Path | None = None) -> EvidenceStore | None:
    """
    A store that lasts as long as the command, where there is something to keep.

    In a workspace that may be what commands print, for the person who reads the report.
    """
    if not names and workspace is None:
        return None
    from signoff.evidence import MemoryStore  # only where there is evidence

    return MemoryStore()


def record_evidence(names: Iterable[str], store: EvidenceStore) -> tuple[Evidence, ...]:
    """
    The files in the store, each under its bare name.

    Raises:
        Refusal: One cannot be read, has a name that is no text, or two have one name.
    """
    found: dict[str, Evidence] = {}
    for path in names:
        name = PurePath(path).name
        if not _is_text(name):
            raise Refusal(
                f"--evidence {shown(path)}: the name is not UTF-8",
                next_step="rename it: a run holds the names of its evidence",
            )
        if name in found:
            raise Refusal(
                f'two files of --evidence are called "{shown(name)}"',
                next_step="rename one: checks find evidence by its name",
            )
        media_type = MEDIA_TYPES.get(PurePath(path).suffix.lower(), UNKNOWN)
        found[name] = _put(path, store, media_type=media_type, name=name)
    return tuple(found.values())


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _put(path: str, store: EvidenceStore, *, media_type: str, name: str) -> Evidence:
    try:
        data = read_bytes(path, max_bytes=MAX_EVIDENCE_BYTES)
    except DocumentError as exc:
        raise unreadable(exc, path, what="evidence") from exc
    return store.put(data, media_type=media_type, name=name)
