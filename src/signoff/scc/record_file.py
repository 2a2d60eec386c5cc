"""The executor's record on the disk: it is about this contract, and what it names is there."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.names import STATE
from signoff.dialects.scc.record import ExecutorRecord, read_record
from signoff.dialects.scc.shape import LIMITS
from signoff.errors import ContractError, DatabaseUnusable, DocumentError
from signoff.jsonvalue import shown
from signoff.scc.registry import OidRegistry
from signoff.scc.work_refused import WorkRefused
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace

__all__ = ["RECORDS", "FoundRecord", "record_at", "record_path"]

RECORDS: Final = f"{STATE}/scc/records"
MAX_LOG_BYTES: Final = 2**30
MAX_PATCH_BYTES: Final = 64 * 2**20


class FoundRecord(Struct, frozen=True, kw_only=True):
    """
    A record whose files are there.

    Args:
        record: What it says.
        files: The record itself, the logs and the patch.
        patch: The bytes of the patch, None where the work is no patch.
    """

    record: ExecutorRecord
    files: tuple[Path, ...]
    patch: bytes | None = None


def record_path(task_id: str) -> str:
    """Where a dispatcher puts the record of a task, relative to the workspace."""
    return f"{RECORDS}/{task_id}/record.json"


def record_at(
    place: Path, *, task_id: str, contract_sha256: str, registry: OidRegistry
) -> FoundRecord:
    """
    The record at a place.

    Args:
        place: Of the record; the files that it names lie below its folder.
        task_id: Of the contract.
        contract_sha256: 64 hex digits of the contract's bytes.
        registry: Of the OIDs that it names.

    Raises:
        WorkRefused: It cannot be used, or something that it names is absent.
    """
    try:
        folder = Workspace.at(place.parent)
        data = folder.read(place.name, max_bytes=LIMITS.max_bytes)
        record = read_record(data, place.name)
    except (PathMissing, PathUnsafe, DocumentError) as exc:
        raise WorkRefused.unusable(f"record: {exc}") from exc
    except ContractError as exc:
        raise WorkRefused.unusable(f"record: {exc.faults[0].message}") from exc
    _require_own(record, task_id, contract_sha256)
    logs = [_measured(folder, "stdout_path", record.stdout_path)]
    logs.append(_measured(folder, "stderr_path", record.stderr_path))
    patch = _patch(folder, record.patch_path) if record.patch_path else None
    _require_registered(record, registry)
    named = [*logs, *([_plain(record.patch_path)] if record.patch_path else [])]
    files = tuple(folder.root / name for name in (place.name, *named))
    return FoundRecord(record=record, files=files, patch=patch)


def _require_own(record: ExecutorRecord, task_id: str, contract_sha256: str) -> None:
    if record.task_id != task_id:
        raise WorkRefused.unusable(f"record: it is about task {shown(record.task_id)}")
    if record.contract_sha256 != contract_sha256:
        raise WorkRefused.unusable(
            f"record: the contract's digest is {contract_sha256}, not {record.contract_sha256}"
        )


def _measured(folder: Workspace, name: str, path: str) -> str:
    try:
        folder.measure(_plain(path), max_bytes=MAX_LOG_BYTES)
    except (PathMissing, PathUnsafe) as exc:
        raise WorkRefused.missing(f"record: {name}: {exc}") from exc
    return _plain(path)


def _patch(folder: Workspace, path: str) -> bytes:
    try:
        return folder.read(_plain(path), max_bytes=MAX_PATCH_BYTES)
    except (PathMissing, PathUnsafe) as exc:
        raise WorkRefused.missing(f"record: patch_path: {exc}") from exc


def _require_registered(record: ExecutorRecord, registry: OidRegistry) -> None:
    named = (*record.evidence_oids, *record.touched_oids)
    try:
        known = registry.find_all(named)
    except DatabaseUnusable as exc:
        raise WorkRefused.unread(f"record: {exc}") from exc
    for oid in named:
        if oid not in known:
            raise WorkRefused.missing(f'record: OID "{shown(oid)}" is not registered')


def _plain(path: str) -> str:
    return posixpath.normpath(path)
