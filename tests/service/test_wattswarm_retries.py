"""Requests of a WattSwarm node to ``signoff serve --wattswarm`` that come again, or lead elsewhere."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.wattswarm.world import compact, question, reference
from tests.servers import Server, Talk, message
from tests.service.fetches import DATA, Trap
from tests.service.running import WAIT_S, Running
from tests.service.wire import Wire, request


def allowing(port: int) -> list[str]:
    host = ("--evidence-host", f"http://127.0.0.1:{port}", "--evidence-net", "127.0.0.0/8")
    return ["--wattswarm", *host, "--evidence-timeout", "20", "--evidence-total", "20"]


def test_a_client_that_is_cut_off_five_times_gets_the_one_verdict() -> None:
    """Acceptance row 2: the same request again and again, and one evaluation."""
    asked, let_go = threading.Event(), threading.Event()

    def held(talk: Talk) -> None:
        talk.request()
        asked.set()
        assert let_go.wait(WAIT_S)
        talk.send(message(DATA))

    with Server(held) as files, Running.signoff(*allowing(files.port)) as running:
        ref = reference(DATA, uri=f"http://127.0.0.1:{files.port}/a", mime="text/plain")
        sent = request(path="/verify", body=compact(question(refs=[ref])))
        for _ in range(5):
            with Wire(running) as wire:
                wire.send(sent)
                assert asked.wait(WAIT_S)
        with Wire(running) as wire, Wire(running) as other:
            wire.send(sent)
            other.send(sent)
            let_go.set()
            replies = [wire.reply(), other.reply(), wire.send(sent).reply()]
        assert len(files.requests) == 1
    assert {reply.status for reply in replies} == {200}
    assert replies[0].json["reason_codes"] == [100]
    assert len({reply.body for reply in replies}) == 1


def schemas_that_lead_elsewhere(base: str, file: str) -> list[Any]:
    return [
        {"$ref": f"{base}/a"},
        {"$ref": file},
        {"properties": {"answer": {"$ref": f"{base}/b#/x"}}},
        {"allOf": [{"$dynamicRef": f"{base}/c"}]},
        {"$id": f"{base}/d", "$ref": "e"},
        {"$id": file, "properties": {"unused": {"$ref": "#/$defs/none"}}},
        {"$schema": f"{base}/f"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": f"{base}/g"},
    ]


def test_references_of_schemas_lead_nowhere_else(tmp_path: Path) -> None:
    """Acceptance row 7: even where evidence may be fetched from the host."""
    file = tmp_path / "schema.json"
    file.write_text("{}")
    with Trap() as trap, Running.signoff(*allowing(trap.port)) as running:
        base = f"http://127.0.0.1:{trap.port}"
        for schema in schemas_that_lead_elsewhere(base, file.as_uri()):
            reply = running.request("POST", "/verify", compact(question(schema=schema)), JSON)
            assert (reply.status, reply.json["reason_codes"]) == (200, [101, 999])
        at_home = {"$id": f"{base}/h", "$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}
        reply = running.request("POST", "/verify", compact(question(schema=at_home)), JSON)
        assert (reply.status, reply.json["reason_codes"]) == (200, [100])
        assert trap.count() == 0


@pytest.mark.parametrize(("least", "codes"), [(1, [100]), (2, [101])])
def test_a_schema_of_25_levels_is_judged(least: int, codes: list[int]) -> None:
    """Acceptance row 7."""
    schema: dict[str, Any] = {"minProperties": least}
    for _ in range(25):
        schema = {"allOf": [schema, {"type": "object"}]}
    with Running.signoff("--wattswarm") as running:
        reply = running.request("POST", "/verify", compact(question(schema=schema)), JSON)
    assert reply.json["reason_codes"] == codes


JSON = {"Content-Type": "application/json"}
