"""
The OpenAPI document of the service: paths by hand, documents by the published schemas.

The schemas of contracts, locks and reports are those that are published anyway, so
that they are said once.
"""

from __future__ import annotations

from typing import Any

from signoff import __version__
from tools.schemas import DIGEST, schema_of

__all__ = ["document"]

Schema = dict[str, Any]

DOCUMENTS = ("contract", "lock", "report")
REASONS = {
    "400": "The body is not strict JSON (or YAML, or TOML), or the request is no HTTP.",
    "401": "A token is asked for, and this is none of them.",
    "403": "A web page asks: the request has an Origin.",
    "404": "There is no such thing.",
    "405": "The path is answered for other methods.",
    "408": "The request did not arrive in time.",
    "413": "The body is larger than bodies may be.",
    "415": "The body is of another media type, or encoded.",
    "422": "The document or the request has not the shape; `errors` lists the faults.",
    "431": "The head of the request is larger than heads may be.",
    "500": "The server failed; nothing was judged.",
    "501": "What this needs is not installed.",
    "503": "Too much is asked at once, there is no room, or the ledger cannot be written.",
}
ANY = ("401", "405", "431", "500", "503")
BODY = ("400", "403", "408", "413", "415", "422")
NAME: Schema = {
    "description": "What the client calls it; it is the verdict's subject in a ledger.",
    "anyOf": [
        {"type": "string", "minLength": 1, "maxLength": 200},
        {"type": "integer"},
        {"type": "null"},
    ],
}
FACTS: dict[str, Schema] = {
    "output": {"description": "The output, any JSON value."},
    "id": NAME,
    "input": {"description": "What the work was given."},
    "elapsed_s": {
        "description": "Seconds the work took.",
        "anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}],
    },
    "exit_code": {
        "description": "Exit code of the work.",
        "anyOf": [{"type": "integer"}, {"type": "null"}],
    },
    "tools": {
        "description": "The calls of tools, in order.",
        "anyOf": [
            {"type": "array", "items": {"$ref": "#/components/schemas/ToolCall"}},
            {"type": "null"},
        ],
    },
    "base": {
        "description": "Commit that the work started from.",
        "anyOf": [{"type": "string"}, {"type": "null"}],
    },
}
OUTCOME: Schema = {"$ref": "#/components/schemas/Outcome"}
COUNT: Schema = {"type": "integer", "minimum": 0}


