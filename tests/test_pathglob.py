"""Globs over paths: what they mean is in conformance/globs.json; here is how they refuse and how fast."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from signoff.pathglob import folded_path, parse_glob
from signoff.strictjson import loads

FILE = Path(__file__).parent.parent / "conformance" / "globs.json"


def document() -> dict[str, Any]:
    found: Any = loads(FILE.read_bytes())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("case", document()["matching"], ids=lambda case: str(case["glob"]))
def test_matching_vector_holds(case: dict[str, Any]) -> None:
    glob = parse_glob(case["glob"])

    assert case["matches"] == [path for path in case["matches"] if glob.matches(path)]
    assert [] == [path for path in case["differs"] if glob.matches(path)]


@pytest.mark.parametrize("case", document()["folded"], ids=lambda case: str(case["glob"]))
def test_folded_vector_holds(case: dict[str, Any]) -> None:
    glob = parse_glob(case["glob"])

    def matches(path: str) -> bool:
        return glob.matches_folded(folded_path(path))

    assert case["matches"] == [path for path in case["matches"] if matches(path)]
    assert [] == [path for path in case["differs"] if matches(path)]


@pytest.mark.parametrize("case", document()["refused"], ids=lambda case: repr(case["glob"]))
def test_refused_vector_is_refused_with_its_reason(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r'^"') as caught:
        parse_glob(case["glob"])

    assert case["reason"] == str(caught.value)


def test_glob_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 4096 characters"):
        parse_glob("a" * 4_097)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*a" * 2_000 + "b", "a" * 4_000),
        ("**/a/" * 700 + "b", "a/" * 2_000 + "c"),
        ("**/*a*a*a*a*a*a*a*a*b/" * 40 + "x", ("a" * 50 + "/") * 60),
    ],
    ids=["stars", "double stars", "both"],
)
def test_no_glob_is_slow(glob: str, path: str) -> None:
    started = monotonic()

    assert not parse_glob(glob).matches(path)
    assert monotonic() - started < 10
