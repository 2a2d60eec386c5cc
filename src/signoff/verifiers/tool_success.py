"""The tools that were called report success."""

from __future__ import annotations

from typing import Annotated, Literal

from signoff.jsonvalue import JSON, MISSING, join_pointer, json_type, parse_pointer, resolve, shown
from signoff.model import Finding, Subject, ToolCall, failed, inconclusive, passed
from signoff.params import FieldName, Pointer, array_of, text
from signoff.registry import Check, reads, verifier
from signoff.status import Cause

Accepted = Annotated[
    tuple[str, ...],
    array_of(text("non-empty string", least=1), "array of 1 or more non-empty strings"),
]


@verifier
def tool_success(
    *,
    accept: Accepted = ("ok",),
    field: FieldName = "status",
    tool: Annotated[str, text("name", least=1)] | None = None,
    calls: Literal["every", "last"] = "every",
    path: Pointer = "",
) -> Check:
    """
    Every recorded call of a tool has a status that is accepted.

    Where calls were not recorded, the status in the output decides instead, unless
    ``tool`` names a tool: what the output says cannot stand for one tool's calls.

    Args:
        accept: Statuses that mean success, case and all.
        field: Key of the status in the output, or a pointer inside the object.
        tool: Only calls of this tool count.
        calls: "last" counts the last call of each tool, so that a retried call is forgiven.
        path: RFC 6901 pointer to the object with the status; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    tokens = parse_pointer(field) if field.startswith("/") else (field,)
    missing = (
        "No tool call was recorded."
        if tool is None
        else f'No call of tool "{shown(tool)}" was recorded.'
    )

    def recorded(tools: tuple[ToolCall, ...]) -> Finding:
        counted = _counted(tools, tool, last=calls == "last")
        for index, call in counted:
            holds, text = _judged("status", call.status, accept)
            if not holds:
                return failed(f'Tool call {index} ("{shown(call.name)}"): {text}')
        return passed(f"{len(counted)} tool calls ok.") if counted else failed(missing)

    def told(output: JSON) -> Finding:
        status, _ = resolve(output, tokens) if type(output) is dict else (MISSING, "")
        if status is MISSING:
            return failed(f"No {shown(field)} field", at=path)
        holds, text = _judged(field, status, accept)
        return passed(text) if holds else failed(text, at=path + join_pointer("", *tokens))

    def check(subject: Subject) -> Finding:
        if subject.tools is not None:
            return recorded(subject.tools)
        if tool is not None:
            return inconclusive(missing, Cause.NOT_RECORDED)
        return told(subject.value(path))

    return reads(check, (*parse_pointer(path), *tokens))


def _counted(
    tools: tuple[ToolCall, ...], tool: str | None, *, last: bool
) -> list[tuple[int, ToolCall]]:
    """The calls that count, each with its index among all calls."""
    counted = [(i, call) for i, call in enumerate(tools) if tool is None or call.name == tool]
    if not last:
        return counted
    latest = {call.name: (i, call) for i, call in counted}
    return sorted(latest.values(), key=lambda entry: entry[0])


def _judged(name: str, status: JSON, accept: tuple[str, ...]) -> tuple[bool, str]:
    if type(status) is not str:
        return False, f"{shown(name)} is {json_type(status)}, expected string"
    return status in accept, f'{shown(name)}="{shown(status)}"'
