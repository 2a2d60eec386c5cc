"""
The files of a run as they are written: what was found out, in the words of its documents.

Everything is made from the same facts, so a run that comes out otherwise at its end
is written anew as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff.canonical import digest_bytes
from signoff.dialects.scc.outcome import failure_of
from signoff.dialects.scc.pointer import PointerDocument, encode_pointer
from signoff.dialects.scc.shape import VERSION
from signoff.dialects.scc.verdict import (
    Failure,
    VerdictDocument,
    encode_verdict,
    utc_text,
    verdict_document,
)
from signoff.model import Report
from signoff.scc.change_set import encode_changes
from signoff.scc.checks import CheckDone
from signoff.scc.criteria import Judged, check_results, codes_of
from signoff.scc.evidence_index import INDEX, EvidenceFile, encode_index
from signoff.scc.gate_report import GateReport, GuardFinding, encode_report
from signoff.scc.phase4 import encode_results
from signoff.scc.run_events import FIRST, event_line
from signoff.scc.run_names import RunNames
from signoff.scc.triplet import (
    HASHES,
    SELFTEST,
    Measured,
    TestLine,
    TripletFacts,
    hashes_bytes,
    report_bytes,
    selftest_bytes,
)
from signoff.scc.work import WorkFound

__all__ = ["EVENTS", "FIXED", "GATE", "VERDICT", "Composed", "RunFacts", "composed", "fail_alone"]

GATE: Final = "evidence/gate_verdict.json"
EVENTS: Final = "events.jsonl"
VERDICT: Final = "evidence/verdict.json"
NOTHING: Final = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""Digest of what is not there."""
FIXED: Final = (
    "evidence/changes.json",
    "evidence/checks.json",
    "evidence/phase4.json",
    "evidence/run_meta.json",
    SELFTEST,
)
"""Evidence that every run has, besides the index."""


class RunFacts(Struct, frozen=True, kw_only=True):
    """
    What the documents of a run say, besides what was found out.

    Args:
        names: What it is called.
        contract_path: Of its contract.
        contract_sha256: Of the contract's bytes.
        contract_digest: Of the core's contract.
        repo: That the contract names.
        work: What was found of the work.
        options: What was asked for.
        oids: Of each evidence file by path; None where the registry cannot be used.
        lacking: Sentences about the isolation.
        warnings: What a person should know.
    """

    names: RunNames
    contract_path: str
    contract_sha256: str
    contract_digest: str
    repo: str = ""
    work: WorkFound
    options: dict[str, Any]
    oids: dict[str, str] | None
    warnings: tuple[str, ...] = ()


class Composed(Struct, frozen=True, kw_only=True):
    """
    The files of a run.

    Args:
        run: Of the run output directory, those that are made here, without the verdict.
        mirror: Of the mirror likewise.
        evidence: Every file that the verdict lists, the index included.
        verdict: The verdict's bytes.
        document: What it says.
        report: The report's bytes.
        pointer: The sidecar's bytes.
        gate: The gate report's bytes.
        event: The line that tells of the verdict.
        failure: What it is a FAIL for.
    """

    run: dict[str, bytes]
    mirror: dict[str, bytes]
    evidence: tuple[EvidenceFile, ...]
    verdict: bytes
    document: VerdictDocument
    report: bytes
    pointer: bytes
    gate: bytes
    event: bytes
    failure: Failure | None


def _measured(path: str, data: bytes) -> EvidenceFile:
    """The file of these bytes."""
    return EvidenceFile(path=path, sha256=_sha256(data), size=len(data))


