"""
``scc run``: the verifier judges a workspace by a contract and publishes one verdict.

Whatever happens, what is left is a FAIL or nothing: earlier verdicts go first, the new
one comes last, and an exception in between becomes a FAIL of its own.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from signoff.dialects.scc.outcome import failure_of
from signoff.dialects.scc.verdict import FailClass, Failure
from signoff.errors import DatabaseUnusable, SignoffError
from signoff.jsonvalue import shown
from signoff.ledger import Ledger, open_ledger
from signoff.model import Report, Result
from signoff.scc.composition import FIXED, VERDICT, Composed, RunFacts, composed, fail_alone
from signoff.scc.criteria import Judged, check_results, contract_digest, judged, report_of
from signoff.scc.evidence_index import INDEX, EvidenceFile, issue_evidence, seal_evidence
from signoff.scc.gate_report import GateReport
from signoff.scc.guard import Candidate
from signoff.scc.guard import judge as guard
from signoff.scc.inquiry import Inquiry
from signoff.scc.lock import LockHeld, Locks
from signoff.scc.opening import Opened, close_down, opened_run
from signoff.scc.publication import Publication, written_run
from signoff.scc.reader import Expected
from signoff.scc.request import RunRefused, RunRequest, broken
from signoff.scc.staging import Staging
from signoff.scc.store import open_registry, place_of
from signoff.scc.superseded import Superseded, register_reports, superseded_reports
from signoff.scc.written import LEDGER_FILE, WrittenRun
from signoff.status import Status

__all__ = ["CheckLine", "LockHeld", "RunEnded", "RunRefused", "RunRequest", "run"]

PASSED: Final = 0
FAILED: Final = 1
UNUSABLE: Final = 2


class CheckLine(Struct, frozen=True, kw_only=True):
    """
    What became of a check, for people.

    Args:
        name: Of the check.
        status: ``pass``, ``fail`` or ``not_run``.
        fail_class: None unless it failed.
        reason: In one sentence.
    """

    name: str
    status: str
    fail_class: str | None
    reason: str


class RunEnded(Struct, frozen=True, kw_only=True):
    """
    How a run ended, with its verdict published.

    Args:
        code: How the command ends: 0 PASS, 1 FAIL, 2 a FAIL for an unusable request.
        verdict: ``PASS`` or ``FAIL``.
        fail_class: None if and only if PASS.
        exit_code: Of the verdict.
        task_id: Of the contract.
        task_code: Under which it is filed.
        run_dir: The run output directory, relative to the workspace.
        artifacts_dir: The mirror likewise.
        reason: Why it is no PASS, ``""`` for one.
        checks: What became of each, in contract order.
        warnings: What a person should know.
    """

    code: int
    verdict: str
    fail_class: str | None
    exit_code: int
    task_id: str
    task_code: str
    run_dir: str
    artifacts_dir: str
    reason: str = ""
    checks: tuple[CheckLine, ...] = ()
    warnings: tuple[str, ...] = ()


class _Made(Struct, frozen=True, kw_only=True):
    """A run as it is to be published."""

    files: Composed
    report: Report
    found: Judged
    run: WrittenRun


def run(request: RunRequest) -> RunEnded:
    """
    The verdict on a workspace, published.

    An interruption ends it as a FAIL like any other.

    Raises:
        RunRefused: It cannot be named; nothing was written.
        LockHeld: Another run has the TaskCode or the task; nothing was written.
        OSError: No verdict could be written, or an earlier one not removed; none is left that
            could be removed.
        SignoffError: Likewise.
    """
    with Locks(request.workspace) as locks:
        try:
            ledger = _ledger(request)
        except (OSError, SignoffError):
            close_down(request, locks)
            raise
        with ledger:
            opened = opened_run(request, ledger, locks)
            with Staging(request.workspace, opened.names) as staging:
                return _Run(request, opened, staging, ledger).ended()


def _ledger(request: RunRequest) -> Ledger:
    place = request.workspace.root / LEDGER_FILE
    for path in (place.parent, place):
        if path.is_symlink():
            raise DatabaseUnusable(f"{shown(str(path))}: is a symbolic link")
    return open_ledger(place, clock=request.clock)


class _Run:
    """A run that holds its locks, from its first question to its last file."""

    def __init__(
        self, request: RunRequest, opened: Opened, staging: Staging, ledger: Ledger
    ) -> None:
        self._request = request
        self._opened = opened
        self._names = opened.names
        self._staging = staging
        self._ledger = ledger
        self._inquiry = Inquiry(request, opened, staging.run, ledger)
        self._oids: dict[str, str] | None = None
        self._older: tuple[Superseded, ...] = ()

    def ended(self) -> RunEnded:
        """How it ended, published."""
        try:
            made = self._made()
        finally:
            self._inquiry.close()
        self._request.on_step("publish")
        publication = Publication(
            self._request.workspace,
            self._names,
            self._staging,
            self._ledger,
            on_step=self._request.on_step,
        )
        replaced = self._inquiry.work.replaced
        publication.publish(made.files, made.report, made.run, self._older, replaced)
        return self._told(made)

    def _made(self) -> _Made:
        try:
            workspace, known = self._request.workspace, self._opened.known
            self._older = superseded_reports(workspace, self._names, known)
            return self._settled(self._inquiry.found(), is_whole=True)
        except (KeyboardInterrupt, Exception) as exc:  # noqa: BLE001  whatever breaks is a FAIL
            failure = broken(exc)
        try:
            return self._settled(self._inquiry.stopped(failure, "scc.run"), is_whole=False)
        except Exception:  # noqa: BLE001  what broke may break again, so once more without most of it
            return self._bare(failure)

    def _settled(self, found: Judged, *, is_whole: bool) -> _Made:
        """The run, staged, as it is after the gate has judged it."""
        kept = self._staging.kept()
        self._request.on_step("oids")
        self._oids = self._issued(kept)
        finished = self._now()
        found = replace(found, evidence=len(kept) + len(FIXED), outputs=())
        made = self._assumed(found, finished, kept)
        self._request.on_step("stage")
        made = self._staged(made)
        if is_whole:
            made = self._guarded(made, finished, kept)
        self._request.on_step("seal")
        self._staging.flush()
        self._seal(made.files)
        return made

    def _assumed(self, found: Judged, finished: datetime, kept: tuple[EvidenceFile, ...]) -> _Made:
        """The run, as if the gate found nothing but what the rest comes to."""
        names = self._names
        nothing = GateReport(area=names.area, task_code=names.task_code, findings=())
        made = self._composed(replace(found, gate=nothing), finished, kept)
        if made.files.failure is None:
            return made
        return self._composed(replace(found, gate=fail_alone(names)), finished, kept)

    def _guarded(self, made: _Made, finished: datetime, kept: tuple[EvidenceFile, ...]) -> _Made:
        """The run after its gate, written anew where that turned it."""
        self._request.on_step("guard")
        gate = self._guard(made)
        own = dict.fromkeys(made.run.files)
        outputs = self._inquiry.missing_outputs(own) if made.found.failure is None else ()
        assert made.found.gate is not None
        if gate.fail_codes == made.found.gate.fail_codes and not outputs:
            return made
        if "VERDICT_FAIL" not in gate.fail_codes:
            # Whatever it was that turned it, the verdict is a FAIL now.
            gate = replace(gate, findings=(*gate.findings, *fail_alone(self._names).findings))
        found = replace(made.found, gate=gate, outputs=outputs)
        return self._staged(self._composed(found, finished, kept))

    def _bare(self, failure: Failure) -> _Made:
        """A FAIL without what may be what broke: the registry, and what was collected."""
        self._oids = None
        self._inquiry.forget_checks()
        self._staging.clear()
        found = self._inquiry.stopped(failure, "scc.run")
        return self._staged(self._composed(found, self._now(), ()))

    def _composed(self, found: Judged, finished: datetime, kept: tuple[EvidenceFile, ...]) -> _Made:
        facts = self._facts()
        report = report_of(
            found,
            task_id=self._names.task_id,
            started=self._names.started,
            elapsed_s=(finished - self._names.started).total_seconds(),
            locked=facts.contract_digest,
        )
        failure = judged(found, report, strict=self._request.strict)
        files = composed(facts, found, report, failure, finished=finished, kept=kept)
        written = written_run(
            self._names,
            files,
            contract_path=self._opened.contract_path,
            contract_sha256=self._opened.contract_sha256,
        )
        return _Made(files=files, report=report, found=found, run=written)

    def _staged(self, made: _Made) -> _Made:
        staging, files = self._staging, made.files
        staging.write(staging.run, files.run)
        staging.copy(one.path for one in files.evidence if one.path not in files.run)
        staging.write(staging.mirror, files.mirror)
        staging.write(staging.place, {self._names.report.rpartition("/")[2]: files.report})
        return made

    def _guard(self, made: _Made) -> GateReport:
        names, staging = self._names, self._staging
        return guard(
            self._request.workspace,
            names.area,
            names.task_code,
            expected=Expected(
                contract_sha256=self._opened.contract_sha256,
                # One that cannot be read any more is another one than was judged.
                tree_digest=self._inquiry.tree() or "-",
                task_id=names.task_id,
                task_code=names.task_code,
                run_id=names.run_id,
            ),
            known=made.run,
            candidate=Candidate(
                verdict=made.files.verdict,
                mirror=f"{staging.path}/mirror",
                report=f"{staging.path}/{names.report.rpartition('/')[2]}",
            ),
            now=self._now(),
            strict=self._request.strict,
        )

    def _facts(self) -> RunFacts:
        opened, request, inquiry = self._opened, self._request, self._inquiry
        of_phases = (text for phase in inquiry.phases for text in phase.warnings)
        return RunFacts(
            names=self._names,
            contract_path=opened.contract_path,
            contract_sha256=opened.contract_sha256,
            contract_digest=contract_digest(self._names.task_id, inquiry.prepared, opened.settings),
            repo="" if opened.contract is None else opened.contract.inputs.repo,
            work=inquiry.work,
            options={
                "fail_fast": request.fail_fast,
                "strict": request.strict,
                "record": request.record,
            },
            oids=self._oids,
            warnings=(*inquiry.warnings, *of_phases),
        )

    def _now(self) -> datetime:
        # The clock is read once: set back meanwhile, it would end the run before it began.
        return self._names.started.astimezone(UTC) + timedelta(seconds=self._inquiry.elapsed_s)

    def _issued(self, kept: tuple[EvidenceFile, ...]) -> dict[str, str]:
        paths = [*FIXED, *(one.path for one in kept)]
        with open_registry(place_of(self._request.workspace, self._request.env)) as registry:
            return issue_evidence(registry, self._names.run_id, paths)

    def _seal(self, files: Composed) -> None:
        """Register the digests, and what is in no list of evidence."""
        names, oids = self._names, self._oids or {}
        with open_registry(place_of(self._request.workspace, self._request.env)) as registry:
            seal_evidence(registry, oids, [one for one in files.evidence if one.path in oids])
            issue_evidence(registry, names.run_id, [INDEX, VERDICT])
            register_reports(registry, names, self._older)

    def _told(self, made: _Made) -> RunEnded:
        document, names, failure = made.files.document, self._names, made.files.failure
        is_error = document.fail_class == FailClass.VERIFIER_ERROR.value
        unusable = is_error and document.exit_code == UNUSABLE
        return RunEnded(
            code=PASSED if document.passed else UNUSABLE if unusable else FAILED,
            verdict=document.verdict,
            fail_class=document.fail_class,
            exit_code=document.exit_code,
            task_id=names.task_id,
            task_code=names.task_code,
            run_dir=names.run_dir,
            artifacts_dir=names.mirror,
            reason="" if failure is None else failure.reason,
            checks=tuple(map(_line, check_results(made.found, made.report))),
            warnings=self._inquiry.warnings,
        )


def _line(result: Result) -> CheckLine:
    finding, name = result.finding, result.criterion
    if finding.status.holds:
        return CheckLine(name=name, status="pass", fail_class=None, reason=finding.detail)
    if finding.status is Status.SKIPPED:
        return CheckLine(name=name, status="not_run", fail_class=None, reason=finding.detail)
    fail_class = failure_of(finding).fail_class.value
    return CheckLine(name=name, status="fail", fail_class=fail_class, reason=finding.detail)
