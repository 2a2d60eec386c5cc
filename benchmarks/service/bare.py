"""An ASGI application that reads the body and answers with what BARE_REPLY holds, a file."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

__all__ = ["app"]

REPLY: Final = Path(os.environ["BARE_REPLY"]).read_bytes()
START: Final = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(REPLY)),
    ],
}
BODY: Final = {"type": "http.response.body", "body": REPLY}

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def app(_: dict[str, Any], receive: Receive, send: Send) -> None:
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await send(START)
    await send(BODY)
