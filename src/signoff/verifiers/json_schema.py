"""The output conforms to a JSON Schema."""

from __future__ import annotations

from signoff.errors import ParamsError
from signoff.jsonvalue import parse_pointer
from signoff.params import Pointer
from signoff.registry import Check, reads, verifier
from signoff.schema_param import (
    Schema,
    SchemaRef,
    conformity,
    engines,
    refuse_unresolved,
    with_schema,
)


@verifier(rewrite=with_schema, engines=engines)
def json_schema(
    *,
    schema: Schema | None = None,
    schemaRef: SchemaRef | None = None,  # noqa: N803  as contracts have it
    path: Pointer = "",
) -> Check:
    """
    The value at ``path`` conforms to a JSON Schema.

    Draft 2020-12 unless ``$schema`` names 2019-09, 7, 6 or 4.  Formats are asserted,
    nothing is fetched, and a schema that accepts every value is refused.

    Args:
        schema: The schema, an object or boolean.
        schemaRef: A JSON file below the contract's folder; lock reads it and puts its
            content in its place.
        path: RFC 6901 pointer to the value; the whole output when empty.

    Source: OpenSpec, "Verifiers"; spec "The standard library of checks", 2.7.
    """
    if schema is not None and schemaRef is not None:
        raise ParamsError("params.schemaRef excludes params.schema", where="/schemaRef")
    refuse_unresolved(schemaRef)
    if schema is None:
        raise ParamsError("params.schema (object) or params.schemaRef (path) is required")
    return reads(conformity(schema, path), parse_pointer(path))
