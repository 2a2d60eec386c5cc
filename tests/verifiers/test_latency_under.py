"""latency_under and a recorded time that is none: the record is broken, and proves nothing."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.model import Subject
from signoff.status import Cause, Status
from signoff.verifiers import STDLIB

CONTRACT = {
    "id": "c",
    "criteria": [{"id": "it", "verifier": "latency_under", "params": {"max": 5}}],
}


@pytest.mark.parametrize("elapsed_s", [nan, inf, -inf, -0.001, True, "0.001", 10**400])
def test_recorded_time_that_is_none_is_never_a_pass(elapsed_s: Any) -> None:
    subject = Subject(output={"latencyMs": 1}, elapsed_s=elapsed_s)
    finding = Engine(STDLIB).verify(lock(CONTRACT, STDLIB), subject).results[0].finding

    assert not finding.status.holds


@pytest.mark.parametrize("elapsed_s", [nan, -0.001, True, "0.001"])
def test_recorded_time_that_is_none_is_an_error(elapsed_s: Any) -> None:
    subject = Subject(output={}, elapsed_s=elapsed_s)
    finding = Engine(STDLIB).verify(lock(CONTRACT, STDLIB), subject).results[0].finding

    assert (Status.ERROR, Cause.VERIFIER_BROKE) == (finding.status, finding.cause)
    assert "Verifier threw: the recorded time is not a number of seconds" == finding.detail
