"""Requests to ``/verify``: the first worked one of the vectors, in several sizes, and spoilt."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import msgspec

from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import canonical

__all__ = ["SIZES", "first", "rotating", "sized", "spoilt"]

VECTORS: Final = Path(__file__).parents[2] / "conformance" / "wattswarm" / "requests.json"
SLOT: Final = "cand-000000000000"
"""What the generators of load look for."""
SIZES: Final = {"1k": 1_024, "2.6k": 2_662}
"""Bytes of a whole body."""
SENTENCE: Final = "The proposal carries three material risks, none of which is insured. "
RISK: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["title", "likelihood", "impact"],
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "likelihood": {"type": "number", "minimum": 0, "maximum": 1},
        "impact": {"type": "integer", "minimum": 1, "maximum": 5},
    },
}

_encode = msgspec.json.encode


def first() -> tuple[bytes, str]:
    """The first worked request, as it is, and its ``verifier_result_hash``."""
    case = msgspec.json.decode(VECTORS.read_bytes())["cases"][0]
    return _encode(case["request"]), str(case["expect"]["verifier_result_hash"])


def sized(size: str) -> bytes:
    """
    The same with a longer output, and a slot for the number of the candidate.

    The small one is all text; the large one has a list of risks, and a schema for these.
    """
    request = _request()
    if SIZES[size] > 2_000:
        _add_risks(request)
    request["candidate"]["output"]["answer"] = ""
    short = SIZES[size] - len(_finished(request)) - 1
    while len(finished := _finished(request)) < SIZES[size]:
        answer = (SENTENCE * (short // len(SENTENCE) + 1))[:short]
        request["candidate"]["output"]["answer"] = answer
        short += 1
    return finished


def spoilt(size: str) -> list[bytes]:
    """Bodies for which the answer is not a pass: a schema that does not hold, a wrong digest."""
    wrong_type = msgspec.json.decode(sized(size))
    wrong_type["candidate"]["output"]["confidence"] = "high"
    wrong_digest = msgspec.json.decode(sized(size))
    wrong_digest["candidate"]["output_ref"]["digest"] = digest_of(b"another")
    return [_finished(wrong_type), _encode(wrong_digest)]


def rotating(count: int) -> list[bytes]:
    """Bodies of 1 KB under as many schemas, which all hold."""
    bodies = []
    for number in range(count):
        request = msgspec.json.decode(sized("1k"))
        request["output_schema"]["properties"]["confidence"]["maximum"] = 1 + number
        bodies.append(_encode(request))
    return bodies


def _request() -> dict[str, Any]:
    request: dict[str, Any] = deepcopy(msgspec.json.decode(VECTORS.read_bytes())["cases"][0])
    request = request["request"]
    request["candidate"]["candidate_id"] = SLOT
    return request


def _add_risks(request: dict[str, Any]) -> None:
    schema = request["output_schema"]
    schema["required"].append("risks")
    schema["properties"]["risks"] = {"type": "array", "minItems": 1, "items": RISK}
    request["candidate"]["output"]["risks"] = [
        {"title": f"Risk {number}: {SENTENCE.strip()}", "likelihood": number / 16, "impact": 3}
        for number in range(1, 11)
    ]


def _finished(request: dict[str, Any]) -> bytes:
    """The body, its ``output_ref`` that of its output."""
    output = canonical(request["candidate"]["output"])
    reference = request["candidate"]["output_ref"]
    reference["digest"], reference["size_bytes"] = digest_of(output), len(output)
    return bytes(_encode(request))
