"""A lock file reads back as what was locked, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from signoff.canonical import digest
from signoff.contract import lock
from signoff.errors import ContractError, LockCorrupt
from signoff.lockfile import check_lock, encode_lock, is_lock, read_lock
from signoff.model import LockedContract
from signoff.verifiers import STDLIB

CONTRACT: Any = {
    "id": "c",
    "criteria": [{"id": "it", "verifier": "equals", "params": {"value": {"b": 1.0, "a": "ü"}}}],
}


@pytest.fixture
def locked() -> LockedContract:
    return lock(CONTRACT, STDLIB)


@pytest.fixture
def document(locked: LockedContract) -> Any:
    return msgspec.json.decode(encode_lock(locked))


def test_lock_file_reads_back(locked: LockedContract, document: Any) -> None:
    assert locked == read_lock(document)
    assert is_lock(document)
    assert not is_lock(CONTRACT)


@pytest.mark.parametrize(
    "change",
    [
        lambda contract: contract.update(id="other"),
        lambda contract: contract["criteria"][0]["params"].update(value=1),
        lambda contract: contract["criteria"].append({"id": "more", "verifier": "not_empty"}),
    ],
)
def test_contract_that_was_changed_after_locking_is_corrupt(
    document: Any, change: Callable[[Any], Any]
) -> None:
    change(document["contract"])

    with pytest.raises(LockCorrupt, match="digest must be sha256:"):
        read_lock(document)


def test_digest_of_another_contract_is_corrupt(document: Any) -> None:
    with pytest.raises(LockCorrupt):
        read_lock(document | {"digest": digest("another")})


def test_locked_contract_that_was_made_up_is_corrupt(locked: LockedContract) -> None:
    with pytest.raises(LockCorrupt):
        check_lock(msgspec.structs.replace(locked, canonical=b"{}"))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"format": "signoff-lock/2"}, "/format"),
        ({"format": None}, "/format"),
        ({"odd": 1}, ""),
        ({"digest": 5}, ""),
        ({"verifiers": []}, ""),
        ({"warnings": "text"}, ""),
        ({"contract": []}, "/contract"),
        ({"contract": {"id": "c", "criteria": []}}, "/contract/criteria"),
    ],
)
def test_lock_file_of_another_form_is_refused(document: Any, change: Any, where: str) -> None:
    with pytest.raises(ContractError) as caught:
        read_lock(document | change)

    assert [where] == [fault.where for fault in caught.value.faults]
    assert LockCorrupt is not type(caught.value)


def test_lock_file_is_an_object() -> None:
    with pytest.raises(ContractError, match="lock must be object, got array"):
        read_lock([])
