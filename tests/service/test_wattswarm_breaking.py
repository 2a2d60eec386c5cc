"""What breaks while a request of a WattSwarm node is judged: it never becomes a pass."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.dialects.wattswarm import checks
from tests.dialects.wattswarm.world import OUTPUT, asked, question, verifying


class Panic(BaseException):
    """As a library in another language raises it: no ``except Exception`` sees it."""


def every_check_asked() -> dict[str, tuple[Any, str]]:
    """For each check a question that would pass but for it, and the mode in which it is asked."""
    said = OUTPUT | {"check_summary": "ok", "n": 5}
    plain = question(output=said)
    limits = question(
        output=said, policy="schema_thresholds", params={"min_n": 5, "max_n": 5, "max_len": 90}
    )
    crossed = question(output=said, policy="crosscheck", params={"min_score": 0.5})
    inline = question(output=said, inline=[{"mime": "text/plain", "content": "x"}])
    return {
        "schema": (plain, "required"),
        "output_ref": (plain, "required"),
        "inline": (inline, "required"),
        "min": (limits, "required"),
        "max": (limits, "required"),
        "max_len": (limits, "off"),
        "check_summary": (crossed, "advisory"),
        "majority": (crossed, "required"),
        "min_score": (crossed, "off"),
    }


@pytest.mark.parametrize("raised", [RuntimeError, Panic, SystemExit, MemoryError, RecursionError])
@pytest.mark.parametrize("name", [*every_check_asked()])
def test_whatever_a_check_raises_is_a_failure(
    name: str, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acceptance row 23."""

    def broken(*_: object) -> Any:
        raise raised("planted")

    body, mode = every_check_asked()[name]
    handler = verifying(mode)
    assert asked(handler, body)["passed"] is True
    monkeypatch.setattr(checks, f"_{name}", broken)
    fresh = verifying(mode)
    for id_ in ("first", "the schema is known by now"):
        body["candidate"]["candidate_id"] = id_
        reply = asked(fresh, body)
        assert reply["reason_codes"] == ([101, 999] if name == "schema" else [100, 999])
        assert (reply["passed"], reply["verification_status"]) == (False, "failed")
        assert reply["score"] == 0.0
