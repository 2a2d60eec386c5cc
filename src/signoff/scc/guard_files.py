"""What the guard asks of the files of a triplet, one part after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from signoff.dialects.scc.names import REPORTS, mirror_path
from signoff.dialects.scc.verdict import path_fault
from signoff.jsonvalue import shown
from signoff.scc.gate_report import GuardFinding
from signoff.scc.reader import ReadVerdict
from signoff.scc.snapshot import Kind, Seen, Snapshot
from signoff.scc.triplet import (
    HASHES,
    NOT_HASHED,
    SELFTEST,
    Measured,
    ReportText,
    TripletInvalid,
    is_date,
    read_hashes,
    read_report,
    read_selftest,
)
from signoff.scc.written import WrittenRun

__all__ = ["RUN_META", "Filed", "evidence", "report", "selftest", "task_code_of"]

RUN_META: Final = "evidence/run_meta.json"
_ABSOLUTE: Final = re.compile(r"[/\\]|[A-Za-z]:")
_NAME: Final = re.compile(r"REPORT__(.+)__([0-9]{8})\.md", re.DOTALL)
_LIKE: Final = re.compile(r"REPORT__(.+?)(?:__.*|\..*)?", re.DOTALL | re.IGNORECASE)
_HOLDS: Final = frozenset(("pass", "warn"))


class Filed:
    """
    The files of a TaskCode, by the paths that they have or will have.

    Args:
        snapshot: Through which they are seen.
        area: In which they are.
        task_code: Under which they are.
        known: The latest run as the ledger has it.
        mirror: Where the mirror lies if not in its place, ``""`` otherwise.
        report: Where the report lies if not in its place, ``""`` otherwise.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        area: str,
        task_code: str,
        *,
        known: WrittenRun | None,
        mirror: str = "",
        report: str = "",
    ) -> None:
        self.snapshot = snapshot
        self.area = area
        self.task_code = task_code
        self.known = known
        self.mirror = mirror_path(area, task_code)
        self._staged = report
        self._read = {f"{self.mirror}/{name}" for name in (SELFTEST, HASHES, RUN_META)}
        self.at = mirror or self.mirror
        self.kind = snapshot.names(self.at)[0]
        found = snapshot.below(self.at) if self.kind is Kind.FOLDER else {}
        self.disk = {f"{self.mirror}{path[len(self.at) :]}": kind for path, kind in found.items()}
        self.files = tuple(path for path, kind in self.disk.items() if kind is Kind.FILE)
        self.folded = _folded(self.disk)
        self.reports = tuple(self._reports(report))

    def look(self, path: str) -> Seen:
        """What is at a path, wherever it lies as yet; its bytes too, where they are read."""
        is_read = path in self._read or self.is_report(path)
        return self.snapshot.look(self.place(path), keep=is_read)

    def place(self, path: str) -> str:
        """Where a path lies as yet."""
        if path.startswith(f"{self.mirror}/"):
            return f"{self.at}{path[len(self.mirror) :]}"
        if self._staged and self.reports and path == self.reports[0]:
            return self._staged
        return path

    @property
    def valid_reports(self) -> tuple[str, ...]:
        """Those of the reports whose name is one."""
        return tuple(path for path in self.reports if self.is_report(path))

    def is_report(self, path: str) -> bool:
        """The path is one that a report of the TaskCode may have."""
        folder, _, name = path.rpartition("/")
        found = _NAME.fullmatch(name)
        own = found is not None and found[1] == self.task_code and is_date(found[2])
        return own and folder == f"{REPORTS}/{self.area}"

    def _reports(self, staged: str) -> Iterator[str]:
        """Everything that is named like a report of the TaskCode, rightly or not."""
        folder = f"{REPORTS}/{self.area}"
        names = (staged.rpartition("/")[2],) if staged else self.snapshot.names(folder)[1]
        own = f"report__{self.task_code}".casefold()
        for name in names:
            folded = name.casefold()
            if not folded.startswith((f"{own}__", f"{own}.")):
                continue
            found = _NAME.fullmatch(name)
            named = found[1] if found is not None and is_date(found[2]) else self.task_code
            # Another TaskCode may begin like this one.
            if named.casefold() == self.task_code.casefold():
                yield f"{folder}/{name}"


