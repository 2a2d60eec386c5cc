"""The output holds something."""

from __future__ import annotations

from signoff.jsonvalue import JSON, parse_pointer
from signoff.model import Finding, Subject, failed, passed
from signoff.params import Pointer
from signoff.registry import Check, reads, verifier


@verifier
def not_empty(*, path: Pointer = "") -> Check:
    """
    The value at ``path`` is a text that is not blank, or an array or object with a member.

    A text of white space alone is blank.  Nothing else can hold anything: a number,
    a boolean and null count as empty.

    Args:
        path: RFC 6901 pointer to the value; the whole output when empty.

    Source: spec "The standard library of checks", 3.16.
    """

    def check(subject: Subject) -> Finding:
        if _holds_something(subject.value(path)):
            return passed("Output is not empty.")
        return failed("Output is empty.", at=path)

    return reads(check, parse_pointer(path))


def _holds_something(value: JSON) -> bool:
    if type(value) is str:
        return bool(value) and not value.isspace()
    return isinstance(value, (list, dict)) and len(value) > 0