def composed(
    facts: RunFacts,
    found: Judged,
    report: Report,
    failure: Failure | None,
    *,
    finished: datetime,
    kept: tuple[EvidenceFile, ...],
) -> Composed:
    """
    The files of a run.

    Args:
        facts: What does not depend on what was found out.
        found: What was found out.
        report: The core's.
        failure: None for PASS.
        finished: Its end.
        kept: Logs and collected files.

    Raises:
        VerdictRefused: The verdict would not read back: it lists too much.
    """
    paths = [*FIXED, *(file.path for file in kept), *([INDEX] if facts.oids is not None else [])]
    document = verdict_document(failure, paths, finished)
    verdict = encode_verdict(document)
    triplet = _triplet(facts, report, document, failure)
    run = _details(facts, found, report, document)
    run[SELFTEST] = selftest_bytes(triplet)
    files = [*kept, *(_measured(path, data) for path, data in run.items())]
    if facts.oids is not None:
        index = encode_index(facts.names.run_id, facts.oids, files)
        run[INDEX] = index
        files.append(_measured(INDEX, index))
    names = facts.names
    measured = {f"{names.mirror}/{one.path}": Measured(one.sha256, one.size) for one in files}
    text = report_bytes(triplet, [*measured, f"{names.mirror}/{HASHES}"])
    measured[names.report] = Measured(_sha256(text), len(text))
    gate = encode_report(_gate(facts, found, measured))
    mirror = {**run, HASHES: hashes_bytes(measured)}
    return Composed(
        run={**run, GATE: gate},
        mirror=mirror,
        evidence=tuple(sorted(files, key=lambda one: one.path)),
        verdict=verdict,
        document=document,
        report=text,
        pointer=encode_pointer(_pointer(facts, verdict)),
        gate=gate,
        event=_event(facts, document, finished),
        failure=failure,
    )


def _gate(facts: RunFacts, found: Judged, measured: dict[str, Measured]) -> GateReport:
    """What the guard found; where it was not asked, that there is a FAIL."""
    names = facts.names
    return msgspec.structs.replace(
        found.gate or fail_alone(names),
        commit_sha=facts.work.commit,
        evidence_hashes=measured,
    )


def fail_alone(names: RunNames) -> GateReport:
    """The gate's answer where nothing is wrong but that the verdict is a FAIL."""
    finding = GuardFinding("VERDICT_FAIL", f"{names.mirror}/verdict.json", "is a FAIL")
    return GateReport(area=names.area, task_code=names.task_code, findings=(finding,))


def _details(
    facts: RunFacts, found: Judged, report: Report, document: VerdictDocument
) -> dict[str, bytes]:
    work = facts.work
    changes = encode_changes(
        work.changes, assurance=work.assurance, base=work.base_commit, commit=work.commit
    )
    return {
        "evidence/changes.json": changes,
        "evidence/checks.json": _json(_checks(facts.names.run_id, found, report)),
        "evidence/phase4.json": encode_results(found.phases) + b"\n",
        "evidence/run_meta.json": _json(_meta(facts, report, document)),
    }


def _checks(run_id: str, found: Judged, report: Report) -> dict[str, Any]:
    results = check_results(found, report)
    return {
        "schema_version": VERSION,
        "run_id": run_id,
        "checks": [
            _check(one, result.finding.status.holds, _told(result))
            for one, result in zip(found.checks, results, strict=True)
        ],
        "criteria": [
            {"id": one.criterion, "status": one.finding.status.value, **_told(one)}
            for one in report.results
        ],
    }


def _told(result: Any) -> dict[str, Any]:
    finding = result.finding
    failing = not finding.status.holds and finding.status.value != "skipped"
    return {
        "fail_class": failure_of(finding).fail_class.value if failing else None,
        "reason": finding.detail,
    }


def _check(one: CheckDone, holds: bool, told: Mapping[str, Any]) -> dict[str, Any]:  # noqa: FBT001  one of two words
    ran = told["fail_class"] is not None or holds
    logs: list[str | None] = [file.path for file in one.logs]
    logs = logs or [None, None]
    check = one.prepared.check
    return {
        "index": one.prepared.index,
        "name": check.name,
        "argv": [*one.prepared.argv],
        "cwd": check.cwd or ".",
        "status": "pass" if holds else "fail" if ran else "not_run",
        **told,
        "expected_exit_code": check.exit_code,
        "exit_code": one.exit_code,
        "signal": one.signal,
        "duration_s": round(one.duration_s, 6),
        "stdout_path": logs[0],
        "stderr_path": logs[1],
        "stdout_bytes": one.stdout.size,
        "stderr_bytes": one.stderr.size,
        "truncated": bool(one.stdout.omitted or one.stderr.omitted),
        "evidence": [
            {"path": file.path, "sha256": file.file.sha256, "size": file.file.size}
            for file in one.evidence
        ],
    }


