"""OIDs: their form, what is none, and that no two are alike."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from signoff.scc.ulid import is_oid, is_placeholder, mint_oid

OID = "01KGCV31W0C42YQHMVAT6FSR1H"
NOW = datetime(2026, 1, 31, tzinfo=UTC)


def test_ten_thousand_minted_at_once_are_unique_and_valid() -> None:
    minted = {mint_oid(NOW) for _ in range(10_000)}

    assert 10_000 == len(minted)
    assert all(map(is_oid, minted))
    assert 1 == len({oid[:10] for oid in minted})


def test_the_time_is_in_the_first_ten_characters() -> None:
    assert "0000000000" == mint_oid(datetime.fromtimestamp(0, UTC))[:10]
    assert mint_oid(NOW)[:10] < mint_oid(datetime(2027, 1, 1, tzinfo=UTC))[:10]


@pytest.mark.parametrize(
    "text",
    [OID.lower(), OID[:-1], OID + "0", "8" + OID[1:], "", OID + "\n", " " + OID,
     *(OID[:-1] + letter for letter in "ILOU-_é٣")],
)  # fmt: skip
def test_what_is_no_oid(text: str) -> None:
    assert not is_oid(text)


def test_the_seed_has_an_oid() -> None:
    assert is_oid(OID)
    assert is_oid("7" + "Z" * 25)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "<OID>", "<>", "MINT_WITH_SCC_OID_GENERATOR", "xMINT_WITH_SCC_OID_GENERATORx"],
)
def test_placeholders(text: str) -> None:
    assert is_placeholder(text)


def test_an_oid_is_no_placeholder() -> None:
    assert not is_placeholder(OID)
    assert not is_placeholder("<x")