def document() -> Schema:
    """The document, whole."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "signoff",
            "version": __version__,
            "summary": "Contracts that are locked before the work, and verdicts on its results.",
            "description": (
                "Lock a contract, then have outputs judged by it, one by one or in bulk. A verdict"
                " is always status 200, also one that the work failed; every other status says"
                " that nothing was judged, as `application/problem+json` (RFC 9457)."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{}, {"token": []}],
        "tags": [
            {"name": "contracts", "description": "What must hold, locked and known by its digest."},
            {"name": "verdicts", "description": "Whether it holds."},
            {"name": "service", "description": "What this server is and whether it is well."},
        ],
        "paths": _paths(),
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Where the server was started with tokens; one of them.",
                }
            },
            "responses": {_answer(status): _problem(reason) for status, reason in REASONS.items()},
            "schemas": dict(sorted({**_published(), **_own()}.items())),
        },
    }


def _paths() -> Schema:
    digest = {
        "name": "digest",
        "in": "path",
        "required": True,
        "description": "Digest of a contract that was locked here.",
        "schema": DIGEST,
    }
    return {
        "/v1/contracts": {"post": _post_contract()},
        "/v1/contracts/{digest}": {
            "get": {
                "operationId": "getContract",
                "tags": ["contracts"],
                "summary": "Read the lock of a contract.",
                "parameters": [digest],
                "responses": _responses("404", ok={"200": _json("LockFile", "The lock file.")}),
            }
        },
        "/v1/verify": {"post": _post_verify()},
        "/v1/verify/batch": {"post": _post_batch()},
        "/v1/verifiers": {
            "get": _get("listVerifiers", "List what can be checked.", "VerifierList", ())
        },
        "/health": {
            "get": _get("getHealth", "Say that the worker lives.", "Health", (), open_=True)
        },
        "/ready": {
            "get": _get("getReady", "Say whether the worker can judge.", "Ready", (), open_=True)
        },
        "/metrics": {
            "get": _text("getMetrics", "Counts and times, for Prometheus.", "text/plain", ("501",))
        },
        "/openapi.json": {"get": _document()},
        "/docs": {
            "get": _text("getDocs", "This document, for people.", "text/html", (), open_=True)
        },
        "/": {"get": _text("getRoot", "The same page.", "text/html", (), open_=True)},
    }


def _post_contract() -> Schema:
    location = {
        "Location": {
            "description": "Path of the contract.",
            "schema": {"type": "string", "pattern": "^/v1/contracts/sha256:[0-9a-f]{64}$"},
        }
    }
    body = {"anyOf": [_ref("Contract"), _ref("LockFile")]}
    return {
        "operationId": "lockContract",
        "tags": ["contracts"],
        "summary": "Lock a contract, or name every fault in it.",
        "description": (
            "Checks that start commands or read files of the server are refused. A contract that is"
            " kept already is answered with 200 and the lock it has. A lock file is a document too."
        ),
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": body},
                "application/yaml": {"schema": {"type": "string"}},
                "application/toml": {"schema": {"type": "string"}},
            },
        },
        "responses": _responses(
            *BODY,
            ok={
                "200": _json("LockFile", "It was kept already.", location),
                "201": _json("LockFile", "It is locked, and kept.", location),
            },
        ),
    }


def _post_verify() -> Schema:
    return {
        "operationId": "verify",
        "tags": ["verdicts"],
        "summary": "Judge an output.",
        "description": (
            "The report is that of `signoff verify --json`. A contract that is sent along is locked"
            " on the spot, and the report says so: `weakened` holds `locked_at_verify`."
        ),
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _ref("VerifyRequest")}},
        },
        "responses": _responses(
            "404", *BODY, ok={"200": _json("Report", "The report, whatever its verdict.")}
        ),
    }


def _post_batch() -> Schema:
    return {
        "operationId": "verifyBatch",
        "tags": ["verdicts"],
        "summary": "Judge many outputs, a line each.",
        "description": (
            "The body has a `BatchLine` in each line, the reply a `BatchAnswer` for each of them,"
            " in their order, while the body is still being sent; its last line is a"
            " `BatchSummary`, without which it was cut. A line that cannot be used is answered by"
            " an `error`, and the next one is read."
        ),
        "parameters": [
            {
                "name": "contract",
                "in": "query",
                "required": True,
                "description": "Digest of a contract that was locked here.",
                "schema": DIGEST,
            },
            {
                "name": "detail",
                "in": "query",
                "description": "What a line says of its verdict; `report` is all of it.",
                "schema": {"enum": ["outcome", "report"], "default": "outcome"},
            },
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/x-ndjson": {"schema": {"description": "One `BatchLine` in each line."}}
            },
        },
        "responses": _responses(
            "400",
            "403",
            "404",
            "408",
            "415",
            "422",
            ok={
                "200": {
                    "description": "One `BatchAnswer` for each line, then a `BatchSummary`.",
                    "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
                }
            },
        ),
    }


def _get(
    id_: str, summary: str, schema: str, faults: tuple[str, ...], *, open_: bool = False
) -> Schema:
    return {
        "operationId": id_,
        "tags": ["service"],
        "summary": summary,
        **({"security": []} if open_ else {}),
        "responses": _responses(*faults, ok={"200": _json(schema, summary)}, open_=open_),
    }


def _document() -> Schema:
    found = _get("getOpenAPI", "This document.", "Contract", (), open_=True)
    content = {"application/json": {"schema": {"type": "object", "required": ["openapi"]}}}
    found["responses"]["200"] = {"description": "This document.", "content": content}
    return found


def _text(
    id_: str, summary: str, media_type: str, faults: tuple[str, ...], *, open_: bool = False
) -> Schema:
    found = _get(id_, summary, "Contract", faults, open_=open_)
    content = {media_type: {"schema": {"type": "string"}}}
    found["responses"]["200"] = {"description": summary, "content": content}
    return found


def _responses(*faults: str, ok: Schema, open_: bool = False) -> Schema:
    usual = [status for status in ANY if not (open_ and status == "401")]
    named = sorted({*faults, *usual})
    return ok | {status: {"$ref": f"#/components/responses/{_answer(status)}"} for status in named}


def _answer(status: str) -> str:
    return f"Problem{status}"


def _problem(reason: str) -> Schema:
    return {
        "description": reason,
        "content": {"application/problem+json": {"schema": _ref("Problem")}},
    }


def _json(schema: str, description: str, headers: Schema | None = None) -> Schema:
    found: Schema = {"description": description}
    if headers:
        found["headers"] = headers
    return found | {"content": {"application/json": {"schema": _ref(schema)}}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _published() -> dict[str, Schema]:
    """The published schemas and all that they are made of, by name."""
    found: dict[str, Schema] = {}
    for name in DOCUMENTS:
        top = schema_of(name)
        parts = top.pop("$defs")
        title = {"contract": "Contract", "lock": "LockFile", "report": "Report"}[name]
        for key in ("$schema", "$id", "title"):
            del top[key]
        found |= {key: _moved(part) for key, part in ({title: top} | parts).items()}
    # As a reply it is read, and as a request it is written: with what editors put there.
    found["Contract"] = _moved(_without(schema_of("contract")))
    return found


def _without(schema: Schema) -> Schema:
    return {
        key: value
        for key, value in schema.items()
        if key not in {"$schema", "$id", "title", "$defs"}
    }


def _moved(value: Any) -> Any:
    """The schema with its references led to where the components are."""
    if isinstance(value, dict):
        return {
            key: item.replace("#/$defs/", "#/components/schemas/")
            if key == "$ref" and isinstance(item, str)
            else _moved(item)
            for key, item in value.items()
        }
    return [*map(_moved, value)] if isinstance(value, list) else value


def _object(description: str, properties: dict[str, Schema], *required: str) -> Schema:
    return {
        "description": description,
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def _own() -> dict[str, Schema]:
    contract = {
        "description": "Digest of a contract that was locked here, or a contract, or a lock file.",
        "anyOf": [DIGEST, _ref("Contract"), _ref("LockFile")],
    }
    status = {"type": "string"}
    return {
        "VerifyRequest": _object(
            "An output, what is recorded with it, and the contract.",
            {"contract": contract, **FACTS},
            "contract",
            "output",
        ),
        "BatchLine": _object("An output, and what is recorded with it.", FACTS, "output"),
        "BatchAnswer": _object(
            "What a line comes to: an outcome, or an error.",
            {
                "line": {"type": "integer", "minimum": 1},
                "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "outcome": OUTCOME,
                "cause": _ref("Cause"),
                "blockers": {"type": "array", "items": {"type": "string"}},
                "report": _ref("Report"),
                "error": _ref("LineFault"),
            },
            "line",
        ),
        "LineFault": _object(
            "Why a line has no verdict.",
            {
                "code": {"type": "string"},
                "detail": {"type": "string"},
                "pointer": {"type": "string"},
            },
            "code",
            "detail",
        ),
        "BatchSummary": _object(
            "The last line of a batch.",
            {"contract": DIGEST, **dict.fromkeys(_COUNTS, COUNT)},
            "contract",
            *_COUNTS,
        ),
        "Problem": _problem_schema(),
        "ToolCall": _object(
            "One recorded call of a tool.",
            {"name": {"type": "string"}, "status": {"description": "As the tool reported it."}},
            "name",
        ),
        "VerifierList": _object(
            "What contracts may name, and what they may not though it is there.",
            {"verifiers": {"type": "array", "items": _ref("VerifierInfo")}},
            "verifiers",
        ),
        "VerifierInfo": _object(
            "One verifier.",
            {
                "id": {"type": "string"},
                "description": {"type": "string"},
                "origin": {"type": "string"},
                "in_use": {"type": "boolean", "description": "Contracts may name it."},
            },
            "id",
            "description",
            "origin",
            "in_use",
        ),
        "Health": _object("It lives.", {"status": status | {"const": "ok"}}, "status"),
        "Ready": _object("It can judge.", {"status": status | {"const": "ready"}}, "status"),
    }


_COUNTS = ("lines", "passed", "inconclusive", "failed", "errors")


def _problem_schema() -> Schema:
    error = {
        "type": "object",
        "properties": {
            "pointer": {"type": "string"},
            "detail": {"type": "string"},
            "line": {"type": "integer"},
            "column": {"type": "integer"},
        },
        "required": ["detail"],
    }
    return {
        "description": "Why there is no answer (RFC 9457); at most 2 KiB.",
        "type": "object",
        "properties": {
            "type": {"const": "about:blank"},
            "title": {"type": "string"},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": {"type": "string"},
            "code": {"type": "string", "description": "A word that programs compare."},
            "pointer": {"type": "string", "description": "JSON Pointer of the first fault."},
            "request_id": {"type": "string"},
            "errors": {
                "description": "The faults one by one, as many as there is room for.",
                "type": "array",
                "items": error,
            },
        },
        "required": ["type", "title", "status", "detail", "code", "request_id"],
    }
