"""The output is a JSON object."""

from __future__ import annotations

from signoff.jsonvalue import json_type, parse_pointer
from signoff.model import Finding, Subject, failed, passed
from signoff.params import Pointer
from signoff.registry import Check, reads, verifier


@verifier
def json_object(*, path: Pointer = "") -> Check:
    """
    The value at ``path`` is an object, empty or not.

    Args:
        path: RFC 6901 pointer to the value; the whole output when empty.

    Source: spec "The standard library of checks", 3.16.
    """

    def check(subject: Subject) -> Finding:
        value = subject.value(path)
        if type(value) is dict:
            return passed("Output is an object.")
        return failed(f"Output is {json_type(value)}, not object.", at=path)

    return reads(check, parse_pointer(path))