def task_code_of(name: str) -> str:
    """The TaskCode of whose report a file has the name, ``""`` of none."""
    found = _NAME.fullmatch(name) or _LIKE.fullmatch(name)
    return found[1] if found is not None else ""


def report(filed: Filed, run_id: str, verdict: ReadVerdict | None) -> Iterator[GuardFinding]:
    """What is wrong with the report: its number, its name, what it says and what it lists."""
    valid = filed.valid_reports
    for path in filed.reports:
        if path not in valid:
            yield GuardFinding("REPORT_NAME_INVALID", path, "is no name of a report")
    if not filed.reports:
        name = f"REPORT__{filed.task_code}__<YYYYMMDD>.md"
        yield GuardFinding("REPORT_MISSING", f"{REPORTS}/{filed.area}/{name}", "no such file")
    if len(valid) > 1:
        yield GuardFinding("REPORT_DUPLICATE", valid[1], f"there is {shown(valid[0])} too")
    for path in valid:
        yield from _one_report(filed, path, run_id, verdict)


def _one_report(
    filed: Filed, path: str, run_id: str, verdict: ReadVerdict | None
) -> Iterator[GuardFinding]:
    seen = filed.look(path)
    if not seen.is_file:
        code = "EVIDENCE_SYMLINK" if seen.kind is Kind.ODD else "REPORT_MISSING"
        yield GuardFinding(code, path, f"is a {seen.kind.value}")
        return
    try:
        text = read_report(seen.data or b"")
    except TripletInvalid as exc:
        yield GuardFinding("REPORT_NAME_INVALID", path, str(exc))
        return
    yield from _said(filed, path, text, run_id, verdict)
    yield from _listed(filed, path, text)


def _said(
    filed: Filed, path: str, text: ReportText, run_id: str, verdict: ReadVerdict | None
) -> Iterator[GuardFinding]:
    """Where the report's own words are not about this run."""
    date = path[: -len(".md")].rpartition("__")[2]
    own = {"TaskCode": filed.task_code, "Area": filed.area, "Date": date}
    if text.heading != f"REPORT__{filed.task_code}":
        yield GuardFinding("REPORT_NAME_INVALID", path, "its heading is of another TaskCode")
    for name, value in own.items():
        if text.facts.get(name) != value:
            yield GuardFinding("REPORT_NAME_INVALID", path, f"its {name} is not {shown(value)}")
    if run_id and not run_id.startswith(date):
        yield GuardFinding("REPORT_NAME_INVALID", path, "its date is not that of the run")
    if run_id and text.facts.get("Run") != run_id:
        yield GuardFinding("VERDICT_CONTRADICTION", path, "is of another run")
    if verdict is not None and text.facts.get("Verdict") != verdict.verdict:
        yield GuardFinding("VERDICT_CONTRADICTION", path, f"does not say {verdict.verdict}")


def _listed(filed: Filed, path: str, text: ReportText) -> Iterator[GuardFinding]:
    """Where the list of the report is not that of the mirror."""
    own = {f"{filed.mirror}/{name}" for name in NOT_HASHED}
    paths, folded = frozenset(text.paths), _folded(text.paths)
    for listed in text.paths:
        fault = _place_fault(listed, filed)
        if fault is not None:
            yield fault
        elif listed not in filed.disk and listed not in own:
            yield _absent(listed, filed)
    for found in filed.files:
        if found not in paths and found not in own and found.casefold() not in folded:
            yield GuardFinding("EVIDENCE_UNLISTED", found, "is not in the list of the report")
    for mentioned in text.mentioned:
        if mentioned not in paths:
            message = f"names {shown(mentioned)}, which it does not list"
            yield GuardFinding("REPORT_UNDECLARED_PATH", path, message)


