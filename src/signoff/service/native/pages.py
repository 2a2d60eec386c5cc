"""The OpenAPI document as it is kept in the package, and the same as a page for people."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec

from signoff.service.message import Request, Response

__all__ = ["DOCUMENT", "docs", "openapi"]

DOCUMENT: Final = Path(__file__).parents[2] / "schemas" / "openapi.json"
STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;
color:#1a1a1a;background:#fff}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:#f3f3f3;padding:.7rem;overflow-x:auto}
h3{margin-top:2rem}.method{font-weight:bold}table{border-collapse:collapse}
td,th{text-align:left;vertical-align:top;padding:.15rem 1rem .15rem 0}
@media (prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}pre{background:#262626}
a{color:#8ab4f8}}
"""
EXAMPLES: Final = {
    "lockContract": (
        "curl -s localhost:8787/v1/contracts -H 'Content-Type: application/json' -d "
        """'{"id": "three", "criteria": [{"id": "enough", "verifier": "count_between", """
        """"params": {"min": 3, "max": 5}}]}'"""
    ),
    "getContract": "curl -s localhost:8787/v1/contracts/sha256:...",
    "verify": (
        "curl -s localhost:8787/v1/verify -H 'Content-Type: application/json' -d "
        """'{"contract": "sha256:...", "output": [1, 2, 3]}'"""
    ),
    "verifyBatch": (
        "curl -sN 'localhost:8787/v1/verify/batch?contract=sha256:...' "
        "-H 'Content-Type: application/x-ndjson' --data-binary @outputs.ndjson"
    ),
    "listVerifiers": "curl -s localhost:8787/v1/verifiers",
    "getReady": "curl -s localhost:8787/ready",
    "getMetrics": "curl -s localhost:8787/metrics",
}


def openapi(_: Request) -> Response:
    """The document."""
    return Response(200, _data())


def docs(_: Request) -> Response:
    """The page; it loads nothing and runs nothing."""
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'"
    headers = (("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"))
    return Response(200, _page(), "text/html; charset=utf-8", headers)


@lru_cache(maxsize=1)
def _data() -> bytes:
    return DOCUMENT.read_bytes()


@lru_cache(maxsize=1)
def _page() -> bytes:
    document: dict[str, Any] = msgspec.json.decode(_data())
    info = document["info"]
    title = f"{info['title']} {info['version']}"
    body = "\n".join(_body(document))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    ).encode()


def _body(document: dict[str, Any]) -> Iterator[str]:
    info = document["info"]
    yield f"<h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>"
    yield f"<p>{escape(info['summary'])}</p><p>{_text(info['description'])}</p>"
    yield '<p>For programs: <a href="openapi.json">openapi.json</a>, OpenAPI 3.1.</p>'
    for tag in document["tags"]:
        yield f"<h2>{escape(tag['name'])}</h2><p>{_text(tag['description'])}</p>"
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if tag["name"] in operation["tags"]:
                    yield from _operation(path, method, operation, document)


def _operation(
    path: str, method: str, operation: dict[str, Any], document: dict[str, Any]
) -> Iterator[str]:
    id_ = operation["operationId"]
    heading = f'<span class="method">{method.upper()}</span> {escape(path)}'
    yield f'<h3 id="{escape(id_)}"><code>{heading}</code></h3>'
    yield f"<p>{_text(operation['summary'])} {_text(operation.get('description', ''))}</p>"
    if id_ in EXAMPLES:
        yield f"<pre>{escape(EXAMPLES[id_])}</pre>"
    parameters = operation.get("parameters", [])
    if parameters:
        rows = ((one["name"], f"{one['in']}: {one['description']}") for one in parameters)
        yield _table("parameter", rows)
    yield _table("status", _answers(operation, document))


def _answers(operation: dict[str, Any], document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for status, answer in operation["responses"].items():
        name = answer.get("$ref", "").rpartition("/")[2]
        found = document["components"]["responses"][name] if name else answer
        yield status, found["description"]


def _table(what: str, rows: Iterator[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{_text(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table><tr><th>{what}</th><th></th></tr>{cells}</table>"


def _text(text: str) -> str:
    """Text as HTML, what stands between backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
