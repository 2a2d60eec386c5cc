"""Whatever starts commands tells of them in the same words, and keeps what they printed."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.command_finding import ending, kept_text, runner_of, told
from signoff.errors import NotJudged
from signoff.evidence import MemoryStore
from signoff.model import passed
from signoff.registry import Powers
from signoff.sandbox.command import Captured, Completed, Ended, Limits
from signoff.status import Status


def completed(ended: Ended = Ended.EXITED, **fields: Any) -> Completed:
    return Completed(ended=ended, **fields)


@pytest.mark.parametrize("ended", Ended)
def test_only_what_ended_by_itself_can_hold(ended: Ended) -> None:
    found = ending(completed(ended, reason="it is so"), "make", Limits())

    if ended is Ended.EXITED:
        assert found is None
    else:
        assert found is not None
        assert not found.status.holds
        assert found.cause is not None
        assert found.cause.status is found.status
        assert found.detail


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (2**30, "killed: memory over 1 GiB"),
        (3 * 2**20, "killed: memory over 3 MiB"),
        (1536, "killed: memory over 1536 bytes"),
        (2048, "killed: memory over 2 KiB"),
    ],
)
def test_limit_is_told_in_whole_units(limit: int, text: str) -> None:
    found = ending(completed(Ended.MEMORY_LIMIT), "make", Limits(memory_bytes=limit))

    assert found is not None
    assert text == found.detail


def test_name_of_a_program_is_one_safe_line() -> None:
    found = ending(completed(Ended.NOT_FOUND), "a\nb" + "c" * 500, Limits())

    assert found is not None
    assert "\n" not in found.detail
    assert len(found.detail) < 300


def test_no_sandbox_is_an_error() -> None:
    with pytest.raises(NotJudged) as caught:
        runner_of(Powers(), "it")

    assert Status.ERROR is caught.value.finding.status
    assert "it was not given the means: a sandbox" == caught.value.finding.detail


def test_finding_says_under_what_a_command_ran_and_keeps_what_it_printed() -> None:
    store = MemoryStore()
    done = completed(
        exit_code=0,
        isolation="L2",
        missing=("no cgroup",),
        stdout=Captured(head=b"out", size=3),
        stderr=Captured(head=b"e", tail=b"r", size=100),
    )
    found = told(passed("it"), done, powers=Powers(store=store), argv=("a", "b"), facts={"x": 1})

    assert ("L2", "exit_code", ("no cgroup",)) == (found.isolation, found.assurance, found.missing)
    assert ["stdout", "stderr"] == [one.name for one in found.evidence]
    assert [b"out", b"e\n[98 bytes were not kept]\nr"] == [
        store.read(one.digest) for one in found.evidence
    ]
    assert ["a", "b"] == found.data["argv"]
    assert 98 == found.data["stderr"]["omitted"]
    assert 1 == found.data["x"]


def test_what_was_not_started_has_no_isolation() -> None:
    done = completed(Ended.NOT_FOUND, missing=("no cgroup",))
    found = told(passed("it"), done, powers=Powers(), argv=("a",))

    assert (None, None, ()) == (found.isolation, found.assurance, found.missing)
    assert () == found.evidence


def test_store_that_only_reads_keeps_nothing() -> None:
    class Reader:
        def read(self, digest: str) -> bytes:
            raise AssertionError(digest)

    found = told(passed("it"), completed(), powers=Powers(store=Reader()), argv=("a",))

    assert () == found.evidence


def test_whole_text_has_no_gap() -> None:
    assert b"ab" == kept_text(Captured(head=b"a", tail=b"b", size=2))
