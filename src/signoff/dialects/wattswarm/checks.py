"""
The checks of the dialect: each answers for one criterion about a request's facts.

A subject carries the facts as its input, so that what several checks want to know
is found out once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from signoff._version import __version__
from signoff.dialects.wattswarm.evidence import (
    NO_DIGEST,
    inline_fault,
    is_digest,
    output_ref_fault,
    reference_of,
)
from signoff.dialects.wattswarm.facts import Facts
from signoff.dialects.wattswarm.policies import Form
from signoff.dialects.wattswarm.schema import SchemaUnusable
from signoff.guard import broken
from signoff.jsonvalue import number_text, shown
from signoff.model import Finding, Subject, failed, inconclusive, passed
from signoff.registry import Check, Registry, Verifier
from signoff.status import Cause

__all__ = ["registry"]

_OUTPUT: Final = passed("The output is in the request.")
_SCHEMA: Final = passed("The output conforms to output_schema.")
_OUTPUT_REF: Final = passed("output_ref names the output.")
_INLINE: Final = passed("The evidence is what a kernel admits.")
_SUMMARY: Final = passed("check_summary is not blank.")
_NOT_ASKED: Final = passed("Peers are asked instead.")
_ALONE: Final = passed("No peers in the evidence.")
_FETCHED: Final = passed("The bytes have the digest and the length.")

Params = Mapping[str, Any]
Judge = Callable[[Facts, Params], Finding]


def registry() -> Registry:
    """The verifiers of this dialect; their checks are for subjects of this dialect alone."""
    return Registry(
        [
            _verifier("wattswarm_output", _output, "The output is there to be judged."),
            _verifier("wattswarm_schema", _schema, "The output conforms to output_schema."),
            _verifier("wattswarm_min", _min, "A number of the output is not below a limit."),
            _verifier("wattswarm_max", _max, "A number of the output is not above a limit."),
            _verifier("wattswarm_max_len", _max_len, "The output is not longer than a limit."),
            _verifier("wattswarm_param", _param, "A parameter of the policy can be read."),
            _verifier("wattswarm_output_ref", _output_ref, "output_ref names the output."),
            _verifier("wattswarm_inline", _inline, "Inline evidence is what a kernel admits."),
            _verifier("wattswarm_ref", _ref, "A reference has its digest and its length."),
            _verifier("wattswarm_refs", _refs, "There are not too many references."),
            _verifier("wattswarm_majority", _majority, "Most candidates agree with the output."),
            _verifier(
                "wattswarm_check_summary", _check_summary, "The output says how it was checked."
            ),
            _verifier("wattswarm_min_score", _min_score, "The score is not below a limit."),
        ]
    )


def _verifier(id_: str, judge: Judge, description: str) -> Verifier:
    def factory(params: dict[str, Any]) -> Check:
        def check(subject: Subject) -> Finding:
            facts = subject.input
            if type(facts) is not Facts:
                return broken(f"{id_} judges requests of WattSwarm alone.", Cause.BAD_PARAMS)
            return judge(facts, params)

        return check

    return Verifier(
        id=id_,
        factory=factory,
        description=description,
        source=f"signoff {__version__}",
        own=True,
        free_params=True,
    )


def _output(facts: Facts, _: Params) -> Finding:
    if facts.request.output is not None:
        return _OUTPUT
    detail = "The output is not in the request, so it cannot be judged."
    return inconclusive(detail, Cause.EVIDENCE_UNREACHABLE)


def _schema(facts: Facts, params: Params) -> Finding:
    if facts.request.schema.digest != params["digest"]:
        return broken("The output is judged by another schema.", Cause.BAD_PARAMS)
    answer = facts.schema_answer
    if answer is None:
        return _SCHEMA
    if isinstance(answer, SchemaUnusable):
        return broken(str(answer), Cause.BAD_PARAMS)
    return failed(answer)


def _min(facts: Facts, params: Params) -> Finding:
    field, limit = params["field"], params["limit"]
    # A kernel takes a confidence that is not stated for none at all.
    found = facts.number(field)
    if found is None and field == "confidence":
        found = 0.0
    if found is None:
        return failed(f"{shown(field)} is not a number of the output.")
    told = f"{shown(field)} is {number_text(found)}, expected at least {number_text(limit)}."
    return passed(told) if float(found) >= float(limit) else failed(told)


def _max(facts: Facts, params: Params) -> Finding:
    field, limit = params["field"], params["limit"]
    found = facts.number(field)
    if found is None:
        return failed(f"{shown(field)} is not a number of the output.")
    told = f"{shown(field)} is {number_text(found)}, expected at most {number_text(limit)}."
    return passed(told) if float(found) <= float(limit) else failed(told)


def _max_len(facts: Facts, params: Params) -> Finding:
    limit, size = params["limit"], len(facts.request.canonical)
    told = f"The output has {size} canonical bytes, expected at most {number_text(limit)}."
    return passed(told) if float(size) <= float(limit) else failed(told)


def _param(_: Facts, params: Params) -> Finding:
    return broken(params["problem"], Cause.BAD_PARAMS)


def _output_ref(facts: Facts, _: Params) -> Finding:
    if facts.request.output is None:
        return inconclusive("There is no output to compare.", Cause.EVIDENCE_UNREACHABLE)
    fault = output_ref_fault(facts.request, facts.digest)
    if fault is None:
        return _OUTPUT_REF
    told, by_parser = fault
    if by_parser:
        detail = f"{told}; a number in it may have been read otherwise"
        return inconclusive(detail, Cause.EVIDENCE_UNREACHABLE)
    return failed(told, cause=Cause.EVIDENCE_CORRUPT)


def _inline(facts: Facts, params: Params) -> Finding:
    first, last = params["first"], params["last"]
    for index, item in enumerate(facts.request.evidence_inline[first:last], first):
        fault = inline_fault(item)
        if fault is not None:
            return broken(f"evidence_inline/{index}: {fault}", Cause.BAD_PARAMS)
    return _INLINE


def _ref(facts: Facts, params: Params) -> Finding:
    first, last = params["first"], params["last"]
    for index, ref in enumerate(facts.request.evidence_refs[first:last], first):
        if not is_digest(ref.digest):
            told = f'evidence_refs/{index}: digest "{shown(ref.digest, 80)}" {NO_DIGEST}'
            return failed(told, cause=Cause.EVIDENCE_CORRUPT)
        got = facts.fetched.get(reference_of(ref))
        if got is None:
            told = f"evidence_refs/{index}: it was not fetched"
            return inconclusive(told, Cause.EVIDENCE_UNREACHABLE)
        if got.cause is not None:
            told = f"evidence_refs/{index}: {shown(got.detail, 300)}"
            return Finding(status=got.cause.status, detail=told, cause=got.cause)
    return _FETCHED


def _refs(facts: Facts, params: Params) -> Finding:
    told = f"{len(facts.request.evidence_refs)} references, expected at most {params['limit']}"
    return inconclusive(f"{told}; none was fetched", Cause.EVIDENCE_UNREACHABLE)


def _majority(facts: Facts, _: Params) -> Finding:
    if not facts.peers:
        return _ALONE
    told = f"{facts.agreeing} of {len(facts.peers) + 1} candidates agree, this one included."
    return passed(told) if facts.has_majority else failed(told)


def _check_summary(facts: Facts, params: Params) -> Finding:
    if params["form"] == Form.DOC.value and facts.peers:
        return _NOT_ASKED
    if facts.has_check_summary:
        return _SUMMARY
    return failed("check_summary is not a text, or is blank.")


def _min_score(facts: Facts, params: Params) -> Finding:
    limit = params["limit"]
    score = facts.crosscheck_score(by_peers=params["form"] == Form.DOC.value)
    told = f"The score is {number_text(score)}, expected at least {number_text(limit)}."
    return passed(told) if score >= float(limit) else failed(told)
