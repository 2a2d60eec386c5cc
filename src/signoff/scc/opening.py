"""
The beginning of a run: its names, its locks, and that no earlier verdict is left.

Earlier verdicts go before anything is judged, so that whatever happens afterwards
leaves a failure.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.canonical import digest_bytes
from signoff.dialects.scc.contract import SccContract
from signoff.dialects.scc.names import (
    REPORTS,
    RUNS,
    STATE,
    clash,
    mirror_path,
    name_fault,
    pointer_path,
    run_id_of,
)
from signoff.dialects.scc.pointer import read_pointer
from signoff.dialects.scc.settings import Settings
from signoff.dialects.scc.shape import LIMITS
from signoff.dialects.scc.verdict import FailClass, Failure
from signoff.errors import ContractError, DocumentError
from signoff.folder import Folder
from signoff.jsonvalue import shown
from signoff.ledger import Ledger
from signoff.scc.earlier import Known, known_of, remove_verdicts, together, verdicts_found
from signoff.scc.gate_report import is_about
from signoff.scc.lock import Locks
from signoff.scc.phase4 import NOT_INITIALISED
from signoff.scc.request import (
    FoundContract,
    RunRefused,
    RunRequest,
    broken,
    contract_unless,
    found_contract,
    gate_place,
    settings_of,
    unusable,
)
from signoff.scc.run_names import RunNames
from signoff.scc.workspace import Workspace
from signoff.scc.written import WrittenRun, digests_of

__all__ = [
    "Opened",
    "close_down",
    "opened_run",
]


class Opened(Struct, frozen=True, kw_only=True):
    """
    A run that holds its locks, with no verdict of its TaskCode and its task left.

    Args:
        names: What it is called.
        settings: In force.
        contract: None where it cannot be used.
        contract_path: Relative to the workspace.
        contract_sha256: Of its bytes, ``""`` where there are none.
        failure: Why nothing may be run, None if something may.
        warnings: Of the contract.
        known: Of earlier runs.
        removed: Digest of each verdict that was there, ``""`` for what was no plain file.
    """

    names: RunNames
    settings: Settings
    contract: SccContract | None
    contract_path: str
    contract_sha256: str
    failure: Failure | None
    warnings: tuple[str, ...]
    known: Known
    removed: Mapping[str, str] = {}


def opened_run(request: RunRequest, ledger: Ledger, locks: Locks) -> Opened:
    """
    The run, with its locks held and every earlier verdict removed.

    Args:
        request: What is asked for.
        ledger: Of the workspace.
        locks: Of this run, none of them held.

    Raises:
        RunRefused: It cannot be named.
        LockHeld: Another run has the TaskCode or the task.
        OSError: An earlier verdict cannot be removed.
        DatabaseUnusable: The ledger cannot be read.
        LedgerCorrupt: It holds what no run has recorded.
    """
    settings, problem = settings_of(request.workspace)
    found = found_contract(request)
    try:
        known = known_of(ledger)
    except (KeyboardInterrupt, Exception):
        close_down(request, locks)
        raise
    place, misplaced = gate_place(request)
    names = _names(request, settings, found, known, is_unsettled=bool(problem), place=place)
    anywhere = bool(problem) and request.area is None
    same = [run for run in known.runs if _is_same(run, names, found, anywhere=anywhere)]
    pairs = {(names.area, names.task_code), (names.area, names.task_id)}
    pairs |= {(run.area, name) for run in same for name in (run.task_code, run.task_id) if name}
    doomed = _verdict_paths(names, same) | _reports_elsewhere(request.workspace, known, pairs)
    try:
        locks.take(pairs)
    except OSError:
        # Where not even a lock can be made nobody else writes, and no verdict can follow.
        remove_verdicts(request.workspace, doomed)
        raise
    removed, odd, fault = _cleared(request, doomed)
    if any(digest not in known.written.get(path, ()) for path, digest in removed.items()):
        # Meanwhile another run may have written what all of them share.
        known = replace(known, written=together(known.written, digests_of(ledger)))
    contract, failure, warnings = contract_unless(fault, request, settings, found, names.task_id)
    unfit = problem or misplaced
    return Opened(
        names=names,
        settings=settings,
        contract=contract,
        contract_path=found.path,
        contract_sha256=_sha256(found.data),
        failure=fault or (unusable(unfit) if unfit else _denied(odd)) or failure,
        warnings=warnings if settings.given or problem else (*warnings, NOT_INITIALISED),
        known=_with_emptied(known, doomed),
        removed=removed,
    )


def close_down(request: RunRequest, locks: Locks) -> None:
    """
    No earlier verdict of the TaskCode and the task is left, for a run that knows no ledger.

    Raises:
        RunRefused: It cannot be named.
        LockHeld: Another run has the TaskCode or the task.
        OSError: One is left.
    """
    settings, _ = settings_of(request.workspace)
    place, _ = gate_place(request)
    names = _names(
        request, settings, found_contract(request), Known(), is_unsettled=False, place=place
    )
    with suppress(OSError):
        locks.take({(names.area, names.task_code), (names.area, names.task_id)})
    remove_verdicts(request.workspace, _verdict_paths(names, ()))


def _cleared(
    request: RunRequest, doomed: set[str]
) -> tuple[dict[str, str], tuple[str, ...], Failure | None]:
    """What was there, what was no folder, and what broke; whatever did, they are removed."""
    removed: dict[str, str] = {}
    fault: Failure | None = None
    try:
        request.on_step("remove")
        removed = verdicts_found(request.workspace, doomed)
    except (KeyboardInterrupt, Exception) as exc:  # noqa: BLE001  whatever breaks is a FAIL
        fault = broken(exc)
    try:
        odd = remove_verdicts(request.workspace, doomed)
    except KeyboardInterrupt as exc:
        fault = broken(exc)
        odd = remove_verdicts(request.workspace, doomed)
    return removed, odd, fault


def _with_emptied(known: Known, paths: Iterable[str]) -> Known:
    """The same, with verdicts that could not be removed and were emptied instead."""
    empty = _sha256(b"")
    emptied = {path: known.written.get(path, frozenset()) | {empty} for path in paths}
    return replace(known, written=known.written | emptied)


def _names(
    request: RunRequest,
    settings: Settings,
    found: FoundContract,
    known: Known,
    *,
    is_unsettled: bool,
    place: str,
) -> RunNames:
    earlier = [run for run in known.runs if run.contract_path == found.path]
    area = request.area or settings.area
    task_code = request.task_code or found.task_id
    if not task_code and earlier:
        area, task_code = request.area or earlier[-1].area, earlier[-1].task_code
    if is_unsettled and request.area is None:
        filed = [run.area for run in known.runs if run.task_code == task_code]
        area = filed[-1] if filed else area
    if not task_code:
        why = found.problem or f"{shown(found.path)}: has no task_id that can be used"
        raise RunRefused(f"{why}, and no TaskCode is given")
    same = [run for run in known.runs if (run.area, run.task_code) == (area, task_code)]
    known_id = next((run.task_id for run in reversed([*earlier, *same]) if run.task_id), "")
    task_id = found.task_id or known_id or task_code
    _require_names(request.workspace.root, area, task_code, task_id, known)
    started = request.clock()
    return RunNames(
        area=area,
        task_code=task_code,
        task_id=task_id,
        run_id=run_id_of(started, request.random(4)),
        started=started,
        gate_report=place,
        has_task=bool(found.task_id or known_id),
    )


def _require_names(root: Path, area: str, task_code: str, task_id: str, known: Known) -> None:
    for what, name in (("area", area), ("TaskCode", task_code), ("task_id", task_id)):
        if (fault := name_fault(name)) is not None:
            raise RunRefused(f"{what} {fault}")
    folders = root / REPORTS
    taken = [(area, folders)]
    taken += [(name, folders / area / "artifacts") for name in (task_code, task_id)]
    for name, folder in taken:
        other = clash(name, _names_in(folder))
        if other is not None:
            raise RunRefused(f'"{name}" differs from the folder "{shown(other)}" in case alone')
    if task_code != task_id and clash(task_code, [task_id]) is not None:
        raise RunRefused(f'TaskCode "{task_code}" differs from the task_id in case alone')
    nameless = {run.run_id for run in known.runs if not run.task_id}
    owner = _owner(folders / area / "artifacts" / task_code / "pointer.json", nameless)
    if owner == task_code != task_id:
        raise RunRefused(f'TaskCode "{task_code}" is the task_id of another task')


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _owner(sidecar: Path, nameless: Container[str]) -> str:
    """
    The task that a pointer is of, ``""`` where there is none that can be read.

    Args:
        sidecar: Of the pointer.
        nameless: Runs whose contract told no task, so that their pointers are of none.
    """
    try:
        with Folder.open(sidecar.parent) as folder:
            data = folder.read(sidecar.name, max_bytes=LIMITS.max_bytes)
        pointer = read_pointer(data)
    except (OSError, ContractError, DocumentError):
        return ""
    return "" if pointer.run_id in nameless else pointer.task_id


def _is_same(run: WrittenRun, names: RunNames, found: FoundContract, *, anywhere: bool) -> bool:
    """
    An earlier run whose verdicts must not outlive the beginning of this one.

    Args:
        run: The earlier run.
        names: Of this one.
        found: The contract.
        anywhere: The settings, which name the area, cannot be read.
    """
    if run.task_code == names.task_code and (anywhere or run.area == names.area):
        return True
    # Whose contract it was cannot be told any more, so every verdict under it goes.
    return not found.task_id and bool(found.path) and run.contract_path == found.path


def _verdict_paths(names: RunNames, same: Iterable[WrittenRun]) -> set[str]:
    paths = {f"{names.mirror}/verdict.json", names.gate_report, names.pointer, names.sidecar}
    for run in same:
        paths.add(f"{mirror_path(run.area, run.task_code)}/verdict.json")
        if run.task_id:
            paths.add(pointer_path(run.area, run.task_id))
            paths.add(f"{mirror_path(run.area, run.task_id)}/pointer.json")
    return paths


def _reports_elsewhere(workspace: Workspace, known: Known, pairs: set[tuple[str, str]]) -> set[str]:
    """Gate reports about these that an earlier run or gate was told to write elsewhere."""
    apart = (f"{REPORTS}/", f"{RUNS}/", f"{STATE}/")
    places = {path for path in known.written if not path.startswith(apart)}
    return {place for place in places if is_about(workspace, place, pairs)}


def _denied(odd: tuple[str, ...]) -> Failure | None:
    """What somebody else put in the place of a folder of verdicts."""
    if not odd:
        return None
    why = f'"{shown(odd[0])}" was no folder, and what the verifier writes lies in it'
    return Failure(fail_class=FailClass.COMMAND_DENIED, exit_code=97, reason=why)


def _sha256(data: bytes | None) -> str:
    return "" if data is None else digest_bytes(data).removeprefix("sha256:")
