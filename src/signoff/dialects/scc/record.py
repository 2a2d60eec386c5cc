"""
The executor's record: what was done, from which commit on, and where the logs are.

It is one closed object.  Whether the files, commits and OIDs that it names exist
is for its reader to find out.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Struct

from signoff.dialects.scc.names import name_fault
from signoff.dialects.scc.shape import LIMITS, VERSION, Object, Shape
from signoff.document import parse_document
from signoff.errors import ContractError
from signoff.jsonvalue import shown

__all__ = ["ExecutorRecord", "encode_record", "read_record"]

_CHANGES: Final = ("patch_path", "commit_ref", "no_changes")
_FIELDS: Final = (
    "schema_version", "task_id", "executor_run_id", "contract_ref", "contract_sha256",
    "workspace_ref", *_CHANGES, "stdout_path", "stderr_path", "exit_code", "evidence_oids",
    "touched_oids",
)  # fmt: skip
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SHA256: Final = re.compile(r"(?:sha256:)?[0-9a-f]{64}")
_OUTSIDE: Final = re.compile(r"^/|^[A-Za-z]:|[\x00\\]|(?:^|/)\.\.(?:/|$)")


class ExecutorRecord(Struct, frozen=True, kw_only=True):
    """
    What an executor did.

    Args:
        task_id: Of the contract.
        executor_run_id: Its own name for what it did.
        contract_ref: Path or OID of the contract.
        contract_sha256: 64 hex digits, of the contract's bytes.
        repo: The repository.
        base: The commit before the work.
        patch_path: The work as a unified diff, relative to the record's folder; ``""`` for none.
        commit_ref: The work as a commit, ``""`` for none.
        no_changes: It changed nothing.
        stdout_path: What it printed, relative to the record's folder.
        stderr_path: Likewise.
        exit_code: How it ended; does not decide.
        evidence_oids: Logs, diffs and reports.
        touched_oids: Objects that it changed.
    """

    task_id: str
    executor_run_id: str
    contract_ref: str
    contract_sha256: str
    repo: str
    base: str
    patch_path: str = ""
    commit_ref: str = ""
    no_changes: bool = False
    stdout_path: str
    stderr_path: str
    exit_code: int
    evidence_oids: tuple[str, ...] = ()
    touched_oids: tuple[str, ...] = ()


def read_record(data: bytes, source: str) -> ExecutorRecord:
    """
    The record in the bytes of a file.

    Raises:
        TextError: It is not strict JSON.
        ContractError: With every fault, each with its line and column.
    """
    document = parse_document(data, source, limits=LIMITS, format="json")
    shape = Shape()
    record = _record(shape.whole(document.value, "record"), shape)
    if shape.faults:
        raise ContractError(tuple(map(document.placed, shape.faults)), source=document.source)
    return record


def encode_record(record: ExecutorRecord) -> bytes:
    """The bytes of a record."""
    fields = msgspec.structs.asdict(record)
    document = {"schema_version": VERSION, **fields}
    document["workspace_ref"] = {"repo": document.pop("repo"), "commit": document.pop("base")}
    for name in _CHANGES:
        if not document[name]:
            del document[name]
    ordered = {name: document[name] for name in _FIELDS if name in document}
    return msgspec.json.format(msgspec.json.encode(ordered), indent=2) + b"\n"


def _record(document: Object, shape: Shape) -> ExecutorRecord:
    shape.closed(document, "", _FIELDS, "a record")
    shape.version(document)
    place = shape.object(document, "workspace_ref")
    shape.closed(place, "/workspace_ref", ("repo", "commit"), "workspace_ref")
    patch, commit, unchanged = _changes(document, shape)
    return ExecutorRecord(
        task_id=_name(document, "task_id", shape),
        executor_run_id=_name(document, "executor_run_id", shape),
        contract_ref=shape.text(document, "contract_ref", filled=True),
        contract_sha256=shape.matching(
            document, "contract_sha256", "", pattern=_SHA256, says="64 lower-case hex digits"
        ).removeprefix("sha256:"),
        repo=shape.text(place, "repo", "/workspace_ref", filled=True) if place else "",
        base=_commit(place, "commit", "/workspace_ref", shape) if place else "",
        patch_path=patch,
        commit_ref=commit,
        no_changes=unchanged,
        stdout_path=_path(document, "stdout_path", shape),
        stderr_path=_path(document, "stderr_path", shape),
        exit_code=shape.integer(document, "exit_code"),
        evidence_oids=shape.texts(document, "evidence_oids"),
        touched_oids=shape.texts(document, "touched_oids"),
    )


def _changes(document: Object, shape: Shape) -> tuple[str, str, bool]:
    """Exactly one way to say what was changed."""
    given = [name for name in _CHANGES if name in document]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        shape.fault("", f"exactly one of {', '.join(_CHANGES)} is required, got {got}")
    unchanged = "no_changes" in document
    if unchanged and document["no_changes"] is not True:
        shape.fault("/no_changes", "no_changes must be true")
    patch = _path(document, "patch_path", shape) if "patch_path" in document else ""
    commit = _commit(document, "commit_ref", "", shape) if "commit_ref" in document else ""
    return patch, commit, unchanged


def _name(document: Object, name: str, shape: Shape) -> str:
    text = shape.text(document, name)
    fault = name_fault(text) if isinstance(document.get(name), str) else None
    if fault is not None:
        shape.fault(f"/{name}", f"{name} {fault}")
    return text


def _path(document: Object, name: str, shape: Shape) -> str:
    text = shape.text(document, name, filled=True)
    if _OUTSIDE.search(text):
        shape.fault(f"/{name}", f'{name} "{shown(text)}" is no path below the folder of the record')
    return text


def _commit(value: Object, name: str, where: str, shape: Shape) -> str:
    return shape.matching(value, name, where, pattern=_COMMIT, says="40 lower-case hex digits")
