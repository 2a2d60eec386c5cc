"""
The gate outside of a run: every TaskCode that is asked for, judged from disk and ledger alone.

An earlier gate report goes before anything is judged, and the new one is told to the
ledger before it is written, so that no executor can pass for the verifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import Final

from msgspec import Struct

from signoff.canonical import digest_bytes
from signoff.dialects.scc.names import REPORTS, STATE, mirror_path
from signoff.dialects.scc.pointer import read_pointer
from signoff.errors import (
    ContractError,
    DatabaseUnusable,
    DocumentError,
    LedgerCorrupt,
    NotJudged,
)
from signoff.folder import Folder
from signoff.ledger import Ledger, open_ledger
from signoff.scc.gate_report import GateReport, GuardFinding, encode_reports
from signoff.scc.guard import judge
from signoff.scc.guard_files import task_code_of
from signoff.scc.reader import Expected
from signoff.scc.snapshot import Kind, Snapshot
from signoff.scc.tree import tree_digest
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace
from signoff.scc.written import LEDGER_FILE, WrittenRun, latest_run, runs_of, written_notes

__all__ = ["GateRequest", "Gated", "gate", "remove_report"]

MAX_CONTRACT_BYTES: Final = 2**30
# No digest reads so: what could not be found out is what no verdict was about.
_NOT_FOUND: Final = "-"
_SIDECAR_ONLY: Final = frozenset(("verdict.json", "pointer.json"))


class GateRequest(Struct, frozen=True, kw_only=True):
    """
    What the gate is asked.

    Args:
        workspace: Where.
        area: ``""`` for every area.
        task_code: ``""`` for every TaskCode.
        place: Of the gate report, relative to the workspace.
        now: The time of the run.
        strict: Keys of a verdict beyond the five are refused.
    """

    workspace: Workspace
    area: str
    task_code: str
    place: str
    now: datetime
    strict: bool = False


class Gated(Struct, frozen=True, kw_only=True):
    """
    What the gate came to.

    Args:
        reports: One for each TaskCode; one of no TaskCode where there is none.
        data: The bytes of the gate report.
        problem: Why the ledger could not be used, ``""`` where it could.
        is_written: The report is in its place.
    """

    reports: tuple[GateReport, ...]
    data: bytes
    problem: str = ""
    is_written: bool = False

    @property
    def passed(self) -> bool:
        """True only if TaskCodes were judged and nothing was found."""
        return bool(self.reports) and all(one.passed for one in self.reports)


def gate(request: GateRequest) -> Gated:
    """
    What the gate comes to; the report of it is written where the workspace has a ledger.

    Raises:
        OSError: An earlier report cannot be removed, or this one not be written.
    """
    remove_report(request.workspace, request.place)
    with ExitStack() as stack:
        ledger, problem = _ledger(request.workspace, stack)
        runs: tuple[WrittenRun, ...] = ()
        try:
            runs = _known(ledger)
        except (DatabaseUnusable, LedgerCorrupt) as exc:
            ledger, problem = None, str(exc)
        snapshot = stack.enter_context(Snapshot(request.workspace))
        reports = _reports(request, snapshot, runs, ledger)
        data = encode_reports(reports)
        if ledger is None:
            return Gated(reports=reports, data=data, problem=problem)
        digest = digest_bytes(data).removeprefix("sha256:")
        try:
            ledger.append(*written_notes("", {request.place: digest}))
        except (DatabaseUnusable, LedgerCorrupt) as exc:
            return Gated(reports=reports, data=data, problem=str(exc))
    request.workspace.write(request.place, data)
    return Gated(reports=reports, data=data, is_written=True)


def remove_report(workspace: Workspace, place: str) -> None:
    """
    No gate report is left at its place.

    Raises:
        OSError: It cannot be removed.
    """
    *above, name = place.split("/")
    with ExitStack() as stack:
        folder = stack.enter_context(Folder.open(workspace.root))
        try:
            for part in above:
                folder = stack.enter_context(folder.child(part))
            folder.mode(name)
        except FileNotFoundError:
            return
        folder.remove(name)
        folder.sync()


def _ledger(workspace: Workspace, stack: ExitStack) -> tuple[Ledger | None, str]:
    """The ledger of an initialised workspace; where there is none, nothing is made."""
    place = workspace.root / LEDGER_FILE
    state = workspace.root / STATE
    if not state.is_dir():
        return None, f"there is no {STATE}: run signoff scc init"
    if any(path.is_symlink() for path in (state, place)):
        return None, f"{LEDGER_FILE}: is a symbolic link"
    try:
        return stack.enter_context(open_ledger(place)), ""
    except (DatabaseUnusable, LedgerCorrupt) as exc:
        return None, str(exc)


def _known(ledger: Ledger | None) -> tuple[WrittenRun, ...]:
    return () if ledger is None else tuple(runs_of(ledger))


def _reports(
    request: GateRequest, snapshot: Snapshot, runs: tuple[WrittenRun, ...], ledger: Ledger | None
) -> tuple[GateReport, ...]:
    wanted = {
        (run.area, run.task_code)
        for run in runs
        if request.area in {"", run.area} and request.task_code in {"", run.task_code}
    }
    odd: list[GateReport] = []
    if request.task_code:
        wanted.add((request.area, request.task_code))
    else:
        for area in [request.area] if request.area else _areas(snapshot, odd):
            pointed = {run.task_id: run.task_code for run in runs if run.area == area}
            wanted |= {(area, code) for code in _task_codes(snapshot, area, pointed, odd)}
    if not wanted and not odd:
        return (_nothing(request.area),)
    tree = _tree(request)
    judged = (_judged(request, area, code, ledger, tree) for area, code in sorted(wanted))
    return (*odd, *judged)


def _judged(
    request: GateRequest, area: str, task_code: str, ledger: Ledger | None, tree: str
) -> GateReport:
    known = None
    if ledger is not None:
        try:
            known = latest_run(ledger, area, task_code)
        except (DatabaseUnusable, LedgerCorrupt):
            known = None
    expected = Expected(
        contract_sha256=_contract(request.workspace, known),
        tree_digest=tree,
        task_code=task_code,
    )
    return judge(
        request.workspace,
        area,
        task_code,
        expected=expected,
        known=known,
        now=request.now,
        strict=request.strict,
    )


def _contract(workspace: Workspace, known: WrittenRun | None) -> str:
    """The digest of the contract as it is now; ``""`` where no run knows of one."""
    if known is None or not known.contract_sha256:
        return ""
    try:
        return workspace.measure(known.contract_path, max_bytes=MAX_CONTRACT_BYTES)[0]
    except (PathMissing, PathUnsafe):
        return _NOT_FOUND


def _tree(request: GateRequest) -> str:
    try:
        return tree_digest(request.workspace, own=(request.place,))
    except NotJudged:
        return _NOT_FOUND


def _areas(snapshot: Snapshot, odd: list[GateReport]) -> list[str]:
    kind, names = snapshot.names(REPORTS)
    if kind is Kind.ODD:
        odd.append(_link("", REPORTS))
    return [name for name in names if _is_folder(snapshot, f"{REPORTS}/{name}", odd, area=name)]


def _task_codes(
    snapshot: Snapshot, area: str, pointed: Mapping[str, str], odd: list[GateReport]
) -> set[str]:
    """Every TaskCode that has a report or an artifacts folder."""
    top = f"{REPORTS}/{area}"
    kind, names = snapshot.names(top)
    if kind is Kind.ODD:
        odd.append(_link(area, top))
    codes = {code for name in names if (code := task_code_of(name))}
    if "artifacts" not in names:
        return codes
    kind, folders = snapshot.names(f"{top}/artifacts")
    if kind is Kind.ODD:
        odd.append(_link(area, f"{top}/artifacts"))
    for name in folders:
        path = f"{top}/artifacts/{name}"
        if _is_folder(snapshot, path, odd, area=area):
            codes.add(_filed_under(snapshot, area, name, pointed))
    return codes


def _is_folder(snapshot: Snapshot, path: str, odd: list[GateReport], *, area: str) -> bool:
    kind = snapshot.names(path)[0]
    if kind is Kind.ODD and not snapshot.look(path).is_file:
        odd.append(_link(area, path))
    return kind is Kind.FOLDER


def _filed_under(snapshot: Snapshot, area: str, name: str, pointed: Mapping[str, str]) -> str:
    """The TaskCode of an artifacts folder: its name, or what its pointer or the ledger says."""
    folder = mirror_path(area, name)
    if not {*snapshot.names(folder)[1]} <= _SIDECAR_ONLY:
        return name
    try:
        pointer = read_pointer(snapshot.look(f"{folder}/pointer.json", keep=True).data or b"")
    except (ContractError, DocumentError):
        return pointed.get(name, name)
    return pointer.task_code if (pointer.area, pointer.task_id) == (area, name) else name


def _link(area: str, path: str) -> GateReport:
    finding = GuardFinding("EVIDENCE_SYMLINK", path, f"is a {Kind.ODD.value}")
    return GateReport(area=area, task_code="", findings=(finding,))


def _nothing(area: str) -> GateReport:
    codes = ("REPORT_MISSING", "SELFTEST_MISSING", "EVIDENCE_DIR_MISSING", "VERDICT_MISSING")
    place = f"{REPORTS}/{area}" if area else REPORTS
    found = tuple(GuardFinding(code, place, "there is no triplet at all") for code in codes)
    return GateReport(area=area, task_code="", findings=found)
