"""Requests made from the document, right ones and wrong ones: every answer is one that it names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from signoff.service.native.pages import DOCUMENT
from tests.service.native import CONTRACT
from tests.service.running import Running

pytestmark = [
    pytest.mark.long,
    # of what brings schemathesis; what is tested runs in a process of its own
    pytest.mark.filterwarnings("default"),
]


def _text(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


for media_type in ("application/x-ndjson", "application/yaml", "application/toml"):
    schemathesis.serializer(media_type)(_text)

SCHEMA = schemathesis.openapi.from_dict(json.loads(DOCUMENT.read_bytes()))
# Which verifiers there are, and what their parameters may be, no schema says: a contract that
# has the shape may still be one that cannot be locked.
SCHEMA.config.checks.positive_data_acceptance.enabled = False


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with Running.signoff("--no-log") as made:
        yield made


@pytest.fixture(scope="module")
def digest(server: Running) -> str:
    body, headers = json.dumps(CONTRACT).encode(), {"Content-Type": "application/json"}
    return str(server.request("POST", "/v1/contracts", body, headers).json["digest"])


def test_document_is_valid() -> None:
    SCHEMA.validate()


@SCHEMA.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=[*HealthCheck])
def test_answers_are_those_that_the_document_names(case: Any, server: Running, digest: str) -> None:
    if isinstance(case.query, dict) and "contract" in case.query:
        case.query["contract"] = digest
    case.call_and_validate(base_url=server.url)

    assert 200 == server.request("GET", "/health").status
