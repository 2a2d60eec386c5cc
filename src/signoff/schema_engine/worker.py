"""
The program of a worker process that judges values by JSON Schemas, one request after the other.

Started as a file, by an interpreter that sees neither the environment nor the
site's packages: it imports the standard library, and the validator library from
the folder that is its first argument.  A request is a line of JSON with two
lengths, then a schema and a value as JSON; an answer is a length, then JSON.

It ends when its input ends.  Should nobody be left to stop it, the kernel's
alarm does; memory is limited by the kernel too.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from typing import Any, BinaryIO

__all__ = ["MEMORY_BYTES", "compiled", "complaints", "first_complaint"]

MEMORY_BYTES = 2**30
PATTERN_BYTES = 2**23
IDLE_S = 60.0
ORPHAN_S = 3.0  # above the time that the parent gives, which stops the worker itself

# What is told of a complaint besides its place, by the library's name of its kind.
FACTS = {
    "AdditionalProperties": "unexpected",
    "ExclusiveMaximum": "limit",
    "ExclusiveMinimum": "limit",
    "Format": "format",
    "MaxItems": "limit",
    "MaxLength": "limit",
    "MaxProperties": "limit",
    "Maximum": "limit",
    "MinItems": "limit",
    "MinLength": "limit",
    "MinProperties": "limit",
    "Minimum": "limit",
    "MultipleOf": "multiple_of",
    "Pattern": "pattern",
    "Required": "property",
    "Type": "types",
    "UnevaluatedProperties": "unexpected",
}


def compiled(schema: Any, formats: str, *, pattern_bytes: int = PATTERN_BYTES) -> Any:
    """
    A schema as the library compiles it: offline, patterns in linear time.

    Args:
        schema: The schema.
        formats: ``known``, ``lenient`` or ``annotation``.
        pattern_bytes: Memory that one compiled pattern may take.

    Raises:
        ValueError: The library refuses the schema.
    """
    import jsonschema_rs

    return jsonschema_rs.validator_for(
        schema,
        offline=True,
        validate_formats=formats != "annotation",
        ignore_unknown_formats=formats != "known",
        pattern_options=jsonschema_rs.RegexOptions(size_limit=pattern_bytes),
    )


def complaints(validator: Any, value: Any) -> list[Any]:
    """Every complaint about a value, as plain lists: path, path in the schema, kind, fact."""
    return [_plain(error) for error in validator.iter_errors(value)]


def first_complaint(validator: Any, value: Any) -> list[Any]:
    """The complaint that is found first, alone in a list: where there are too many to tell."""
    import jsonschema_rs

    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [_plain(error)]
    return []


def _plain(error: Any) -> list[Any]:
    kind = type(error.kind).__name__
    fact = FACTS.get(kind)
    told = None if fact is None else getattr(error.kind, fact)
    return [error.instance_path, error.schema_path, kind, told]


@lru_cache(maxsize=32)
def _compiled_text(text: bytes, formats: str) -> Any:
    return compiled(json.loads(text), formats)


def _answer(want: str, formats: str, schema: bytes, value: bytes) -> Any:
    try:
        validator = _compiled_text(schema, formats)
        judged = json.loads(value)
        if want == "valid":
            return {"answer": validator.is_valid(judged)}
        return {"answer": (complaints if want == "all" else first_complaint)(validator, judged)}
    except (ValueError, MemoryError, RecursionError) as exc:
        return {"broken": f"{type(exc).__name__}: {exc}"[:200]}


def _limit() -> None:
    import resource
    import signal

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # the terminal interrupts everyone: the parent answers
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _serve(source: BinaryIO, sink: BinaryIO) -> None:
    from signal import ITIMER_REAL, setitimer

    while True:
        setitimer(ITIMER_REAL, IDLE_S)
        header = source.readline()
        if not header:
            setitimer(ITIMER_REAL, 0)
            return
        setitimer(ITIMER_REAL, ORPHAN_S)
        want, formats, schema_bytes, value_bytes = json.loads(header)
        schema, value = source.read(schema_bytes), source.read(value_bytes)
        text = json.dumps(_answer(want, formats, schema, value), default=float).encode()
        sink.write(b"%d\n" % len(text) + text)
        sink.flush()


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    _limit()
    compiled(True, "known")  # the library is loaded before the clock of the first request runs
    sys.stdout.buffer.write(b"0\n")
    sys.stdout.buffer.flush()
    _serve(sys.stdin.buffer, sys.stdout.buffer)
