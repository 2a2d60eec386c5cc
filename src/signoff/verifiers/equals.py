"""The output is a given JSON value."""

from __future__ import annotations

from typing import Any

from signoff.jsonvalue import first_difference, json_equal, parse_pointer
from signoff.model import Finding, Subject, failed, passed
from signoff.params import Pointer
from signoff.registry import Check, reads, verifier


@verifier
def equals(*, value: Any, path: Pointer = "") -> Check:
    """
    The value at ``path`` is the given JSON value.

    Objects are compared without the order of their keys, arrays with; ``1`` is
    ``1.0`` and ``-0`` is ``0``, while ``true`` is not ``1`` and ``"5"`` is not ``5``.
    Texts are compared by code point, without normalisation.

    Args:
        value: The expected value; null is a value like any other.
        path: RFC 6901 pointer to the value; the whole output when empty.

    Source: OpenSpec, "Verifiers".
    """

    def check(subject: Subject) -> Finding:
        got = subject.value(path)
        if json_equal(got, value):
            return passed("Output equals expected value.")
        difference = first_difference(got, value) or ""
        return failed("Output did not equal expected value.", at=path + difference)

    return reads(check, parse_pointer(path))
