"""The gate report: what guard and triplet came to, and where it is written."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff.dialects.scc.names import GATE_REPORT
from signoff.dialects.scc.scope import SCRIPTS, comparable, pattern_fault
from signoff.errors import DocumentError, JSONError
from signoff.jsonvalue import shown
from signoff.scc.triplet import MAX_TRIPLET_BYTES, Measured
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace
from signoff.strictjson import Limits, loads

__all__ = [
    "GROUPS",
    "GUARD_VERSION",
    "PLACE_VARIABLE",
    "GateReport",
    "GuardFinding",
    "encode_report",
    "encode_reports",
    "is_about",
    "report_place",
]

GUARD_VERSION: Final = "1"
PLACE_VARIABLE: Final = "MVM_VERDICT_OUT"
_LIMITS: Final = Limits(max_bytes=MAX_TRIPLET_BYTES, max_depth=64)
# In comparable form: a gate report there would replace what others are judged by.
_APART: Final = ("docs/report/", "evidence/", "artifacts/", ".signoff/", ".git/")

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "report": (
        "REPORT_MISSING", "REPORT_NAME_INVALID", "REPORT_DUPLICATE", "REPORT_UNDECLARED_PATH",
    ),
    "selftest": (
        "SELFTEST_MISSING", "SELFTEST_EXIT_LINE", "SELFTEST_CONTRADICTION",
        "SELFTEST_USER_SUPPLIED",
    ),
    "evidence": (
        "EVIDENCE_DIR_MISSING", "EVIDENCE_HASHES_MISSING", "EVIDENCE_FILE_MISSING",
        "EVIDENCE_UNLISTED", "FAKE_DIGEST_DETECTED", "EVIDENCE_SCOPE_VIOLATION",
        "ABSOLUTE_PATH_IN_EVIDENCE", "EVIDENCE_SYMLINK", "EVIDENCE_CASE_MISMATCH",
        "EVIDENCE_CHANGED",
    ),
    "verdict": ("VERDICT_MISSING", "VERDICT_CONTRADICTION", "VERDICT_STALE", "VERDICT_FAIL"),
    "rollback": ("ROLLBACK_DELETE_FORBIDDEN",),
}  # fmt: skip
"""Every code that a gate report can hold, by what it is about."""

_MISSING: Final = frozenset((
    "REPORT_MISSING", "SELFTEST_MISSING", "EVIDENCE_DIR_MISSING", "EVIDENCE_HASHES_MISSING",
))  # fmt: skip


class GuardFinding(Struct, frozen=True, order=True):
    """
    One thing that the guard found.

    Args:
        code: One of ``GROUPS``.
        path: What it is about, relative to the workspace; ``""`` where it is about no file.
        message: In one sentence.
    """

    code: str
    path: str
    message: str


class GateReport(Struct, frozen=True, kw_only=True):
    """
    What the gate found of one TaskCode.

    Args:
        area: In which it is filed.
        task_code: Its name.
        findings: Everything that is wrong.
        commit_sha: That was judged, ``""`` without version control.
        evidence_hashes: Digest and size of each file, as it was found.
    """

    area: str
    task_code: str
    findings: tuple[GuardFinding, ...]
    commit_sha: str = ""
    evidence_hashes: dict[str, Measured] = {}

    @property
    def fail_codes(self) -> tuple[str, ...]:
        """The codes that were found, each once, in the order of ``GROUPS``."""
        found = {one.code for one in self.findings}
        return tuple(code for codes in GROUPS.values() for code in codes if code in found)

    @property
    def passed(self) -> bool:
        """True only if nothing was found."""
        return not self.findings

    @property
    def lacks_part(self) -> bool:
        """A part of the triplet is absent: ``artifact_missing`` rather than ``unknown``."""
        return not _MISSING.isdisjoint(self.fail_codes)


def encode_report(report: GateReport) -> bytes:
    """The bytes of the gate report about one TaskCode."""
    return _encoded(_document(report, _groups(report)))


def encode_reports(reports: Iterable[GateReport]) -> bytes:
    """
    The bytes of the gate report about several TaskCodes: of one, as ``encode_report``.

    Its codes are those of all; each TaskCode is a check and has its report under ``tasks``.
    """
    told = tuple(reports)
    if len(told) == 1:
        return encode_report(told[0])
    whole = GateReport(
        area=_shared(one.area for one in told),
        task_code="",
        findings=tuple(finding for one in told for finding in one.findings),
        commit_sha=_shared(one.commit_sha for one in told),
        evidence_hashes={p: m for one in told for p, m in one.evidence_hashes.items()},
    )
    checks = [_entry(f"{one.area}/{one.task_code}", passed=one.passed) for one in told]
    own = [_document(one, _groups(one)) for one in told]
    return _encoded(_document(whole, checks, judged=bool(told)) | {"tasks": own})


def report_place(env: Mapping[str, str], workspace: Workspace | None = None) -> str:
    """
    Where the gate report is written, relative to the workspace.

    Args:
        env: The variable may name another place than the usual one.
        workspace: Where, so that nothing but an earlier gate report is replaced there.

    Raises:
        DocumentError: The variable names no file in the workspace that a gate report may be.
    """
    given = env.get(PLACE_VARIABLE)
    if not given:
        return GATE_REPORT
    place = posixpath.normpath(given)
    if pattern_fault(given) is not None or not place.endswith(".json"):
        raise DocumentError(f"{PLACE_VARIABLE}: {shown(given)} is no JSON file in the workspace")
    folded = comparable(place)
    if folded.startswith(_APART) or folded in {comparable(path) for path in SCRIPTS}:
        raise DocumentError(f"{PLACE_VARIABLE}: {shown(given)} is among files that are protected")
    if workspace is not None and place != GATE_REPORT and not _is_free(workspace, place):
        raise DocumentError(f"{PLACE_VARIABLE}: {shown(given)} is there and is no gate report")
    return place


def is_about(workspace: Workspace, place: str, pairs: Container[tuple[str, str]]) -> bool:
    """There is a gate report at a place, about several TaskCodes or one of these with its area."""
    try:
        value = loads(workspace.read(place, max_bytes=MAX_TRIPLET_BYTES), limits=_LIMITS)
    except (PathMissing, PathUnsafe, JSONError, OSError):
        return False
    if not isinstance(value, dict) or not {"guard", "fail_codes"} <= {*value}:
        return False
    area, task_code = value.get("area"), value.get("task_code")
    return not task_code or (str(area), str(task_code)) in pairs


def _is_free(workspace: Workspace, place: str) -> bool:
    """There is nothing at the place, or an earlier gate report, or one that was emptied."""
    try:
        data = workspace.read(place, max_bytes=MAX_TRIPLET_BYTES)
        value = loads(data, limits=_LIMITS) if data else {"guard": {}, "fail_codes": []}
    except PathMissing:
        return True
    except (PathUnsafe, JSONError):
        return False
    return isinstance(value, dict) and {"guard", "fail_codes"} <= {*value}


def _groups(report: GateReport) -> list[dict[str, str]]:
    found = report.fail_codes
    return [_entry(name, passed=not {*codes} & {*found}) for name, codes in GROUPS.items()]


def _entry(name: str, *, passed: bool) -> dict[str, str]:
    return {"name": name, "status": "PASS" if passed else "FAIL"}


def _shared(texts: Iterable[str]) -> str:
    found = {*texts}
    return found.pop() if len(found) == 1 else ""


def _document(
    report: GateReport, checks: list[dict[str, str]], *, judged: bool = True
) -> dict[str, Any]:
    status = "PASS" if judged and report.passed else "FAIL"
    return {
        "status": status,
        "status_normalized": status,
        "fail_codes": report.fail_codes,
        "task_code": report.task_code,
        "area": report.area,
        "commit_sha": report.commit_sha,
        "guard": {"status": status, "version": GUARD_VERSION},
        "evidence_hashes": report.evidence_hashes,
        "checks": checks,
    }


def _encoded(document: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
