"""
Lock files: a locked contract as JSON, and back with its digest checked.

``{"format": "signoff-lock/1", "contract", "digest", "verifiers", "warnings"}``
"""

from __future__ import annotations

from typing import Any

import msgspec

from signoff.contract import check_lock, seal
from signoff.draft import read_draft
from signoff.errors import ContractError, Fault
from signoff.jsonvalue import JSON, json_type
from signoff.model import Contract, LockedContract

__all__ = ["FORMAT", "encode_lock", "is_lock", "read_lock"]

FORMAT = "signoff-lock/1"


class LockFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document; the contract is read by the rules of drafts."""

    format: str
    contract: Any
    digest: str
    verifiers: dict[str, str]
    warnings: tuple[str, ...] = ()


def is_lock(document: JSON) -> bool:
    """The document means to be a lock file rather than a contract."""
    return type(document) is dict and "format" in document


def encode_lock(locked: LockedContract) -> bytes:
    """The bytes of the lock file: JSON with two spaces and a final newline."""
    document = LockFile(
        format=FORMAT,
        contract=msgspec.json.decode(locked.canonical),
        digest=locked.digest,
        verifiers=locked.verifiers,
        warnings=locked.warnings,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def read_lock(document: JSON) -> LockedContract:
    """
    The locked contract in a lock file.

    Raises:
        ContractError: The document has not the form of a lock file.
        LockCorrupt: Its contract does not have its digest.
    """
    if type(document) is not dict:
        raise ContractError((Fault("", f"lock must be object, got {json_type(document)}"),))
    if document.get("format") != FORMAT:
        raise ContractError((Fault("/format", f'format must be "{FORMAT}"'),))
    try:
        read = msgspec.convert(document, LockFile)
    except msgspec.ValidationError as exc:
        raise ContractError((Fault("", f"lock file is malformed: {exc}"),)) from exc
    draft = read_draft(read.contract)
    if draft.faults:
        faults = tuple(
            Fault(f"/contract{fault.where}", fault.message, got=fault.got, known=fault.known)
            for fault in draft.faults
        )
        raise ContractError(faults)
    contract: Contract = draft.contract(tuple(criterion for _, criterion in draft.criteria))
    locked = msgspec.structs.replace(
        seal(contract, read.verifiers, read.warnings), digest=read.digest
    )
    check_lock(locked)
    return locked