def _meta(facts: RunFacts, report: Report, document: VerdictDocument) -> dict[str, Any]:
    names, work = facts.names, facts.work
    return {
        "schema_version": VERSION,
        "run_id": names.run_id,
        "task_id": names.task_id,
        "task_code": names.task_code,
        "area": names.area,
        "contract_path": facts.contract_path,
        "contract_sha256": facts.contract_sha256 or NOTHING,
        "contract_digest": facts.contract_digest,
        "workspace_ref": {"repo": facts.repo, "commit": work.commit},
        "base_commit": work.base_commit,
        "tree_digest": work.tree_digest or f"sha256:{NOTHING}",
        "dirty": work.dirty,
        "change_assurance": work.assurance.value,
        "isolation": {"level": report.isolation, "missing": [*report.missing]},
        "assurance": "exit_code",
        "engine": report.engines,
        "options": facts.options,
        "started_utc": utc_text(names.started.astimezone(UTC)),
        "finished_utc": document.generated_utc,
        "evidence_oids": evidence_oids(facts),
        "touched_oids": [*work.touched_oids],
        "warnings": [*facts.warnings],
    }


def evidence_oids(facts: RunFacts) -> list[str]:
    """Those of the evidence files, in the order of their paths."""
    return [facts.oids[path] for path in sorted(facts.oids)] if facts.oids else []


def _event(facts: RunFacts, document: VerdictDocument, finished: datetime) -> bytes:
    names = facts.names
    fields: dict[str, Any] = {
        "task_id": names.task_id,
        "source": "system",
        "contract_ref": facts.contract_path,
        "touched_oids": [*facts.work.touched_oids],
        "evidence_oids": evidence_oids(facts),
        "verdict": document.verdict.lower(),
        "timestamp": document.generated_utc,
    }
    if document.fail_class is not None:
        fields["fail_class"] = document.fail_class
    return event_line(
        "TASK_VERIFIED", run_id=names.run_id, seq=1, prev=FIRST, at=finished, fields=fields
    )


def _triplet(
    facts: RunFacts,
    report: Report,
    document: VerdictDocument,
    failure: Failure | None,
) -> TripletFacts:
    notes = [f"goes by {facts.contract_path}"]
    if failure is not None:
        where = f" ({failure.criterion})" if failure.criterion else ""
        notes.append(f"{failure.fail_class.value}{where}: {failure.reason}")
    notes += [f"warning: {text}" for text in facts.warnings]
    return TripletFacts(
        run_id=facts.names.run_id,
        task_code=facts.names.task_code,
        area=facts.names.area,
        started=facts.names.started,
        verdict=document,
        lines=tuple(
            TestLine(
                id=one.criterion,
                status=_status(one.finding.status.value),
                codes=codes_of(one.finding),
            )
            for one in report.results
        ),
        notes=tuple(notes),
    )


def _status(status: str) -> str:
    return "not_run" if status == "skipped" else status


def _pointer(facts: RunFacts, verdict: bytes) -> PointerDocument:
    names = facts.names
    return PointerDocument(
        run_id=names.run_id,
        task_id=names.task_id,
        task_code=names.task_code,
        area=names.area,
        run_dir=names.run_dir,
        artifacts_dir=names.mirror,
        contract_sha256=facts.contract_sha256 or NOTHING,
        commit=facts.work.commit,
        verdict_sha256=_sha256(verdict),
    )


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _sha256(data: bytes) -> str:
    return digest_bytes(data).removeprefix("sha256:")
