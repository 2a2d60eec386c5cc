"""What is asked of a run, and what can be found of it before anything is judged."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from signoff.dialects.scc.contract import SccContract, read_contract
from signoff.dialects.scc.names import GATE_REPORT, name_fault
from signoff.dialects.scc.settings import Settings
from signoff.dialects.scc.shape import LIMITS
from signoff.dialects.scc.verdict import FailClass, Failure
from signoff.errors import ConfigError, ContractError, DocumentError, JSONError, SignoffError
from signoff.jsonvalue import shown
from signoff.sandbox.command import Runner
from signoff.scc.gate_report import report_place
from signoff.scc.store import open_registry, place_of
from signoff.scc.ulid import is_oid
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace
from signoff.strictjson import loads

__all__ = [
    "FoundContract",
    "RunRefused",
    "RunRequest",
    "broken",
    "contract_unless",
    "found_contract",
    "gate_place",
    "settings_of",
    "unusable",
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


class FoundContract(Struct, frozen=True, kw_only=True):
    """What could be found of the contract before it was read in earnest."""

    path: str
    data: bytes | None
    task_id: str
    problem: str = ""


def broken(exc: BaseException) -> Failure:
    """What a run is a FAIL for when something breaks in it."""
    why = f"{type(exc).__name__}: {shown(str(exc), 1_000)}"
    if isinstance(exc, KeyboardInterrupt):
        why = "interrupted"
    return Failure(fail_class=FailClass.VERIFIER_ERROR, exit_code=125, reason=why)


def unusable(why: str) -> Failure:
    """What a run is a FAIL for when it cannot be asked so."""
    return Failure(fail_class=FailClass.VERIFIER_ERROR, exit_code=2, reason=why)


def settings_of(workspace: Workspace) -> tuple[Settings, str]:
    """The settings in force, and what is wrong with those that are there."""
    try:
        return workspace.settings(), ""
    except (ConfigError, DocumentError, OSError) as exc:
        return Settings(), shown(str(exc), 1_000)


def found_contract(request: RunRequest) -> FoundContract:
    """The bytes of the contract, and its task_id where it has one that can be used."""
    path = request.contract
    try:
        path = _contract_path(request)
        data = request.workspace.read(path, max_bytes=LIMITS.max_bytes)
    except (PathMissing, PathUnsafe, SignoffError, OSError) as exc:
        return FoundContract(path=path, data=None, task_id="", problem=str(exc))
    try:
        value = loads(data, limits=LIMITS)
    except JSONError:
        return FoundContract(path=path, data=data, task_id="")
    task_id = value.get("task_id") if isinstance(value, dict) else None
    usable = isinstance(task_id, str) and name_fault(task_id) is None
    return FoundContract(path=path, data=data, task_id=str(task_id) if usable else "")


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


def gate_place(request: RunRequest) -> tuple[str, str]:
    """Where the gate report goes, and why not where it was asked to."""
    try:
        return report_place(request.env, request.workspace), ""
    except (DocumentError, OSError) as exc:
        return GATE_REPORT, shown(str(exc), 1_000)


def contract_unless(
    fault: Failure | None,
    request: RunRequest,
    settings: Settings,
    found: FoundContract,
    task_id: str,
) -> tuple[SccContract | None, Failure | None, tuple[str, ...]]:
    """The contract, read in earnest unless something has ended the run."""
    if fault is not None:
        return None, fault, ()
    try:
        request.on_step("contract")
        return _contract(request, settings, found, task_id)
    except (KeyboardInterrupt, Exception) as exc:  # noqa: BLE001  whatever breaks is a FAIL
        return None, broken(exc), ()


def _contract(
    request: RunRequest, settings: Settings, found: FoundContract, task_id: str
) -> tuple[SccContract | None, Failure | None, tuple[str, ...]]:
    if found.data is None:
        return None, unusable(found.problem), ()
    try:
        contract = read_contract(
            found.data, found.path, strict=request.strict, variables=settings.variables
        )
    except (ContractError, DocumentError) as exc:
        return None, unusable(shown(str(exc), 4_000)), ()
    assert contract.task_id == task_id
    return contract, None, tuple(str(fault) for fault in contract.warnings)
