"""
The nouns: contract, subject, evidence, finding, result, verdict, report.

All are frozen, keyword-only ``msgspec.Struct``s, so that they encode and decode
the native JSON by themselves.  Constructing one validates nothing; decoding
does.  A finding is what a check says; a result says which criterion it answers.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType

from signoff.canonical import digest, digest_bytes
from signoff.errors import JSONError, NotJudged, VerdictError
from signoff.jsonvalue import JSON, MISSING, find, parse_pointer, resolve, shown
from signoff.status import Cause, Outcome, Status
from signoff.strictjson import Limits, loads_canonical

__all__ = [
    "ASSURANCES",
    "Assurance",
    "Contract",
    "Criterion",
    "Evidence",
    "Finding",
    "Isolation",
    "LockedContract",
    "Report",
    "Result",
    "Subject",
    "ToolCall",
    "Verdict",
    "failed",
    "held",
    "inconclusive",
    "passed",
    "skipped",
    "warned",
]

DEFAULT_LIMITS = Limits()
Isolation = Literal["L0", "L1", "L2", "L3"]
Assurance = Literal["exit_code", "report", "report+canaries"]
ASSURANCES: tuple[Assurance, ...] = get_args(Assurance)
"""What shows that a command did what it was to do, weakest first."""


class Criterion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    One thing that must hold.

    Args:
        id: Unique within its contract.
        verifier: Id of a registered verifier.
        params: The verifier's parameters, bound when the contract is locked.
        description: What it means, for people.
        required: False makes it advisory: reported, never deciding.
    """

    id: str
    verifier: str
    params: dict[str, Any] = {}
    description: str = ""
    required: bool = True


