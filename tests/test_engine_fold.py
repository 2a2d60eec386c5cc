"""The vectors of the fold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.engine import judge
from signoff.model import Criterion, Finding, Result
from signoff.status import Cause, Status

FILE = Path(__file__).parent.parent / "conformance" / "fold.json"
STATUS = {status.value: status for status in Status}
CAUSE = {cause.value: cause for cause in Cause}
CASES = msgspec.json.decode(FILE.read_bytes())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["description"])
def test_vector_holds(case: dict[str, Any]) -> None:
    criteria = [Criterion(verifier="v", **criterion) for criterion in case["criteria"]]
    results = [
        Result(
            criterion=result["criterion"],
            finding=Finding(
                status=STATUS[result["status"]],
                detail="",
                cause=CAUSE[result["cause"]] if "cause" in result else None,
            ),
        )
        for result in case["results"]
    ]

    assert case["expect"] == msgspec.to_builtins(judge(criteria, results)) | {
        "blockers": list(judge(criteria, results).blockers)
    }


def test_vectors_reach_every_status() -> None:
    reached = {result["status"] for case in CASES for result in case["results"]}

    assert {status.value for status in Status} == reached
