"""Requests for tests, and the vectors of conformance/wattswarm."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import canonical
from signoff.dialects.wattswarm.policies import doc_hash, kernel_hash
from signoff.dialects.wattswarm.reply import Identity
from signoff.dialects.wattswarm.translation import EvidenceMode
from signoff.service.message import Problem, Request
from signoff.service.wattswarm.verify import Verifying

FOLDER = Path(__file__).resolve().parents[3] / "conformance" / "wattswarm"
SCHEMA = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
OUTPUT = {"answer": "x"}
THREADS = ThreadPoolExecutor(2, "test-wattswarm")


def document(name: str) -> dict[str, Any]:
    """A file of vectors."""
    read: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_bytes())
    assert read["cases"]
    return read


def cases(*names: str) -> pytest.MarkDecorator:
    """One test for each vector of these files."""
    found = [(name, case) for name in names for case in document(name)["cases"]]
    params = [pytest.param(case, id=f"{n}-{case['description'][:60]}") for n, case in found]
    return pytest.mark.parametrize("case", params)


def reference(data: bytes, **more: Any) -> dict[str, Any]:
    """An ArtifactRef of some bytes."""
    return {
        "uri": "https://evidence.example/a",
        "digest": digest_of(data),
        "size_bytes": len(data),
        "mime": "application/json",
        "created_at": 1_718_000_000_000,
        "producer": "agent/model",
    } | more


def question(
    *,
    output: Any = OUTPUT,
    schema: Any = SCHEMA,
    policy: str = "schema_only",
    params: dict[str, Any] | None = None,
    inline: Any = (),
    refs: Any = (),
    form: str = "kernel",
) -> dict[str, Any]:
    """A request of the right shape, whose output_ref names the output."""
    id_, params = f"vp.{policy}.v1", params or {}
    return {
        "candidate": {
            "candidate_id": "c0",
            "execution_id": "e0",
            "output_ref": reference(canonical(output)),
            "output": deepcopy(output),
            "evidence_inline": list(inline),
            "evidence_refs": list(refs),
        },
        "output_schema": schema,
        "policy": {
            "policy_id": id_,
            "policy_version": "1",
            "policy_hash": kernel_hash(id_) if form == "kernel" else doc_hash(id_, params),
            "policy_params": params,
        },
    }


def identity(mode: str = "required") -> Identity:
    """The runtime of the vectors."""
    return Identity(
        provider_family="swarm-runtime",
        model_id="swarm-model-v1",
        engine="signoff/1",
        schema_engine="engine/1",
        evidence=EvidenceMode(mode),
    )


def verifying(mode: str = "required", **more: Any) -> Verifying:
    """A handler that kept no reply yet."""
    return Verifying(identity(mode), threads=THREADS, **more)


def asked(handler: Verifying, body: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """The reply of a handler, whether it takes its time or not."""
    data = body if isinstance(body, bytes) else compact(body)

    async def ask() -> bytes:
        answer = handler(Request(method="POST", path="/verify", body=data))
        response = await answer if inspect.isawaitable(answer) else answer
        assert response.status == 200
        return response.body

    reply: dict[str, Any] = json.loads(asyncio.run(ask()))
    return reply


def refused(handler: Verifying, body: bytes | Mapping[str, Any]) -> Problem:
    """The problem that a handler answers with."""
    with pytest.raises(Problem) as raised:
        asked(handler, body)
    return raised.value


def compact(value: Any) -> bytes:
    """JSON as a kernel sends it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def codes(reply: Mapping[str, Any]) -> list[int]:
    """The reason codes of a reply."""
    found: list[int] = reply["reason_codes"]
    return found
