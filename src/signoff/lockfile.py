"""
Lock files: a locked contract as JSON, and back with its digest checked.

``{"format": "signoff-lock/1", "contract", "digest", "verifiers", "warnings"}``
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from signoff.canonical import canonical_bytes, digest_bytes
from signoff.draft import document_of, read_draft
from signoff.errors import ContractError, Fault, LockCorrupt
from signoff.jsonvalue import JSON, json_type, shown
from signoff.model import Contract, LockedContract

__all__ = ["FORMAT", "check_lock", "encode_lock", "is_lock", "read_lock", "seal"]

FORMAT = "signoff-lock/1"


class LockFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    ``contract.lock.json``: a contract, its digest, and what it was locked against.

    Args:
        format: ``signoff-lock/1``.
        contract: The contract, held to the same rules as one that is not locked.
        digest: Digest of the contract's canonical form.
        verifiers: Each verifier's id with the name and version of what provides it.
        warnings: What a person should know, such as unknown schema keywords.
    """

    format: str
    contract: Any
    digest: str
    verifiers: dict[str, str]
    warnings: tuple[str, ...] = ()


def seal(
    contract: Contract, verifiers: dict[str, str], warnings: tuple[str, ...]
) -> LockedContract:
    """The contract with its digest; it checks nothing, ``lock`` and lock files do."""
    canonical = canonical_bytes(document_of(contract))
    return LockedContract(
        canonical=canonical,
        digest=digest_bytes(canonical),
        verifiers=dict(sorted(verifiers.items())),
        warnings=warnings,
    )


def check_lock(locked: LockedContract) -> None:
    """
    Nothing, if the locked contract has its digest.

    Raises:
        LockCorrupt: It has another.
    """
    found = digest_bytes(locked.canonical)
    if found != locked.digest:
        message = f"digest must be {found}, got {shown(str(locked.digest))}"
        raise LockCorrupt((Fault("/digest", message),))


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
        raise ContractError(
            tuple(replace(fault, where=f"/contract{fault.where}") for fault in draft.faults)
        )
    contract = draft.contract(tuple(criterion for _, criterion in draft.criteria))
    locked = replace(seal(contract, read.verifiers, read.warnings), digest=read.digest)
    check_lock(locked)
    return locked
