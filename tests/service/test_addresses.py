"""Acceptance row 13: which addresses may be connected to, by the vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff.service.addresses import address_of, may_be_reached, network_of
from signoff.strictjson import loads

FILE = Path(__file__).resolve().parents[2] / "conformance" / "evidence" / "addresses.json"
VECTORS: Any = loads(FILE.read_bytes())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["description"]))
def test_address_is_reached_or_not(case: dict[str, Any]) -> None:
    """Acceptance row 13."""
    networks = [network_of(text) for text in case.get("networks", [])]

    assert case["reachable"] is may_be_reached(address_of(case["address"]), networks)


@pytest.mark.parametrize("case", VECTORS["networks"], ids=lambda case: repr(case["text"]))
def test_network_is_read_or_refused(case: dict[str, Any]) -> None:
    if case["network"] is not None:
        assert case["network"] == str(network_of(case["text"]))
        return
    with pytest.raises(ValueError, match=r"is no network|bits beyond its prefix"):
        network_of(case["text"])


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(ValueError, match="does not appear"):
        address_of("localhost")
