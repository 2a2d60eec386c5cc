"""
The beginning of a run: its names, its locks, and that no earlier verdict is left.

Earlier verdicts go before anything is judged, so that whatever happens afterwards
leaves a failure.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

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
from signoff.folder import Folder, reason
from signoff.jsonvalue import shown
from signoff.ledger import Ledger, Note
from signoff.sandbox.command import Runner
from signoff.scc.gate_report import report_place
from signoff.scc.lock import Locks
from signoff.scc.run_names import RunNames
from signoff.scc.store import open_registry, place_of
from signoff.scc.ulid import is_oid
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace
from signoff.scc.written import WrittenRun, digests_of, run_data, runs_of
from signoff.strictjson import loads

__all__ = [
    "Known",
    "Opened",
    "RunRefused",
    "RunRequest",
    "announcement_of_publishing",
    "known_of",
    "opened_run",
    "remove_verdicts",
]

PUBLISHING: Final = "scc.publishing"
_KEY: Final = "scc"


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


class Known(Struct, frozen=True, kw_only=True):
    """
    What the ledger knows of earlier runs.

    Args:
        runs: In their order, also those that were about to be published.
        written: Digests that the verifier wrote, by path.
    """

    runs: tuple[WrittenRun, ...] = ()
    written: dict[str, frozenset[str]] = {}


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


def known_of(ledger: Ledger) -> Known:
    """
    What a ledger knows of earlier runs.

    Raises:
        DatabaseUnusable: It cannot be read.
        LedgerCorrupt: It holds what no run has recorded.
    """
    announced = [
        msgspec.convert(event.data[_KEY], WrittenRun)
        for event in ledger.events()
        if event.type == PUBLISHING and _KEY in event.data
    ]
    return Known(runs=(*announced, *runs_of(ledger)), written=digests_of(ledger))


def announcement_of_publishing(run: WrittenRun) -> Note:
    """The event that tells where verdicts are about to be, before the first of them is."""
    data = run_data(run)
    return Note(type=PUBLISHING, contract_id=run.task_id, signature="", data=data)


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
    known = known_of(ledger)
    names = _names(request, settings, found, known)
    same = [run for run in known.runs if _is_same(run, names, found)]
    pairs = {(names.area, names.task_code), (names.area, names.task_id)}
    pairs |= {(run.area, name) for run in same for name in (run.task_code, run.task_id) if name}
    locks.take(pairs)
    request.on_step("remove")
    remove_verdicts(request.workspace, _verdict_paths(names, same))
    request.on_step("contract")
    contract, failure, warnings = _contract(request, settings, found, names)
    return Opened(
        names=names,
        settings=settings,
        contract=contract,
        contract_path=found.path,
        contract_sha256=_sha256(found.data),
        failure=_unusable(problem) if problem else failure,
        warnings=warnings,
        known=known,
    )


def remove_verdicts(workspace: Workspace, paths: Iterable[str]) -> None:
    """
    Nothing that reads as a verdict is left at these paths, which lasts when this returns.

    All of them are tried before the first failure is told.

    Raises:
        OSError: One could neither be removed nor emptied.
    """
    failures: list[OSError] = []
    for path in sorted({*paths}):
        try:
            _remove(workspace.root, path)
        except OSError as exc:
            failures.append(OSError(exc.errno, f"{shown(path)}: {reason(exc)}"))
    if failures:
        raise failures[0]


def _remove(root: Path, path: str) -> None:
    *above, name = path.split("/")
    with ExitStack() as stack:
        folder = stack.enter_context(Folder.open(root))
        try:
            for part in above:
                folder = stack.enter_context(folder.child(part))
            folder.mode(name)
        except FileNotFoundError:
            return
        try:
            folder.remove(name)
            folder.sync()
        except OSError:
            _empty(folder, name)


def _empty(folder: Folder, name: str) -> None:
    """The next best, where the folder may not be changed and the file may."""
    flags = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(name, flags, dir_fd=folder.handle)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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


def _names(request: RunRequest, settings: Settings, found: _Contract, known: Known) -> RunNames:
    earlier = [run for run in known.runs if run.contract_path == found.path]
    area = request.area or settings.area
    task_code = request.task_code or found.task_id
    if not task_code and earlier:
        area, task_code = request.area or earlier[-1].area, earlier[-1].task_code
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


def _is_same(run: WrittenRun, names: RunNames, found: _Contract) -> bool:
    """An earlier run whose verdicts must not outlive the beginning of this one."""
    if (run.area, run.task_code) == (names.area, names.task_code):
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


def _unusable(why: str) -> Failure:
    return Failure(fail_class=FailClass.VERIFIER_ERROR, exit_code=2, reason=why)


def _sha256(data: bytes | None) -> str:
    return "" if data is None else digest_bytes(data).removeprefix("sha256:")
