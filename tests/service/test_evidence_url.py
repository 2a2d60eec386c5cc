"""Acceptance row 13: what a stranger's URL asks for, and which rule allows it, by the vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.service.evidence_url import allowing, host_rule, place_of, rest_below
from signoff.strictjson import loads

FILE = Path(__file__).resolve().parents[2] / "conformance" / "evidence" / "urls.json"
VECTORS: Any = loads(FILE.read_bytes())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["description"]))
def test_url_is_read_and_allowed_or_not(case: dict[str, Any]) -> None:
    """Acceptance row 13."""
    if case["place"] is None:
        with pytest.raises(ValueError, match=r"^(the uri|the host|the port)") as caught:
            place_of(case["uri"])
        assert len(str(caught.value)) < 200
        return
    place = place_of(case["uri"])
    rule = allowing(place, [host_rule(text) for text in case["hosts"]])

    assert case["place"] == msgspec.to_builtins(place)
    assert case["by"] == (None if rule is None else str(rule))


@pytest.mark.parametrize("case", VECTORS["rules"], ids=lambda case: repr(case["text"]))
def test_rule_is_read_or_refused(case: dict[str, Any]) -> None:
    if case["rule"] is not None:
        assert case["rule"] == str(host_rule(case["text"]))
        return
    with pytest.raises(ValueError, match=r"^(\*|'|the )"):
        host_rule(case["text"])


@pytest.mark.parametrize(
    ("base", "url", "expected"),
    [
        ("http://h:1", "http://h:1/evidence/x", "evidence/x"),
        ("http://h:1/", "http://H:1/evidence/x?y#z", "evidence/x"),
        ("https://h/a", "https://h/a/evidence/x", "evidence/x"),
        ("https://h/a", "https://h:443/a/", ""),
        ("https://h/a", "https://h/a", None),
        ("https://h/a", "https://h/ab/evidence/x", None),
        ("https://h/a", "https://h/evidence/x", None),
        ("https://h", "http://h/evidence/x", None),
        ("https://h", "https://h:444/evidence/x", None),
        ("https://h", "https://i/evidence/x", None),
    ],
)
def test_what_is_below_a_base(base: str, url: str, expected: str | None) -> None:
    assert expected == rest_below(place_of(base), place_of(url))
