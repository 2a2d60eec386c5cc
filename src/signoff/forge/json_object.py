"""``json.object``: input and output are JSON objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from signoff.dialects.forge import FailureClass, VerificationResult, VerificationStatus
from signoff.jsonvalue import json_type

__all__ = ["OUTPUT_NOT_CHECKED", "JsonObjectVerifier", "type_word"]

OUTPUT_NOT_CHECKED = "output not checked"


class JsonObjectVerifier(Struct, frozen=True, kw_only=True):
    """
    The input is a dict, and so is the output unless it is None.

    Subclasses of dict count, other mappings do not.

    Args:
        verifier_id: The id in its results.
    """

    verifier_id: str = "json.object"

    def verify(
        self,
        input_obj: object,
        output_obj: object = None,
        *,
        context: Mapping[str, Any] | None = None,  # noqa: ARG002  the signature of all verifiers
    ) -> VerificationResult:
        """Pass, with a warning when there was no output to check; else fail with both faults."""
        checked = output_obj is not None
        evidence: dict[str, Any] = {
            "input_type": type_word(input_obj),
            "output_type": type_word(output_obj),
            "output_checked": checked,
        }
        faults = [
            (f"{name} must be an object, got {type_word(value)}", failure)
            for name, value, failure in (
                ("input", input_obj, FailureClass.INPUT_INVALID),
                ("output", output_obj, FailureClass.JSON_INVALID),
            )
            if not isinstance(value, dict) and (name == "input" or checked)
        ]
        if faults:
            errors = tuple(text for text, _ in faults)
            evidence["failure_class"] = faults[0][1].value
            summary = "; ".join(errors)
            return VerificationResult(
                VerificationStatus.FAIL, self.verifier_id, summary, evidence, errors
            )
        return VerificationResult(
            VerificationStatus.PASS,
            self.verifier_id,
            "input and output are objects" if checked else "input is an object",
            evidence,
            warnings=() if checked else (OUTPUT_NOT_CHECKED,),
        )


def type_word(value: object) -> str:
    """JSON's word for the type of a value; Python's name for a type that JSON has not."""
    try:
        return json_type(value)  # type: ignore[arg-type]  # anything may come in here
    except TypeError:
        return type(value).__name__[:100]
