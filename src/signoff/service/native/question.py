"""What a request asks about: an output and the facts recorded with it, read strictly."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct

from signoff.canonical import canonical_bytes_unchecked, digest_bytes
from signoff.errors import JSONError
from signoff.jsonlimits import MAX_DEPTH
from signoff.jsonvalue import JSON, join_pointer, json_type, shown
from signoff.model import Subject, ToolCall
from signoff.service.message import Problem
from signoff.strictjson import Limits, loads

__all__ = ["FACTS", "MAX_ID", "Question", "question_of", "read_body", "read_object", "subject_of"]

MAX_ID: Final = 200
_AT: Final = re.compile(r"(.*?)(?: - at `(?:key in )?\$(.*)`)?", re.DOTALL)
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    An output, and the facts that were recorded with it.

    Args:
        output: The output, any JSON value.
        id: What the client calls it; it comes back, and is the verdict's name in a ledger.
        input: What the work was given.
        elapsed_s: Seconds the work took.
        exit_code: Exit code of the work.
        tools: The calls of tools, in order.
        base: Commit that the work started from.
    """

    output: Any
    id: Annotated[str, Meta(min_length=1, max_length=MAX_ID)] | int | None = None
    input: Any = None
    elapsed_s: Annotated[float, Meta(ge=0)] | None = None
    exit_code: int | None = None
    tools: tuple[ToolCall, ...] | None = None
    base: str | None = None
    contract: Any = UNSET


FACTS: Final = tuple(name for name in Question.__struct_fields__ if name != "contract")


def read_body(data: bytes, limits: Limits, *, what: str = "the body") -> JSON:
    """
    The value of a request body, or of one line of it.

    Raises:
        Problem: It is not strict JSON, or larger than outputs may be.
    """
    if len(data) > limits.max_bytes:
        raise Problem(413, "too_large", f"{what} is larger than {limits.max_bytes} bytes")
    try:
        return loads(data, limits=limits)
    except JSONError as exc:
        raise Problem(400, "bad_json", f"{what} is not strict JSON: {exc}") from exc


def read_object(limits: Limits) -> Limits:
    """The limits of an object around an output that is held to other limits."""
    return msgspec.structs.replace(limits, max_depth=min(limits.max_depth + 1, MAX_DEPTH))


def question_of(value: JSON, *, contract: bool) -> Question:
    """
    What a JSON value asks.

    Args:
        value: The value.
        contract: It names its contract too.

    Raises:
        Problem: It has not the shape.
    """
    if type(value) is not dict:
        raise _wrong("", f"the request must be object, got {json_type(value)}")
    known = (*FACTS, "contract") if contract else FACTS
    for name in value:
        if name not in known:
            raise _wrong(join_pointer("", name), f"{shown(name)} is not a member of the request")
    if contract and "contract" not in value:
        raise _wrong("", "contract is required")
    if "output" not in value:
        raise _wrong("", "output is required")
    tools = value.get("tools")
    if type(tools) is list:
        _require_calls(tools)
    try:
        return msgspec.convert(value, Question)
    except msgspec.ValidationError as exc:
        raise _unfit(str(exc)) from exc
    except OverflowError as exc:
        raise _wrong("/elapsed_s", "elapsed_s is larger than any double") from exc


def subject_of(question: Question, *, depth: int, digested: bool) -> Subject:
    """
    The subject of a question.

    Args:
        question: What was asked.
        depth: Levels that its output has at most.
        digested: The digest of the output will be wanted.
    """
    output = question.output
    return Subject(
        output=output,
        input=question.input,
        elapsed_s=question.elapsed_s,
        exit_code=question.exit_code,
        tools=question.tools,
        base=question.base,
        output_depth=depth,
        output_digest=digest_bytes(canonical_bytes_unchecked(output)) if digested else None,
    )


def _require_calls(tools: list[JSON]) -> None:
    """Calls of tools have no members but those that are known."""
    for index, call in enumerate(tools):
        for name in call if type(call) is dict else ():
            if name not in ToolCall.__struct_fields__:
                where = join_pointer(f"/tools/{index}", name)
                raise _wrong(where, f"{shown(name)} is not a member of a tool call")


def _wrong(pointer: str, detail: str) -> Problem:
    return Problem(422, "wrong_shape", detail, pointer=shown(pointer))


def _unfit(said: str) -> Problem:
    """What the decoder said, with its place as a pointer."""
    found = _AT.fullmatch(said)
    what, path = (found[1], found[2] or "") if found else (said, "")
    pointer = "".join(f"/{name or index}" for name, index in _STEP.findall(path))
    what = shown(what[:1].lower() + what[1:].replace("`", ""))
    return _wrong(pointer, f"{pointer.lstrip('/') or 'the request'}: {what}")