class Contract(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    Criteria that were agreed before the work; ``lock`` makes them binding.

    Args:
        id: Name of the contract.
        criteria: What must hold, in the order of the report.
        title: What it is about, for people.
        min_isolation: Lowest isolation level for checks that start commands.
    """

    id: str
    criteria: tuple[Criterion, ...]
    title: str = ""
    min_isolation: Isolation | None = None


class LockedContract(Struct, frozen=True, kw_only=True):
    """
    A contract that could fail, bound to its verifiers and fixed by its digest.

    Comes only from ``lock`` or from a lock file.  It keeps the canonical bytes
    and decodes them afresh, so nobody can change what was locked through it.

    Args:
        canonical: RFC 8785 bytes of the contract.
        digest: ``sha256:`` and the hex digest of those bytes.
        verifiers: Each verifier's id with the name and version of what provides it.
        warnings: What a person should know, such as unknown schema keywords.
    """

    canonical: bytes
    digest: str
    verifiers: dict[str, str]
    warnings: tuple[str, ...] = ()

    @property
    def contract(self) -> Contract:
        """A fresh copy of the contract."""
        return _CONTRACT.decode(self.canonical)


_CONTRACT = msgspec.json.Decoder(Contract)


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    Bytes that were kept, by digest.

    Args:
        digest: ``sha256:`` and the hex digest of the bytes.
        size: Number of bytes.
        media_type: RFC 9110 media type.
        name: What it was called when it was recorded.
    """

    digest: str
    size: int
    media_type: str = "application/octet-stream"
    name: str = ""


class ToolCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    One recorded call of a tool, in the order of the calls.

    Args:
        name: The tool's name.
        status: The status the tool reported, as it stands.
    """

    name: str
    status: Any = None


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    What a check says about a subject.

    Args:
        status: Whether it holds.
        detail: The measured value or the problem, in one line.
        at: RFC 6901 pointer into the whole output, ``""`` for all of it; None when
            the finding is not about a place in the output.
        score: A finite number, or None.
        cause: Why it could not be established, where that is so.
        evidence: What backs the finding.
        data: Further facts as JSON.
        isolation: Level under which a command ran for it; None when none was started.
        assurance: What shows that the command did what it was to do, likewise.
        missing: What that level should give and the machine does not, a sentence each.
    """

    status: Status
    detail: str
    at: str | None = None
    score: float | None = None
    cause: Cause | None = None
    evidence: tuple[Evidence, ...] = ()
    data: Any = None
    isolation: Isolation | None = None
    assurance: Assurance | None = None
    missing: tuple[str, ...] = ()


def passed(detail: str) -> Finding:
    """The claim holds."""
    return Finding(status=Status.PASS, detail=detail)


def warned(detail: str, *, at: str | None = None) -> Finding:
    """The claim holds, and a person should look."""
    return Finding(status=Status.WARN, detail=detail, at=at)


def held(detail: str, *, items: int) -> Finding:
    """A claim about every item holds; of no items at all it holds with a warning."""
    return passed(detail) if items else warned(f"{detail} (0 items)")


def failed(detail: str, *, at: str | None = None, cause: Cause | None = None) -> Finding:
    """The claim does not hold."""
    return Finding(status=Status.FAIL, detail=detail, at=at, cause=cause)


def inconclusive(detail: str, cause: Cause) -> Finding:
    """It could not be found out whether the claim holds."""
    return Finding(status=Status.INCONCLUSIVE, detail=detail, cause=cause)


def skipped(detail: str) -> Finding:
    """Deliberately not run; never a pass."""
    return Finding(status=Status.SKIPPED, detail=detail)


class Subject(Struct, frozen=True, kw_only=True):
    """
    What is judged: an output and the recorded facts about how it came to be.

    A fact that was not recorded is None (``UNSET`` for the output, since null is a
    value); a check that needs it answers inconclusive, cause NOT_RECORDED.

    Args:
        output: The output as a JSON value; checks must not change it.
        input: What the work was given.
        elapsed_s: Seconds the work took.
        exit_code: Exit code of the work.
        tools: The calls of tools, in order; ``()`` when there were none.
        evidence: Evidence recorded with the work.
        workspace: Folder the work was done in.
        base: Commit that the work started from.
        output_digest: Digest of the output's canonical form where it is known already.
        output_fault: Why the output's bytes are no JSON; every criterion then fails.
        output_depth: Levels that the output has at most, where that is known: its arrays and
            objects stand in each other no more often.
    """

    output: Any = UNSET
    input: Any = None
    elapsed_s: float | None = None
    exit_code: int | None = None
    tools: tuple[ToolCall, ...] | None = None
    evidence: tuple[Evidence, ...] | None = None
    workspace: str | None = None
    base: str | None = None
    output_digest: str | None = None
    output_fault: str | None = None
    output_depth: int | None = None

    @classmethod
    def from_json(
        cls, data: bytes | str, *, limits: Limits = DEFAULT_LIMITS, **facts: Any
    ) -> Subject:
        """
        The subject whose output is a strict JSON text; never raises for what the text holds.

        A text that is not strict JSON gives a subject with ``output_fault``, whose
        criteria all fail with cause BAD_OUTPUT: it is the work that is wrong.

        Args:
            data: UTF-8 bytes or text.
            limits: Caps on size, depth and digits.
            facts: Any other field of ``Subject``.
        """
        try:
            output, canonical = loads_canonical(data, limits=limits)
        except JSONError as exc:
            raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
            return cls(output_fault=str(exc), output_digest=digest_bytes(raw), **facts)
        return cls(
            output=output,
            output_digest=digest_bytes(canonical),
            output_depth=limits.max_depth,
            **facts,
        )

    def digest(self) -> str | None:
        """Digest of the output's canonical form, or of its bytes when they are no JSON."""
        if self.output_digest is not None or isinstance(self.output, UnsetType):
            return self.output_digest
        return digest(self.output)

    def value(self, path: str = "") -> JSON:
        """
        The value at an RFC 6901 pointer into the output.

        Raises:
            NotJudged: There is no such place, or no output was recorded.
        """
        if isinstance(self.output, UnsetType):
            raise NotJudged(inconclusive("No output was recorded.", Cause.NOT_RECORDED))
        if not path:
            return self.output  # type: ignore[no-any-return]  # the output is JSON by contract
        value = find(self.output, parse_pointer(path))
        if value is MISSING:
            _, prefix = resolve(self.output, parse_pointer(path))
            raise NotJudged(failed(f'Path "{shown(path)}" not found.', at=prefix))
        return value

    def array(self, path: str = "") -> list[JSON]:
        """
        The array at an RFC 6901 pointer into the output.

        Raises:
            NotJudged: There is no such place, it holds no array, or no output was recorded.
        """
        items = self.value(path)
        if type(items) is not list:
            raise NotJudged(failed("Output is not an array.", at=path))
        return items


class Result(Struct, frozen=True, kw_only=True):
    """
    The answer to one criterion.

    Args:
        criterion: The criterion's id.
        finding: What the check said, or what the engine says of the check.
        elapsed_s: Seconds the check took, by the monotonic clock.
    """

    criterion: str
    finding: Finding
    elapsed_s: float = 0.0


class Verdict(Struct, frozen=True, kw_only=True):
    """
    What a contract comes to.

    Args:
        outcome: Passed, inconclusive or failed.
        cause: Cause of the first of the worst blockers, or None.
        blockers: Ids of the required criteria that do not hold, in contract order.
    """

    outcome: Outcome
    cause: Cause | None = None
    blockers: tuple[str, ...] = ()


class Report(Struct, frozen=True, kw_only=True):
    """
    Everything that was found out about one subject under one contract.

    Args:
        contract_id: Id of the contract.
        contract_digest: Digest of the locked contract.
        output_digest: Digest of the output's canonical form; None without output.
        results: One result for each criterion, in contract order.
        verdict: What the required ones come to.
        started: Wall-clock time of the start, UTC; orders nothing.
        elapsed_s: Seconds it took, by the monotonic clock.
        engines: Names and versions of the programs that decided.
        isolation: Lowest level under which a command ran; None when none was started.
        assurance: Weakest of what shows that the commands did what they were to do, likewise.
        missing: What those levels should give and the machine does not, a sentence each.
        weakened: Everything that was made less strict.
        warnings: What a person should know.
    """

    contract_id: str
    contract_digest: str
    output_digest: str | None
    results: tuple[Result, ...]
    verdict: Verdict
    started: datetime
    elapsed_s: float
    engines: dict[str, str]
    isolation: Isolation | None = None
    assurance: Assurance | None = None
    missing: tuple[str, ...] = ()
    weakened: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True only if the outcome is passed."""
        return self.verdict.outcome is Outcome.PASSED

    def result(self, criterion: str) -> Result:
        """The result of a criterion; ``KeyError`` when the contract has none of that id."""
        for result in self.results:
            if result.criterion == criterion:
                return result
        raise KeyError(criterion)

    def raise_for_verdict(self) -> Report:
        """
        This report, if the verdict is a pass.

        Raises:
            VerdictError: The verdict is not a pass; it carries this report.
        """
        if self.passed:
            return self
        found = (f"{id_} ({self.result(id_).finding.detail})" for id_ in self.verdict.blockers)
        blockers = "; ".join(found) or "no criterion was judged"
        raise VerdictError(f"{self.contract_id}: {self.verdict.outcome.value}: {blockers}", self)
