"""
Contracts in files: locked on reading, every fault with its line and column.

A file holds a contract (JSON, YAML or TOML) or is a lock file (JSON).
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from signoff.contract import lock
from signoff.document import Document, read_document
from signoff.errors import ContractError
from signoff.lockfile import is_lock, read_lock
from signoff.model import LockedContract
from signoff.registry import Registry

__all__ = ["ContractFile", "load_contract", "read_contract"]


class ContractFile(msgspec.Struct, frozen=True, kw_only=True):
    """
    What a contract file holds.

    Args:
        locked: The locked contract.
        document: The file it was read from.
        was_locked: True for a lock file, False for a contract that was locked just now.
    """

    locked: LockedContract
    document: Document
    was_locked: bool


def load_contract(path: str | os.PathLike[str], registry: Registry) -> LockedContract:
    """
    The locked contract in a file, which is a contract or a lock file.

    Raises:
        DocumentError: The file cannot be read, or is no document of its format.
        ContractError: With every fault, each with its line and column.
    """
    return read_contract(path, registry).locked


def read_contract(path: str | os.PathLike[str], registry: Registry) -> ContractFile:
    """
    The locked contract in a file, with the file and whether it was a lock file.

    Raises:
        DocumentError: The file cannot be read, or is no document of its format.
        ContractError: With every fault, each with its line and column.
    """
    document = read_document(path)
    locks = is_lock(document.value)
    try:
        locked = (
            read_lock(document.value)
            if locks
            else lock(document.value, registry, folder=Path(path).resolve().parent)
        )
    except ContractError as exc:
        placed = tuple(map(document.placed, exc.faults))
        raise type(exc)(placed, source=document.source) from exc
    return ContractFile(locked=locked, document=document, was_locked=locks)
