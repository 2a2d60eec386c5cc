"""Calls of a kernel to propose, and what is asked of the answers."""

from __future__ import annotations

import itertools
from hashlib import sha256
from typing import Any

import msgspec

from signoff.dialects.wattswarm.jsonform import canonical
from signoff.dialects.wattswarm.policies import kernel_hash
from tests.service.running import Reply, Running

_NUMBERS = itertools.count(1)
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


def call(inputs: object, *, schema: object = None, time_ms: int = 0, **more: Any) -> dict[str, Any]:
    """A call under ids of its own."""
    number = next(_NUMBERS)
    return {
        "task_id": f"task-{number}",
        "execution_id": f"execution-{number}",
        "task_type": "swarm",
        "profile": "default",
        "stage": "EXPLORE",
        "attempt_id": f"execution-{number}",
        "inputs": inputs,
        "task_contract": {
            "output_schema": {} if schema is None else schema,
            "budget": {"time_ms": time_ms},
            "acceptance": {"verifier_policy": policy()},
        },
        **more,
    }


def policy() -> dict[str, Any]:
    return {
        "policy_id": "vp.schema_only.v1",
        "policy_version": "1",
        "policy_hash": kernel_hash("vp.schema_only.v1"),
        "policy_params": {},
    }


def executed(server: Running, called: dict[str, Any]) -> Reply:
    return server.post("/execute", called)


def code(reply: Reply) -> tuple[int, str]:
    """The status and the code of a refusal."""
    assert "application/problem+json" == reply.headers["content-type"]
    return reply.status, reply.json["code"]


def fetched(server: Running, reference: dict[str, Any], public_url: str) -> bytes:
    """The bytes of a reference, which are what it says."""
    path = reference["uri"].removeprefix(public_url)
    assert path.startswith("/evidence/")
    got = server.request("GET", path)
    assert 200 == got.status
    assert len(got.body) == reference["size_bytes"]
    assert f"sha256:{sha256(got.body).hexdigest()}" == reference["digest"]
    assert reference["mime"] == got.headers["content-type"]
    return got.body


def question(called: dict[str, Any], proposal: dict[str, Any]) -> dict[str, Any]:
    """What a kernel then asks of a verifier about what was proposed."""
    output = canonical(proposal["candidate_output"])
    return {
        "candidate": {
            "candidate_id": f"candidate-{called['execution_id']}",
            "execution_id": called["execution_id"],
            "output_ref": {
                "uri": "inline:output",
                "digest": f"sha256:{sha256(output).hexdigest()}",
                "size_bytes": len(output),
                "mime": "application/json",
                "created_at": 1,
                "producer": "family/model",
            },
            "output": msgspec.Raw(output),
            "evidence_inline": proposal["evidence_inline"],
            "evidence_refs": proposal["evidence_refs"],
        },
        "output_schema": called["task_contract"]["output_schema"],
        "policy": called["task_contract"]["acceptance"]["verifier_policy"],
    }
