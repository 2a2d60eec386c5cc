"""The record of an executor that has run: its outputs are files, each with an OID."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from signal import Signals
from typing import Final

from msgspec import Struct

from signoff.command_finding import kept_text
from signoff.dialects.scc.record import ExecutorRecord, encode_record
from signoff.model import Isolation
from signoff.sandbox.command import Completed, Ended
from signoff.scc.change_set import printable
from signoff.scc.checks import LIVE
from signoff.scc.oid_object import NewObject
from signoff.scc.record_file import RECORDS, record_path
from signoff.scc.registry import OidRegistry
from signoff.scc.told_work import Told
from signoff.scc.workspace import Workspace

__all__ = ["Executed", "Execution", "recorded"]

UNIT: Final = "X.DISPATCH"
PATCH: Final = "work.diff"
TIMED_OUT: Final = 124


class Execution(Struct, frozen=True, kw_only=True):
    """
    An executor that has run.

    Args:
        task_id: Of the contract.
        executor_run_id: Name of what it did.
        contract_ref: The contract as it was asked for.
        contract_sha256: 64 hex digits of its bytes.
        repo: The repository, as the contract names it.
        base: The commit that it was given.
        completed: How it ended.
        told: What it left.
    """

    task_id: str
    executor_run_id: str
    contract_ref: str
    contract_sha256: str
    repo: str
    base: str
    completed: Completed
    told: Told


class Executed(Struct, frozen=True, kw_only=True):
    """
    What became of an executor.

    Args:
        ok: It ended by itself with 0 and broke no rule.
        task_id: Of the contract.
        executor_run_id: Name of what it did.
        exit_code: How it ended.
        reason: What was wrong, ``""`` for nothing.
        base_commit: That it was given.
        record: Where the record is, relative to the workspace.
        patch: Where its patch is, ``""`` where it changed nothing.
        touched: The paths that it changed.
        ignored: How many files it left that version control ignores; they are not taken along.
        isolation: Level under which it ran.
        missing: What the level should give and this machine does not.
    """

    ok: bool
    task_id: str
    executor_run_id: str
    exit_code: int
    reason: str
    base_commit: str
    record: str
    patch: str
    touched: tuple[str, ...]
    ignored: int
    isolation: Isolation | None
    missing: tuple[str, ...]


def recorded(execution: Execution, workspace: Workspace, registry: OidRegistry) -> Executed:
    """
    What became of an executor, all of it written; the record is what is written last.

    Raises:
        DatabaseUnusable: The outputs cannot be registered.
        RegistryRefused: Likewise.
        OSError: They cannot be written.
    """
    told, completed = execution.told, execution.completed
    files = {
        "stdout.txt": kept_text(completed.stdout),
        "stderr.txt": kept_text(completed.stderr),
        **({PATCH: told.patch} if told.patch else {}),
    }
    oids = _registered(execution, files, registry)
    folder = f"{RECORDS}/{execution.task_id}/{execution.executor_run_id}"
    for name, data in files.items():
        workspace.write(f"{folder}/{name}", data)
    touched = {*told.touched}
    touched_oids = tuple(oid for path, oid in registry.active_paths() if path in touched)
    record = _record(execution, oids, touched_oids)
    place = record_path(execution.task_id)
    workspace.write(place, encode_record(record))
    reason = told.problem or _odd_end(completed)
    return Executed(
        ok=not reason,
        task_id=execution.task_id,
        executor_run_id=execution.executor_run_id,
        exit_code=record.exit_code,
        reason=reason,
        base_commit=execution.base,
        record=place,
        patch=f"{folder}/{PATCH}" if told.patch else "",
        touched=tuple(map(printable, told.touched)),
        ignored=told.ignored,
        isolation=completed.isolation,
        # The checkout is nobody's: it is not the workspace that it worked in.
        missing=tuple(text for text in completed.missing if text != LIVE),
    )


def _record(
    execution: Execution, oids: tuple[str, ...], touched_oids: tuple[str, ...]
) -> ExecutorRecord:
    run_id, patch = execution.executor_run_id, execution.told.patch
    return ExecutorRecord(
        task_id=execution.task_id,
        executor_run_id=run_id,
        contract_ref=execution.contract_ref,
        contract_sha256=execution.contract_sha256,
        repo=execution.repo,
        base=execution.base,
        patch_path=f"{run_id}/{PATCH}" if patch else "",
        no_changes=not patch,
        stdout_path=f"{run_id}/stdout.txt",
        stderr_path=f"{run_id}/stderr.txt",
        exit_code=_exit_code(execution.completed),
        evidence_oids=oids,
        touched_oids=touched_oids,
    )


def _registered(
    execution: Execution, files: Mapping[str, bytes], registry: OidRegistry
) -> tuple[str, ...]:
    """The OIDs of the files; the record has one too, which it cannot name itself."""
    task_id, run_id = execution.task_id, execution.executor_run_id
    new = [
        NewObject(
            path=f"{RECORDS}/{task_id}/{run_id}/{name}",
            kind="patch" if name == PATCH else "log",
            layer="REPORT",
            primary_unit=UNIT,
            sha256=sha256(data).hexdigest(),
            stable_key=f"executor:{task_id}:{run_id}:{name}",
        )
        for name, data in files.items()
    ]
    record = NewObject(
        path=record_path(task_id),
        kind="record",
        layer="REPORT",
        primary_unit=UNIT,
        stable_key=f"executor:{task_id}:record",
    )
    issued = registry.issue_all((*new, record))
    return tuple(one.oid for one in issued[:-1])


def _exit_code(completed: Completed) -> int:
    if completed.ended is Ended.TIMED_OUT:
        return TIMED_OUT
    if completed.ended is Ended.EXITED and completed.exit_code is not None:
        return completed.exit_code
    signal = Signals.__members__.get(completed.signal or "")
    return 128 + signal if signal is not None else 1


def _odd_end(completed: Completed) -> str:
    """What was wrong with how it ended, nothing if nothing was."""
    if completed.ended is Ended.EXITED:
        code = completed.exit_code
        return f"the executor ended with {code}" if code else ""
    if completed.ended is Ended.SIGNALED:
        return f"the executor was ended by {completed.signal}"
    return f"the executor was stopped: {completed.ended.value.replace('_', ' ')}"
