"""
The shapes of requests: what is wrong with a value first, and where.

Members are looked at in the order of the tables, depth first; members that no
table has are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from signoff.dialects.wattswarm.jsonform import MAX_INTEGER
from signoff.jsonvalue import JSON, join_pointer, json_type

__all__ = [
    "AGENT_EVENT",
    "ARTIFACT_REF",
    "EXECUTE",
    "POLICY",
    "RESPONSE",
    "VERIFY",
    "Shape",
    "WrongShape",
    "require_shape",
]

Fault = tuple[str, str]
Shape = Callable[[JSON, str], "Fault | None"]
"""The pointer of the first fault and what is wrong there; None where all is well."""
Member = tuple[str, Shape, bool]


class WrongShape(Exception):
    """
    A request whose members are not what they must be.

    Args:
        pointer: The first wrong or missing member.
        text: What is wrong with it.
    """

    def __init__(self, pointer: str, text: str) -> None:
        super().__init__(f"{pointer or '/'} {text}")
        self.pointer = pointer


def require_shape(value: JSON, shape: Shape, pointer: str = "") -> None:
    """
    Nothing, if the value has the shape.

    Raises:
        WrongShape: It has not; says the first fault.
    """
    fault = shape(value, pointer)
    if fault is not None:
        raise WrongShape(*fault)


def _of(word: str, *types: type) -> Shape:
    def shape(value: JSON, at: str) -> Fault | None:
        return None if type(value) in types else (at, f"must be {word}, got {json_type(value)}")

    return shape


def _unsigned(value: JSON, at: str) -> Fault | None:
    # -0, 73.0 and what is beyond 64 bits were read as doubles.
    if type(value) is int and 0 <= value <= MAX_INTEGER:
        return None
    return at, f"must be an unsigned 64-bit integer, got {_told(value)}"


def _told(value: JSON) -> str:
    if type(value) is float:
        return f"the decimal number {value!r}"
    return "a negative one" if type(value) is int else json_type(value)


def _anything(_: JSON, __: str) -> None:
    return None


def _one_of(*words: str) -> Shape:
    def shape(value: JSON, at: str) -> Fault | None:
        return None if value in words else (at, f"must be one of {', '.join(words)}")

    return shape


def _record(*members: Member) -> Shape:
    def shape(value: JSON, at: str) -> Fault | None:
        if not isinstance(value, dict):
            return _OBJECT(value, at)
        for name, below, required in members:
            place = join_pointer(at, name)
            if name in value:
                fault = below(value[name], place)
            else:
                fault = (place, "is required") if required else None
            if fault is not None:
                return fault
        return None

    return shape


def _list_of(each: Shape) -> Shape:
    def shape(value: JSON, at: str) -> Fault | None:
        if not isinstance(value, list):
            return _ARRAY(value, at)
        faults = (each(item, join_pointer(at, index)) for index, item in enumerate(value))
        return next(filter(None, faults), None)

    return shape


def _all(shape: Shape, names: str) -> Sequence[Member]:
    return [(name, shape, True) for name in names.split()]


def _some(shape: Shape, names: str) -> Sequence[Member]:
    return [(name, shape, False) for name in names.split()]


_STRING: Final = _of("string", str)
_ARRAY: Final = _of("array", list)
_OBJECT: Final = _of("object", dict)
_OBJECT_OR_NULL: Final = _of("object or null", dict, type(None))
_BOOLEAN: Final = _of("boolean", bool)

ARTIFACT_REF: Final = _record(
    *_all(_STRING, "uri digest"),
    ("size_bytes", _unsigned, True),
    ("mime", _STRING, True),
    ("created_at", _unsigned, True),
    ("producer", _STRING, True),
)
POLICY: Final = _record(
    *_all(_STRING, "policy_id policy_version policy_hash"),
    ("policy_params", _OBJECT_OR_NULL, True),
)
VERIFY: Final = _record(
    (
        "candidate",
        _record(
            *_all(_STRING, "candidate_id execution_id"),
            ("output_ref", ARTIFACT_REF, True),
            ("evidence_inline", _list_of(_record(*_all(_STRING, "mime content"))), True),
            ("evidence_refs", _list_of(ARTIFACT_REF), True),
        ),
        True,
    ),
    ("output_schema", _anything, True),
    ("policy", POLICY, True),
)
EXECUTE: Final = _record(
    *_all(_STRING, "task_id execution_id task_type profile stage attempt_id"),
    ("inputs", _anything, True),
    (
        "task_contract",
        _record(
            ("output_schema", _anything, True),
            ("budget", _record(("time_ms", _unsigned, True)), True),
        ),
        True,
    ),
    ("seed_bundle", _OBJECT_OR_NULL, False),
)
EVENT_TYPES: Final = (
    "friend_request",
    "dm_received",
    "payment_request",
    "payment_update",
    "task_claim_received",
    "task_claim_decision_received",
    "task_result_received",
    "task_completion_decision_received",
    "task_settled_received",
    "topic_message_requires_reply",
    "third_party_result",
)
SOURCE_KINDS: Final = (
    "peer_relationship",
    "peer_direct_message",
    "payment_summary",
    "task_lifecycle",
    "topic_message",
    "service_net_result",
)
AGENT_EVENT: Final = _record(
    (
        "event",
        _record(
            ("event_id", _STRING, True),
            ("event_type", _one_of(*EVENT_TYPES), True),
            ("source_kind", _one_of(*SOURCE_KINDS), True),
            ("payload", _anything, True),
            ("requires_commit", _BOOLEAN, True),
            ("created_at", _unsigned, True),
            *_some(_STRING, "source_node_id target_agent_id target_executor"),
            *_some(_STRING, "correlation_id dedupe_key"),
            ("agent_envelope", _record(("protocol", _STRING, True)), False),
            ("allowed_actions", _list_of(_STRING), False),
        ),
        True,
    ),
)
RESPONSE: Final = _record(
    ("passed", _BOOLEAN, True),
    ("score", _of("number", int, float), True),
    ("reason_codes", _list_of(_unsigned), True),
    *_all(_STRING, "verification_status verifier_result_hash provider_family model_id"),
    ("signoff", _record(("audit_hash", _STRING, False)), False),
)
