"""The kernel's own reading of a schema."""

from __future__ import annotations

from typing import Any

from signoff.dialects.wattswarm.jsonform import canonical, loads
from signoff.dialects.wattswarm.minimal import compile_minimal
from tests.dialects.wattswarm.world import cases


@cases("minimal")
def test_the_minimal_reading_accepts_or_refuses(case: dict[str, Any]) -> None:
    """Acceptance row 7."""
    text = case["output_text"].encode() if "output_text" in case else canonical(case["output"])
    told = compile_minimal(case["schema"])(loads(text))
    assert (told is None) is case["accepts"]


def test_what_it_tells_is_short() -> None:
    told = compile_minimal({"required": ["x" * 10_000]})({})
    assert told is not None
    assert len(told) < 300
