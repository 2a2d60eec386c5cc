"""
A JSON Schema as a parameter of a check: read, taken from a file at lock, and held against subjects.

Rules and texts follow spec "The standard library of checks", 2.7, 3.5 and 3.14.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from signoff.document.filebytes import read_bytes
from signoff.errors import DocumentError, Fault, JSONError, ParamsError, SchemaError
from signoff.jsonvalue import JSON, shown
from signoff.model import Finding, Subject, failed, passed
from signoff.params import MAX_TEXT, Kind
from signoff.strictjson import loads

__all__ = [
    "Compiled",
    "Schema",
    "SchemaRef",
    "conformity",
    "engines",
    "refuse_unresolved",
    "with_schema",
]

MAX_FILE_BYTES: Final = 2**20
_SCHEME = re.compile("([A-Za-z][A-Za-z0-9+.-]*):")


class Violations(Protocol):
    """What a schema complains about, as a text and with the place of the first complaint."""

    @property
    def at(self) -> str:
        """Pointer of the first complaint."""
        ...


class Compiled(Protocol):
    """What this needs of a compiled schema; ``schema_engine`` makes them."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the schema."""
        ...

    @property
    def subschemas(self) -> int | None:
        """How many are evaluated for a value; None where that is done elsewhere."""
        ...

    @property
    def weight(self) -> int:
        """The same with what they list and how dear they are."""
        ...

    def is_valid(self, value: JSON, /, *, depth: int | None) -> bool:
        """The value conforms."""
        ...

    def violations(self, value: JSON, /, *, path: str) -> Violations:
        """What is wrong with a value."""
        ...


def conformity(schema: Compiled, path: str) -> Callable[[Subject], Finding]:
    """
    The check whether the value at ``path`` conforms.

    It carries the schema's ``warnings``, how many ``subschemas`` a value is held to (None
    where that is done elsewhere), their ``weight``, and ``accepts``, which is true where the
    check passes and does not say why it would not.
    """

    def accepts(subject: Subject) -> bool:
        return schema.is_valid(subject.value(path), depth=subject.output_depth)

    def check(subject: Subject) -> Finding:
        value = subject.value(path)
        if schema.is_valid(value, depth=subject.output_depth):
            return passed("Output conforms to JSON Schema.")
        found = schema.violations(value, path=path)
        return failed(str(found), at=found.at)

    check.warnings = schema.warnings  # type: ignore[attr-defined]  # functions carry attributes
    check.subschemas = schema.subschemas  # type: ignore[attr-defined]  # likewise
    check.weight = schema.weight  # type: ignore[attr-defined]  # likewise
    check.accepts = accepts  # type: ignore[attr-defined]  # likewise
    return check


def with_schema(params: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """
    The parameters with the schema itself where a file was named: a locked contract needs no file.

    A reference that cannot be meant is left as it is, for binding to refuse.

    Raises:
        ParamsError: The file cannot be read, leads out of the folder, or is not strict JSON.
    """
    ref = params.get("schemaRef")
    if folder is None or type(ref) is not str or "schema" in params or not _is_path(ref):
        return params
    try:
        schema = loads(read_bytes(ref, max_bytes=MAX_FILE_BYTES, folder=folder))
    except DocumentError as exc:
        raise _unusable(str(exc)) from exc
    except JSONError as exc:
        raise _unusable(f"{shown(ref)}: {exc}") from exc
    kept = {name: value for name, value in params.items() if name != "schemaRef"}
    return kept | {"schema": schema}


def refuse_unresolved(ref: str | None) -> None:
    """
    Refuse a reference that is still there when the parameters are bound.

    Raises:
        ParamsError: There is one.
    """
    if ref is not None:
        raise ParamsError("params.schemaRef was not resolved at lock", where="/schemaRef")


def engines() -> dict[str, str]:
    """Names and versions of the programs that judge by schemas."""
    from signoff.schema_engine import schema_engines  # dear at start-up, see _read_schema

    return schema_engines()


def _read_schema(value: JSON) -> Compiled:
    # Only here, because it brings threads and processes, which most contracts do without.
    from signoff.schema_engine import compile_schema

    try:
        return compile_schema(value)
    except SchemaError as exc:
        raise ParamsError(tuple(map(_in_params, exc.faults))) from exc


def _in_params(fault: Fault) -> Fault:
    return Fault(fault.where, f"params.schema{shown(fault.where)} {fault.message}")


def _read_ref(value: JSON) -> str:
    if type(value) is not str or not 0 < len(value) <= MAX_TEXT:
        raise ValueError
    scheme = _SCHEME.match(value)
    if scheme is not None and scheme[1].lower() != "file":
        raise ParamsError("Remote schemaRef URLs are not supported in core verifiers")
    if not _is_path(value):
        raise ValueError
    return value


def _is_path(ref: str) -> bool:
    return 0 < len(ref) <= MAX_TEXT and not ref.startswith("/") and _SCHEME.match(ref) is None


def _unusable(reason: str) -> ParamsError:
    return ParamsError(f"params.schemaRef cannot be used: {reason}", where="/schemaRef")


Schema = Annotated[
    Any,
    Kind(
        says="object or boolean",
        read=_read_schema,
        schema={"type": ["object", "boolean"]},
    ),
]
SchemaRef = Annotated[
    str,
    Kind(
        says="relative path",
        read=_read_ref,
        schema={"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
    ),
]
