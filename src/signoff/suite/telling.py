"""The finding of a run of tests, with all that is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import asdict, replace

from signoff.command_finding import ending, process_count, told
from signoff.jsonvalue import JSON, shown
from signoff.junit_report import Counts
from signoff.model import Assurance, Evidence, Finding
from signoff.registry import Powers
from signoff.sandbox.command import Completed, Limits
from signoff.suite.failure import Failure
from signoff.suite.judging import ENDINGS, Problem

__all__ = ["Written", "finding_with", "last_words", "not_ended", "processes_left"]


@runtime_checkable
class _Keeper(Protocol):
    """A store of evidence that keeps what it is given."""

    def put(self, data: bytes, *, media_type: str = ..., name: str = ...) -> Evidence: ...


class Written(Struct, frozen=True, kw_only=True):
    """
    What a run left besides its exit code.

    Args:
        data: Bytes of the report, None when there is none.
        counts: What they come to, None when they cannot be read.
        assurance: What the report is worth.
        facts: Further facts for ``data``.
    """

    data: bytes | None = None
    counts: Counts | None = None
    assurance: Assurance = "report"
    facts: Mapping[str, JSON] = {}


def not_ended(done: Completed, program: str, limits: Limits) -> Finding | None:
    """Why a run that did not end by itself does not do; None for one that did."""
    found = ending(done, program, limits)
    if found is None:
        return None
    failure = ENDINGS[done.ended]
    data = {"failure_class": failure.value}
    return replace(found, detail=f"{failure.value}: {found.detail}", data=data)


def processes_left(done: Completed) -> Problem | None:
    """That a run left processes behind; they are killed by then."""
    left = process_count(done)
    return Problem(failure=Failure.LEFT_PROCESSES, detail=left) if left else None


def finding_with(
    found: Finding, done: Completed, written: Written, *, powers: Powers, argv: tuple[str, ...]
) -> Finding:
    """The finding with its command, its counts and its evidence."""
    facts: dict[str, Any] = dict(found.data or {}) | dict(written.facts)
    if written.counts is not None:
        facts["counts"] = asdict(written.counts)
    kept = _kept(powers, written.data)
    return told(
        replace(found, evidence=kept, data=None),
        done,
        powers=powers,
        argv=argv,
        assurance="exit_code" if written.counts is None else written.assurance,
        facts=facts,
    )


def last_words(done: Completed) -> str:
    """The last line that a command printed, on standard error if there is one, cut short."""
    for captured in (done.stderr, done.stdout):
        lines = (captured.head + captured.tail).decode("utf-8", "replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        if said:
            return shown(said[-1])
    return "it printed nothing"


def _kept(powers: Powers, data: bytes | None) -> tuple[Evidence, ...]:
    if data is None or not isinstance(powers.store, _Keeper):
        return ()
    return (powers.store.put(data, media_type="application/xml", name="report.xml"),)
