"""The output has a shape, by JSON Schema or by a predicate of the operator."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from signoff.errors import ParamsError
from signoff.jsonvalue import json_equal, parse_pointer, shown
from signoff.model import Finding, Subject, failed, passed
from signoff.params import Pointer, text
from signoff.registry import Check, Powers, reads, verifier
from signoff.schema_param import (
    Schema,
    SchemaRef,
    conformity,
    engines,
    refuse_unresolved,
    with_schema,
)
from signoff.status import Cause, Status

MAX_DETAIL = 4_096
Name = Annotated[str, text("name of a predicate the operator registered", least=1)]


@verifier(rewrite=with_schema, engines=engines)
def response_shape(
    *,
    schema: Schema | None = None,
    schemaRef: SchemaRef | None = None,  # noqa: N803  as contracts have it
    predicate: Name | None = None,
    args: dict[str, Any] | None = None,
    path: Pointer = "",
    powers: Powers,
) -> Check:
    """
    The value at ``path`` has a shape: it conforms to a JSON Schema, or a predicate says so.

    Exactly one of ``schema``, ``schemaRef`` and ``predicate`` is given, since two
    shapes are two criteria.  A predicate is a function of the operator that takes
    the value and ``args`` and returns true, false or a finding; truthy is not true.

    Args:
        schema: The schema, an object or boolean; see ``json_schema``.
        schemaRef: A JSON file below the contract's folder; lock reads it and puts its
            content in its place.
        predicate: Name under which the operator registered the function.
        args: What the function gets besides the value; an empty object when absent.
        path: RFC 6901 pointer to the value; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    if sum(one is not None for one in (schema, schemaRef, predicate)) != 1:
        raise ParamsError(
            "exactly one of params.schema, params.schemaRef, params.predicate is required"
        )
    if args is not None and predicate is None:
        raise ParamsError("params.args needs params.predicate", where="/args")
    refuse_unresolved(schemaRef)
    if schema is not None:
        return reads(conformity(schema, path), parse_pointer(path))
    assert predicate is not None
    function = powers.predicates.get(predicate)
    if function is None:
        raise ParamsError(f'no predicate named "{shown(predicate)}"', where="/predicate")
    return reads(_asking(predicate, function, args or {}, path), parse_pointer(path))


def _asking(name: str, function: Callable[..., Any], args: dict[str, Any], path: str) -> Check:
    def check(subject: Subject) -> Finding:
        value = subject.value(path)
        given = copy.deepcopy(value)  # the function is not ours: it may change what it is given
        answer = function(given, copy.deepcopy(args))
        if not json_equal(value, given):
            detail = "Verifier changed the output."
            return Finding(status=Status.ERROR, detail=detail, cause=Cause.VERIFIER_BROKE)
        if answer is True:
            return passed(f'Predicate "{shown(name)}" passed.')
        if answer is False:
            return failed(f'Predicate "{shown(name)}" failed.', at=path)
        return _sound(answer)

    return check


def _sound(answer: object) -> Finding:
    """The finding, if it comes back from its encoding as it went in and a check may say it."""
    if type(answer) is not Finding:
        kind = shown(type(answer).__name__)
        raise TypeError(f"a predicate must return true, false or a finding, got {kind}")
    if msgspec.json.decode(msgspec.json.encode(answer), type=Finding) != answer:
        raise TypeError("a predicate returned a finding with a field of a wrong type")
    if answer.status is Status.SKIPPED:
        raise TypeError("a predicate returned a finding that says it was skipped")
    if answer.at is not None:
        parse_pointer(answer.at)
    return msgspec.structs.replace(answer, detail=shown(answer.detail, MAX_DETAIL))
