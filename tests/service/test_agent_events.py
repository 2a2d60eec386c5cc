"""``GET /capabilities`` and ``POST /agent-events``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.service.wattswarm.capabilities import Capabilities
from tests.service.calls import code
from tests.service.proposing import proposing
from tests.service.running import Reply, Running

TYPES = [
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
]
SOURCES = [
    "peer_relationship",
    "peer_direct_message",
    "payment_summary",
    "task_lifecycle",
    "topic_message",
    "service_net_result",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with proposing(tmp_path_factory.mktemp("state"), workers=2) as running:
        yield running


def event(id_: str, **more: Any) -> dict[str, Any]:
    return {
        "event_id": id_,
        "event_type": "dm_received",
        "source_kind": "peer_direct_message",
        "payload": {"text": "hello"},
        "requires_commit": False,
        "created_at": 1,
        **more,
    }


def told(server: Running, event: object) -> Reply:
    return server.post("/agent-events", {"event": event})


def test_capabilities_are_the_four_that_a_kernel_reads(server: Running) -> None:
    reply = server.request("GET", "/capabilities")

    assert 200 == reply.status
    assert {
        "task_types": ["swarm"],
        "profiles": ["default"],
        "provider_family": "family",
        "model_id": "model",
    } == reply.json


@pytest.mark.parametrize("blank", ["", " ", "\u3000\t"])
@pytest.mark.parametrize("name", ["provider_family", "model_id"])
def test_blank_identity_is_refused(name: str, blank: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is blank"):
        Capabilities(**{name: blank})  # type: ignore[arg-type]  # both are texts


@pytest.mark.parametrize("type_", TYPES)
def test_event_is_acknowledged_and_nothing_is_decided(type_: str, server: Running) -> None:
    before = int(time.time() * 1_000)
    reply = told(server, event(f"id-{type_}", event_type=type_))

    assert 200 == reply.status
    assert {"ok", "acked_at", "detail"} == reply.json.keys()
    assert reply.json["ok"] is True
    assert f"received {type_}" == reply.json["detail"]
    assert before <= reply.json["acked_at"] <= int(time.time() * 1_000)


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_source_is_known(source: str, server: Running) -> None:
    assert 200 == told(server, event(f"id-{source}", source_kind=source)).status


def test_same_event_gets_the_same_reply_at_every_worker(server: Running) -> None:
    replies = {told(server, event("again", payload=number)).body for number in range(8)}

    assert 1 == len(replies)


def test_key_for_duplicates_counts_before_the_id(server: Running) -> None:
    first, other, by_id = (
        told(server, event("one", dedupe_key="key")).body,
        told(server, event("two", dedupe_key="key", event_type="payment_update")).body,
        told(server, event("key")).json["detail"],
    )

    assert first == other
    assert "received dm_received" == by_id


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"event_type": "unknown"}, "/event/event_type"),
        ({"source_kind": "unknown"}, "/event/source_kind"),
        ({"event_id": 1}, "/event/event_id"),
        ({"requires_commit": 0}, "/event/requires_commit"),
        ({"created_at": -1}, "/event/created_at"),
        ({"dedupe_key": 7}, "/event/dedupe_key"),
        ({"agent_envelope": {}}, "/event/agent_envelope/protocol"),
        ({"allowed_actions": ["a", 1]}, "/event/allowed_actions/1"),
    ],
)
def test_wrong_member_is_named(change: dict[str, Any], pointer: str, server: Running) -> None:
    reply = told(server, event("wrong", **change))

    assert (422, "wrong_shape") == code(reply)
    assert pointer == reply.json["pointer"]


@pytest.mark.parametrize(
    "name",
    ["event_id", "event_type", "source_kind", "payload", "requires_commit", "created_at"],
)
def test_missing_member_is_named(name: str, server: Running) -> None:
    without = {key: value for key, value in event("without").items() if key != name}

    assert f"/event/{name}" == told(server, without).json["pointer"]


def test_body_that_is_no_json_is_refused(server: Running) -> None:
    reply = server.request("POST", "/agent-events", b"{", {"Content-Type": "application/json"})

    assert (400, "bad_json") == code(reply)


def test_event_is_remembered_by_the_next_server(tmp_path: Path) -> None:
    bodies = []
    for _ in range(2):
        with proposing(tmp_path) as running:
            bodies.append(told(running, event("lasting")).body)

    assert 1 == len({*bodies})