def selftest(filed: Filed, run_id: str, verdict: ReadVerdict | None) -> Iterator[GuardFinding]:
    """What is wrong with ``selftest.log``."""
    path = f"{filed.mirror}/{SELFTEST}"
    seen = filed.look(path)
    if not seen.is_file:
        if seen.kind is not Kind.ODD or filed.kind is not Kind.FOLDER:
            yield GuardFinding("SELFTEST_MISSING", path, f"is {seen.kind.value}")
        return
    found = read_selftest(seen.data or b"")
    if found.exit_code is None:
        message = "its last line is not the only one that gives an EXIT_CODE"
        yield GuardFinding("SELFTEST_EXIT_LINE", path, message)
    elif verdict is not None and found.exit_code != verdict.exit_code:
        message = f"says {found.exit_code}, the verdict {verdict.exit_code}"
        yield GuardFinding("SELFTEST_CONTRADICTION", path, message)
    if verdict is not None and verdict.passed and any(_fails(one.status) for one in found.lines):
        yield GuardFinding("SELFTEST_CONTRADICTION", path, "a criterion of it does not hold")
    document = None if verdict is None else verdict.document
    if document is not None and found.ts_utc != document.generated_utc:
        yield GuardFinding("SELFTEST_CONTRADICTION", path, "is of another time")
    known = filed.known
    if run_id and found.run_id != run_id:
        yield GuardFinding("SELFTEST_USER_SUPPLIED", path, "is of another run")
    elif known is None or known.files.get(path) != seen.sha256:
        message = "is not what the verifier wrote, as far as the ledger knows"
        yield GuardFinding("SELFTEST_USER_SUPPLIED", path, message)


def _fails(status: str) -> bool:
    return status not in _HOLDS


def evidence(filed: Filed, hashes: dict[str, Measured]) -> Iterator[GuardFinding]:
    """What is wrong with the artifacts; what is measured of them is put into ``hashes``."""
    if filed.kind is not Kind.FOLDER:
        code = "EVIDENCE_DIR_MISSING" if filed.kind is Kind.ABSENT else "EVIDENCE_SYMLINK"
        yield GuardFinding(code, filed.mirror, f"is {filed.kind.value}")
        return
    for path, kind in filed.disk.items():
        if kind is not Kind.FILE:
            yield GuardFinding("EVIDENCE_SYMLINK", path, f"is a {kind.value}")
    place = f"{filed.mirror}/{HASHES}"
    seen = filed.look(place)
    if not seen.is_file:
        yield GuardFinding("EVIDENCE_HASHES_MISSING", place, f"is {seen.kind.value}")
        return
    try:
        listed = read_hashes(seen.data or b"")
    except TripletInvalid as exc:
        yield GuardFinding("EVIDENCE_HASHES_MISSING", place, str(exc))
        return
    yield from _against(filed, listed, hashes)


def _against(
    filed: Filed, listed: dict[str, Measured], hashes: dict[str, Measured]
) -> Iterator[GuardFinding]:
    """Where the list and the disk differ."""
    for path, said in listed.items():
        fault = None if filed.is_report(path) else _place_fault(path, filed)
        if fault is not None:
            yield fault
            continue
        if path not in filed.disk and path not in filed.valid_reports:
            yield _absent(path, filed)
            continue
        seen = filed.look(path)
        if seen.is_file:
            hashes[path] = Measured(seen.sha256, seen.size)
            if hashes[path] != said:
                yield GuardFinding("FAKE_DIGEST_DETECTED", path, "differs from its digest")
        elif seen.kind in {Kind.UNREADABLE, Kind.ABSENT}:
            yield GuardFinding("EVIDENCE_FILE_MISSING", path, f"is {seen.kind.value}")
    apart, folded = {f"{filed.mirror}/{name}" for name in NOT_HASHED}, _folded(listed)
    for path in (*filed.files, *filed.valid_reports):
        if path not in listed and path not in apart and path.casefold() not in folded:
            yield GuardFinding("EVIDENCE_UNLISTED", path, f"is not in {HASHES}")


def _place_fault(path: str, filed: Filed) -> GuardFinding | None:
    """Why a path may be in no list of the TaskCode, None if it may."""
    if _ABSOLUTE.match(path):
        return GuardFinding("ABSOLUTE_PATH_IN_EVIDENCE", path, "is absolute")
    inside = path.casefold().startswith(f"{filed.mirror}/".casefold())
    if path_fault(path) is not None or not inside:
        return GuardFinding("EVIDENCE_SCOPE_VIOLATION", path, f"is not below {filed.mirror}")
    return None


def _absent(path: str, filed: Filed) -> GuardFinding:
    if path.casefold() in filed.folded:
        return GuardFinding("EVIDENCE_CASE_MISMATCH", path, "is spelt otherwise on the disk")
    return GuardFinding("EVIDENCE_FILE_MISSING", path, "is listed, and there is no such file")


def _folded(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path.casefold() for path in paths)
