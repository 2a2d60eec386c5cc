"""
The beginning of a run: its names, its locks, and that no earlier verdict is left.

Earlier verdicts go before anything is judged, so that whatever happens afterwards
leaves a failure.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.canonical import digest_bytes
from signoff.dialects.scc.contract import SccContract, read_contract
from signoff.dialects.scc.names import (
    REPORTS,
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
from signoff.errors import ConfigError, ContractError, DocumentError, JSONError, SignoffError
from signoff.folder import Folder
from signoff.jsonvalue import shown
from signoff.ledger import Ledger
from signoff.sandbox.command import Runner
from signoff.scc.earlier import Known, known_of, remove_verdicts
from signoff.scc.gate_report import report_place
from signoff.scc.lock import Locks
from signoff.scc.run_names import RunNames
from signoff.scc.store import open_registry, place_of
from signoff.scc.ulid import is_oid
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace
from signoff.scc.written import WrittenRun
from signoff.strictjson import loads

__all__ = [
    "Opened",
    "RunRefused",
    "RunRequest",
    "opened_run",
]


class RunRefused(Exception):
    """A run cannot be named, or may not begin; nothing was written."""


class RunRequest(Struct, frozen=True, kw_only=True):
    """
    A verification that is asked for.

    Args:
        workspace: What is judged.
        contract: Path in the workspace, or OID.
        area: None for that of the settings.
        task_code: None for the contract's task_id.
        record: The executor's record, None for that of the dispatcher.
        fail_fast: Start no check after the first that fails.
        strict: Warnings are failures.
        env: The caller's variables.
        clock: Read once.
        sandbox: Runs the checks' commands.
        random: Gives bytes for the run_id.
        on_step: Called with the name of each step before it is taken.
    """

    workspace: Workspace
    contract: str
    area: str | None = None
    task_code: str | None = None
    record: str | None = None
    fail_fast: bool = False
    strict: bool = False
    env: Mapping[str, str] = {}
    clock: Callable[[], datetime]
    sandbox: Runner
    random: Callable[[int], bytes] = os.urandom
    on_step: Callable[[str], object] = lambda _: None


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
    """

    names: RunNames
    settings: Settings
    contract: SccContract | None
    contract_path: str
    contract_sha256: str
    failure: Failure | None
    warnings: tuple[str, ...]
    known: Known


class _Contract(Struct, frozen=True, kw_only=True):
    """What could be found of the contract before it was read in earnest."""

    path: str
    data: bytes | None
    task_id: str
    problem: str = ""


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
    settings, problem = _settings(request.workspace)
    found = _found(request)
    try:
        known = known_of(ledger)
    except SignoffError:
        close_down(request, locks)
        raise
    names = _names(request, settings, found, known, is_unsettled=bool(problem))
    anywhere = bool(problem) and request.area is None
    same = [run for run in known.runs if _is_same(run, names, found, anywhere=anywhere)]
    pairs = {(names.area, names.task_code), (names.area, names.task_id)}
    pairs |= {(run.area, name) for run in same for name in (run.task_code, run.task_id) if name}
    doomed = _verdict_paths(names, same)
    try:
        locks.take(pairs)
    except OSError:
        # Where not even a lock can be made nobody else writes, and no verdict can follow.
        remove_verdicts(request.workspace, doomed)
        raise
    request.on_step("remove")
    odd = remove_verdicts(request.workspace, doomed)
    request.on_step("contract")
    contract, failure, warnings = _contract(request, settings, found, names)
    return Opened(
        names=names,
        settings=settings,
        contract=contract,
        contract_path=found.path,
        contract_sha256=_sha256(found.data),
        failure=_unusable(problem) if problem else _denied(odd) or failure,
        warnings=warnings,
        known=_with_emptied(known, doomed),
    )


def close_down(request: RunRequest, locks: Locks) -> None:
    """
    No earlier verdict of the TaskCode and the task is left, for a run that knows no ledger.

    Raises:
        RunRefused: It cannot be named.
        LockHeld: Another run has the TaskCode or the task.
        OSError: One is left.
    """
    settings, _ = _settings(request.workspace)
    names = _names(request, settings, _found(request), Known(), is_unsettled=False)
    with suppress(OSError):
        locks.take({(names.area, names.task_code), (names.area, names.task_id)})
    remove_verdicts(request.workspace, _verdict_paths(names, ()))


