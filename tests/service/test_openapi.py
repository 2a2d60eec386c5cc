"""The document of the API is what is served, whole, valid, and true of every answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from signoff.service.native.pages import DOCUMENT
from signoff.service.problem import problem_response
from tests.service.native import BAD, CONTRACT, GOOD, Native, Reply
from tools.openapi import document

OPERATIONS = [
    pytest.param(path, method, id=f"{method} {path}")
    for path, found in document()["paths"].items()
    for method in found
]


@pytest.fixture
def native(tmp_path: Path) -> Iterator[Native]:
    with Native(tmp_path) as made:
        yield made


def valid(name: str, value: object) -> bool:
    """The value conforms to a component."""
    kept = document()["components"]["schemas"]
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": kept}}
    return jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(value)


# -- the document --


def test_kept_document_is_what_is_served(native: Native) -> None:
    reply = native.call("GET", "/openapi.json")

    assert (200, DOCUMENT.read_bytes()) == (reply.status, reply.body)
    assert document() == json.loads(reply.body)


def test_every_route_is_in_the_document_and_no_other(native: Native) -> None:
    routes = {(route.path, route.method.lower()) for route in native.part.routes}

    assert {(one.values[0], one.values[1]) for one in OPERATIONS} == routes


def test_routes_that_need_no_token_say_so(native: Native) -> None:
    paths = document()["paths"]
    open_ = {route.path for route in native.part.routes if not route.token}

    assert open_ == {
        path for path, found in paths.items() for one in found.values() if [] == one.get("security")
    }


def test_media_types_are_those_that_are_let_in(native: Native) -> None:
    for route in native.part.routes:
        body = document()["paths"][route.path][route.method.lower()].get("requestBody", {})
        named = {*body.get("content", {})} - {"application/json"}

        assert named <= {*route.types}


def test_references_lead_somewhere() -> None:
    text = json.dumps(document())
    for pointer in re.findall(r'"\$ref": "#([^"]+)"', text):
        found: Any = document()
        for token in pointer.split("/")[1:]:
            found = found[token]
    components = document()["components"]
    for kind in ("schemas", "responses"):
        unused = [name for name in components[kind] if f"#/components/{kind}/{name}" not in text]

        assert [] == [
            name for name in unused if name not in {"BatchLine", "BatchAnswer", "BatchSummary"}
        ]


@pytest.mark.parametrize("name", document()["components"]["schemas"])
def test_schemas_are_json_schemas(name: str) -> None:
    schema = document()["components"]["schemas"][name]

    assert jsonschema_rs.meta.is_valid(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    )
    assert schema["description"]


# -- the page --


def test_page_is_for_a_person_and_loads_nothing(native: Native) -> None:
    reply = native.call("GET", "/docs")
    text = reply.body.decode()

    assert reply.body == native.call("GET", "/").body
    assert [] == re.findall(r"<script|src=|@import|url\(|\son\w+=", text)
    assert ["openapi.json"] == re.findall(r'href="([^#"][^"]*)"', text)
    assert all(f"{path}</code>" in text for path in document()["paths"])
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/=]{44}'; frame-ancestors 'none'",
        reply.headers["Content-Security-Policy"],
    )


def test_styles_have_the_digest_that_the_policy_allows(native: Native) -> None:
    from base64 import b64encode
    from hashlib import sha256

    reply = native.call("GET", "/docs")
    [style] = re.findall(r"<style>(.*?)</style>", reply.body.decode(), re.DOTALL)

    assert (
        b64encode(sha256(style.encode()).digest()).decode()
        in reply.headers["Content-Security-Policy"]
    )


# -- the answers --


def answers(native: Native) -> Iterator[tuple[str, str, Reply]]:
    """One of each kind, with its path in the document and its method."""
    yield "/v1/contracts", "post", native.call("POST", "/v1/contracts", CONTRACT)
    yield "/v1/contracts", "post", native.call("POST", "/v1/contracts", CONTRACT)
    yield "/v1/contracts", "post", native.call("POST", "/v1/contracts", {"id": 1})
    yield "/v1/contracts", "post", native.call("POST", "/v1/contracts", b"{")
    digest = native.locked()
    yield "/v1/contracts/{digest}", "get", native.call("GET", f"/v1/contracts/{digest}")
    yield "/v1/contracts/{digest}", "get", native.call("GET", "/v1/contracts/none")
    for contract in (digest, CONTRACT, "sha256:" + "0" * 64, None):
        for output in (GOOD, BAD):
            body = {"contract": contract, "output": output}
            yield "/v1/verify", "post", native.call("POST", "/v1/verify", body)
    for path in ("/v1/verifiers", "/health", "/ready"):
        yield path, "get", native.call("GET", path)
    native.worker.draining = True
    yield "/ready", "get", native.call("GET", "/ready")


def test_answers_are_as_the_document_says(native: Native) -> None:
    for path, method, reply in answers(native):
        said = document()["paths"][path][method]["responses"][str(reply.status)]
        if "$ref" in said:
            name = "Problem"
        else:
            name = said["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]

        assert valid(name, reply.json), (path, reply)


@pytest.mark.parametrize("detail", ["outcome", "report"])
def test_lines_are_as_the_document_says(native: Native, detail: str) -> None:
    lines = [
        {"output": GOOD, "id": "a"},
        {"output": BAD, "id": 2, "elapsed_s": 1},
        {},
        {"output": 1},
    ]
    body = b"".join(json.dumps(one).encode() + b"\n" for one in lines) + b"{\n"
    written = native.batch(f"contract={native.locked()}&detail={detail}", [body])
    *found, summary = [json.loads(one) for one in b"".join(written.pieces).splitlines()]

    assert [True, True, False, True] == [valid("BatchLine", one) for one in lines]
    assert [True] * 5 == [valid("BatchAnswer", one) for one in found]
    assert valid("BatchSummary", summary)


def test_problems_of_the_server_are_as_the_document_says() -> None:
    from signoff.service.message import Problem

    made = problem_response(
        Problem(503, "busy", "x" * 5000, pointer="/a", errors=[{"detail": "y"}]), "id"
    )

    assert valid("Problem", json.loads(made.body))
    assert len(made.body) <= 2048
