"""
What the verifier has written, as the ledger keeps it: each run with its files and their digests.

A file that the ledger does not know was written by somebody else, and a file that
it knows and that is gone was taken away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff.errors import LedgerCorrupt
from signoff.jsonvalue import shown
from signoff.ledger import Event, Ledger, Note

__all__ = [
    "LEDGER_FILE",
    "VERIFIED",
    "WRITTEN",
    "Digests",
    "WrittenRun",
    "digests_of",
    "latest_run",
    "run_data",
    "run_of",
    "runs_of",
    "subject_of",
    "written_notes",
]

LEDGER_FILE: Final = ".signoff/ledger.sqlite3"
VERIFIED: Final = "scc.verified"
WRITTEN: Final = "scc.written"
KEY: Final = "scc"
# Far below what a line of the ledger can hold.
MAX_NOTE_BYTES: Final = 2**19
_DIGEST_BYTES: Final = 80


class WrittenRun(Struct, frozen=True, kw_only=True):
    """
    A run, and what it left.

    Args:
        run_id: Of the run.
        task_id: Of its contract, ``""`` where that could not be read.
        task_code: Under which it is filed.
        area: In which it is filed.
        contract_path: Of its contract, relative to the workspace.
        contract_sha256: 64 hex digits of the contract's bytes, ``""`` where there were none.
        verdict_sha256: 64 hex digits of the verdict's bytes.
        files: Digest, 64 hex digits, of each file by its path relative to the workspace.
    """

    run_id: str
    task_id: str
    task_code: str
    area: str
    contract_path: str = ""
    contract_sha256: str = ""
    verdict_sha256: str = ""
    files: dict[str, str] = {}


def subject_of(area: str, task_code: str) -> str:
    """The name under which the ledger keeps the verdicts of a TaskCode."""
    return f"scc:{area}/{task_code}"


def run_data(run: WrittenRun) -> dict[str, Any]:
    """What the event of a run's verdict says of it; its files follow by ``written_notes``."""
    facts = msgspec.structs.asdict(run)
    del facts["files"]
    return {KEY: facts}


def written_notes(run_id: str, files: Mapping[str, str], *, contract_id: str = "") -> list[Note]:
    """
    The events that tell which files were written, to be recorded together with the verdict.

    Args:
        run_id: Of the run, ``""`` for a file of no run.
        files: Digest of each by its path.
        contract_id: Of the contract that they are about.
    """
    notes: list[Note] = []
    part: dict[str, str] = {}
    size = 0
    for path, digest in sorted(files.items()):
        cost = len(msgspec.json.encode(path)) + _DIGEST_BYTES
        if part and size + cost > MAX_NOTE_BYTES:
            notes.append(_note(run_id, part, contract_id))
            part, size = {}, 0
        part[path] = digest
        size += cost
    if part:
        notes.append(_note(run_id, part, contract_id))
    return notes


def latest_run(ledger: Ledger, area: str, task_code: str) -> WrittenRun | None:
    """
    The latest run of a TaskCode that the ledger knows, None if it knows none.

    Raises:
        DatabaseUnusable: It cannot be read.
        LedgerCorrupt: What it holds is not what was recorded.
    """
    for verdict in ledger.verdicts(subject=subject_of(area, task_code), last=1):
        events = ledger.events(since=verdict.seq)
        run = run_of(next(events))
        return msgspec.structs.replace(run, files=_files_after(events, run.run_id))
    return None


def runs_of(ledger: Ledger) -> Iterator[WrittenRun]:
    """
    Every run that the ledger knows, in its order, each without its files.

    Raises:
        DatabaseUnusable: It cannot be read.
        LedgerCorrupt: What it holds is not what was recorded.
    """
    for event in ledger.events():
        if event.type == VERIFIED:
            yield run_of(event)


def digests_of(ledger: Ledger) -> dict[str, frozenset[str]]:
    """
    Every digest that the verifier ever wrote to a path, by the path.

    Raises:
        DatabaseUnusable: It cannot be read.
        LedgerCorrupt: What it holds is not what was recorded.
    """
    found = Digests()
    for event in ledger.events():
        found.take(event)
    return found.by_path()


class Digests:
    """The digests that events tell of, by path."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = {}

    def take(self, event: Event) -> None:
        """
        Those of one event; none of an event of another type.

        Raises:
            LedgerCorrupt: It names no files.
        """
        if event.type == WRITTEN:
            for path, digest in _files(event).items():
                self._found.setdefault(path, set()).add(digest)

    def by_path(self) -> dict[str, frozenset[str]]:
        """All of them."""
        return {path: frozenset(digests) for path, digests in self._found.items()}


def _note(run_id: str, files: dict[str, str], contract_id: str) -> Note:
    data = {"run_id": run_id, "files": files}
    return Note(type=WRITTEN, contract_id=contract_id, signature="", data=data)


def run_of(event: Event) -> WrittenRun:
    """
    The run that the event of its verdict tells of, without its files.

    Raises:
        LedgerCorrupt: It tells of none.
    """
    try:
        return msgspec.convert(event.data.get(KEY), WrittenRun)
    except msgspec.ValidationError as exc:
        raise LedgerCorrupt(f"the verdict of no SCC run: {shown(str(exc))}", seq=event.seq) from exc


def _files_after(events: Iterable[Event], run_id: str) -> dict[str, str]:
    """The files of a run: they stand right after its verdict."""
    files: dict[str, str] = {}
    for event in events:
        if event.type != WRITTEN or event.data.get("run_id") != run_id:
            break
        files.update(_files(event))
    return files


def _files(event: Event) -> dict[str, str]:
    try:
        return msgspec.convert(event.data.get("files"), dict[str, str])
    except msgspec.ValidationError as exc:
        raise LedgerCorrupt("an event of written files names none", seq=event.seq) from exc