def _with_emptied(known: Known, paths: Iterable[str]) -> Known:
    """The same, with verdicts that could not be removed and were emptied instead."""
    empty = _sha256(b"")
    emptied = {path: known.written.get(path, frozenset()) | {empty} for path in paths}
    return replace(known, written=known.written | emptied)


def _settings(workspace: Workspace) -> tuple[Settings, str]:
    try:
        return workspace.settings(), ""
    except (ConfigError, DocumentError) as exc:
        return Settings(), shown(str(exc), 1_000)


def _found(request: RunRequest) -> _Contract:
    """The bytes of the contract, and its task_id where it has one that can be used."""
    path = request.contract
    try:
        path = _contract_path(request)
        data = request.workspace.read(path, max_bytes=LIMITS.max_bytes)
    except (PathMissing, PathUnsafe, SignoffError) as exc:
        return _Contract(path=path, data=None, task_id="", problem=str(exc))
    try:
        value = loads(data, limits=LIMITS)
    except JSONError:
        return _Contract(path=path, data=data, task_id="")
    task_id = value.get("task_id") if isinstance(value, dict) else None
    usable = isinstance(task_id, str) and name_fault(task_id) is None
    return _Contract(path=path, data=data, task_id=str(task_id) if usable else "")


def _contract_path(request: RunRequest) -> str:
    given, root = request.contract, request.workspace.root
    if is_oid(given) and not (root / given).is_file():
        with open_registry(place_of(request.workspace, request.env), may_write=False) as registry:
            found = registry.find(given)
        if found is None:
            raise DocumentError(f"{given} is not registered")
        return found.path
    if posixpath.isabs(given):
        place = Path(given)
        place = place.parent.resolve() / place.name
        return place.relative_to(root).as_posix() if place.is_relative_to(root) else given
    return posixpath.normpath(given)


def _names(
    request: RunRequest, settings: Settings, found: _Contract, known: Known, *, is_unsettled: bool
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
        why = found.problem or "has no task_id that can be used"
        raise RunRefused(f"{shown(found.path)}: {why}, and no TaskCode is given")
    same = [run for run in known.runs if (run.area, run.task_code) == (area, task_code)]
    known_id = next((run.task_id for run in reversed([*earlier, *same]) if run.task_id), "")
    task_id = found.task_id or known_id or task_code
    _require_names(request.workspace.root, area, task_code, task_id)
    started = request.clock()
    try:
        gate_report = report_place(request.env)
    except DocumentError as exc:
        raise RunRefused(str(exc)) from exc
    return RunNames(
        area=area,
        task_code=task_code,
        task_id=task_id,
        run_id=run_id_of(started, request.random(4)),
        started=started,
        gate_report=gate_report,
    )


def _require_names(root: Path, area: str, task_code: str, task_id: str) -> None:
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
    owner = _owner(folders / area / "artifacts" / task_code / "pointer.json")
    if owner == task_code != task_id:
        raise RunRefused(f'TaskCode "{task_code}" is the task_id of another task')


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _owner(sidecar: Path) -> str:
    """The task that a pointer is of, ``""`` where there is none that can be read."""
    try:
        with Folder.open(sidecar.parent) as folder:
            data = folder.read(sidecar.name, max_bytes=LIMITS.max_bytes)
        return read_pointer(data).task_id
    except (OSError, ContractError, DocumentError):
        return ""


def _is_same(run: WrittenRun, names: RunNames, found: _Contract, *, anywhere: bool) -> bool:
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


def _contract(
    request: RunRequest, settings: Settings, found: _Contract, names: RunNames
) -> tuple[SccContract | None, Failure | None, tuple[str, ...]]:
    if found.data is None:
        return None, _unusable(found.problem), ()
    try:
        contract = read_contract(
            found.data, found.path, strict=request.strict, variables=settings.variables
        )
    except (ContractError, DocumentError) as exc:
        return None, _unusable(shown(str(exc), 4_000)), ()
    assert contract.task_id == names.task_id
    return contract, None, tuple(str(fault) for fault in contract.warnings)


def _denied(odd: tuple[str, ...]) -> Failure | None:
    """What somebody else put in the place of a folder of verdicts."""
    if not odd:
        return None
    why = f'"{shown(odd[0])}" was no folder, and docs/REPORT/** is protected'
    return Failure(fail_class=FailClass.COMMAND_DENIED, exit_code=97, reason=why)


def _unusable(why: str) -> Failure:
    return Failure(fail_class=FailClass.VERIFIER_ERROR, exit_code=2, reason=why)


def _sha256(data: bytes | None) -> str:
    return "" if data is None else digest_bytes(data).removeprefix("sha256:")
