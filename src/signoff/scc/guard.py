"""
The guard: whether a TaskCode's triplet and verdicts are what the verifier left, found anew.

Nothing that a file says of itself is believed.  Each file is opened once, what was
opened is hashed, and at the end everything must still be where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.names import is_run_id, mirror_path, name_fault, run_path
from signoff.dialects.scc.pointer import read_pointer
from signoff.dialects.scc.shape import LIMITS
from signoff.errors import ContractError, DocumentError, JSONError
from signoff.jsonvalue import JSON
from signoff.scc.gate_report import GateReport, GuardFinding
from signoff.scc.guard_files import RUN_META, Filed, evidence, report, selftest
from signoff.scc.reader import Expected, ReadVerdict, read_candidate, read_verdict
from signoff.scc.snapshot import Kind, Seen, Snapshot
from signoff.scc.triplet import SELFTEST, Measured
from signoff.scc.workspace import Workspace
from signoff.scc.written import WrittenRun
from signoff.strictjson import Limits, loads

__all__ = ["Candidate", "judge"]

_META_LIMITS: Final = Limits(max_bytes=64 * 2**20, max_depth=LIMITS.max_depth)
VERDICT: Final = "verdict.json"
# Told under other codes, or about what happened after the verdict.
_TOLD_ELSEWHERE: Final = (
    f"/{VERDICT}", "/pointer.json", f"/{SELFTEST}", "/events.jsonl", "/gate_verdict.json",
)  # fmt: skip


class Candidate(Struct, frozen=True, kw_only=True):
    """
    A verdict that is not published yet; all other files of its run are written.

    Args:
        verdict: Its bytes.
        mirror: Folder in which the mirror was made, relative to the workspace; ``""`` for its
            own place.
        report: Where the report was made, relative to the workspace; ``""`` for its own place.
    """

    verdict: bytes
    mirror: str = ""
    report: str = ""


def judge(
    workspace: Workspace,
    area: str,
    task_code: str,
    *,
    expected: Expected,
    known: WrittenRun | None,
    candidate: Candidate | None = None,
    now: datetime | None = None,
    strict: bool = False,
) -> GateReport:
    """
    What the gate finds of a TaskCode; never raises for what is there.

    Args:
        workspace: Where.
        area: In which it is filed.
        task_code: Its name.
        expected: Contract, tree and commit that the verdict must be about.
        known: The latest run as the ledger has it, or as it will record it; None where the
            ledger knows none, which then cannot vouch for anything.
        candidate: The verdict of the run that is just ending.
        now: The reader's time; the clock's when None.
        strict: Keys beyond the five are refused.
    """
    with Snapshot(workspace) as snapshot:
        staged = candidate or Candidate(verdict=b"")
        filed = Filed(
            snapshot, area, task_code, known=known, mirror=staged.mirror, report=staged.report
        )
        look = _Verdicts(workspace, filed, candidate, now=now, strict=strict)
        hashes: dict[str, Measured] = {}
        # The evidence is looked at first, so that no change goes unseen while the verdict is read.
        found = [*evidence(filed, hashes)]
        found += look.findings(expected)
        found += report(filed, look.run_id, look.verdict)
        found += selftest(filed, look.run_id, look.verdict)
        found += _known(filed, pending=candidate is not None)
        found += (
            GuardFinding("EVIDENCE_CHANGED", path, "was changed while it was judged")
            for path in snapshot.changed()
        )
    return GateReport(
        area=area,
        task_code=task_code,
        findings=tuple(dict.fromkeys(found)),
        commit_sha=look.commit,
        evidence_hashes=hashes,
    )


class _Verdicts:
    """The verdict of a TaskCode wherever it is written: mirror, pointer and run."""

    def __init__(
        self,
        workspace: Workspace,
        filed: Filed,
        candidate: Candidate | None,
        *,
        now: datetime | None,
        strict: bool,
    ) -> None:
        self._workspace = workspace
        self._filed = filed
        self._candidate = candidate
        self._now = now
        self._strict = strict
        self._meta = _object(filed.look(f"{filed.mirror}/{RUN_META}"))
        known = filed.known
        self.run_id = known.run_id if known is not None else self._text("run_id")
        self.verdict: ReadVerdict | None = None

    @property
    def commit(self) -> str:
        """The commit that the run says it judged, ``""`` where it says none."""
        place = self._meta.get("workspace_ref")
        commit = place.get("commit") if isinstance(place, dict) else None
        return commit if isinstance(commit, str) else ""

    def findings(self, expected: Expected) -> Iterator[GuardFinding]:
        """What is wrong with the verdict; ``verdict`` is filled where one could be read."""
        yield from self._pending() if self._candidate is not None else self._published()
        if self.verdict is None:
            return
        if not self.verdict.passed:
            fail_class = self.verdict.fail_class
            named = fail_class.value if fail_class is not None else ""
            yield GuardFinding("VERDICT_FAIL", self._place, f"is a FAIL: {named}")
        problem = self._read(expected).problem
        if problem:
            yield GuardFinding("VERDICT_STALE", self._place, problem)

    @property
    def _place(self) -> str:
        return f"{self._filed.mirror}/{VERDICT}"

    def _read(self, expected: Expected | None = None) -> ReadVerdict:
        """The verdict of the mirror, or the one that is to be published there."""
        place = self._workspace.root / self._filed.at
        if self._candidate is not None:
            data = self._candidate.verdict
            return read_candidate(data, place, expected=expected, now=self._now)
        return read_verdict(place / VERDICT, strict=self._strict, expected=expected, now=self._now)

    def _pending(self) -> Iterator[GuardFinding]:
        read = self._read()
        if read.problem:
            yield GuardFinding("VERDICT_MISSING", self._place, read.problem)
        else:
            self.verdict = read

    def _published(self) -> Iterator[GuardFinding]:
        snapshot, known = self._filed.snapshot, self._filed.known
        mirror = snapshot.look(self._place, keep=True)
        if not mirror.is_file:
            yield GuardFinding("VERDICT_MISSING", self._place, f"is {mirror.kind.value}")
            return
        if known is not None and known.verdict_sha256 != mirror.sha256:
            message = "is not what the verifier wrote, as far as the ledger knows"
            yield GuardFinding("VERDICT_CONTRADICTION", self._place, message)
        read = self._read()
        if read.problem:
            yield GuardFinding("VERDICT_MISSING", self._place, read.problem)
        else:
            self.verdict = read
        yield from self._other(self._run_place(), mirror, is_needed=False)
        yield from self._pointed(mirror)

    def _pointed(self, mirror: Seen) -> Iterator[GuardFinding]:
        """What is wrong with the stable pointer, which a later TaskCode of the task may own."""
        folder = mirror_path(self._filed.area, self._task_id())
        owner = self._owner(f"{folder}/pointer.json")
        if owner in {"", self._filed.task_code}:
            yield from self._other(f"{folder}/{VERDICT}", mirror, is_needed=True)
        read = read_verdict(
            self._workspace.root / folder / VERDICT, strict=self._strict, now=self._now
        )
        if not owner:
            yield GuardFinding("VERDICT_MISSING", f"{folder}/pointer.json", "is absent or faulty")
        elif read.problem and self.verdict is not None:
            yield GuardFinding("VERDICT_MISSING", f"{folder}/{VERDICT}", read.problem)

    def _other(self, place: str, mirror: Seen, *, is_needed: bool) -> Iterator[GuardFinding]:
        """Where another copy of the verdict is not that of the mirror."""
        if not place:
            return
        seen = self._filed.snapshot.look(place)
        if seen.kind is Kind.ABSENT:
            if is_needed:
                yield GuardFinding("VERDICT_MISSING", place, "is absent")
        elif seen.sha256 != mirror.sha256:
            yield GuardFinding("VERDICT_CONTRADICTION", place, f"differs from {self._place}")

    def _run_place(self) -> str:
        run_id = self.run_id
        return f"{run_path(run_id)}/evidence/{VERDICT}" if is_run_id(run_id) else ""

    def _task_id(self) -> str:
        """The task whose pointer it is: as the ledger says, else as the run does."""
        known = self._filed.known
        task_id = known.task_id if known is not None else self._text("task_id")
        return task_id if name_fault(task_id) is None else self._filed.task_code

    def _owner(self, path: str) -> str:
        """The TaskCode that the pointer speaks for, ``""`` where it speaks for none."""
        seen = self._filed.snapshot.look(path, keep=True)
        try:
            return read_pointer(seen.data or b"").task_code
        except (ContractError, DocumentError):
            return ""

    def _text(self, name: str) -> str:
        value = self._meta.get(name)
        return value if isinstance(value, str) else ""


def _known(filed: Filed, *, pending: bool) -> Iterator[GuardFinding]:
    """What the verifier wrote in its latest run and is no longer there, or no longer so."""
    known = filed.known
    if known is None:
        return
    run = f"{run_path(known.run_id)}/"
    verdicts = {f"{filed.mirror}/{VERDICT}", f"{filed.mirror}/pointer.json"}
    for path, digest in known.files.items():
        ours = path.startswith(f"{filed.mirror}/") or filed.is_report(path)
        if not (ours or (path.startswith(run) and not pending)):
            continue
        if path in verdicts and pending:
            continue
        seen = filed.look(path)
        if seen.kind is Kind.ABSENT:
            message = "was written by the latest run, and is gone"
            yield GuardFinding("ROLLBACK_DELETE_FORBIDDEN", path, message)
        elif seen.sha256 != digest and not path.endswith(_TOLD_ELSEWHERE):
            message = "is not what the verifier wrote, as far as the ledger knows"
            yield GuardFinding("FAKE_DIGEST_DETECTED", path, message)


def _object(seen: Seen) -> dict[str, JSON]:
    try:
        value = loads(seen.data or b"", limits=_META_LIMITS)
    except JSONError:
        return {}
    return value if isinstance(value, dict) else {}
