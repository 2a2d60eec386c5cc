"""A real server of embeddings, and what a server can do instead of answering."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import create_server
from typing import Any

DIMENSIONS = 32


def hashed(text: str) -> list[float]:
    """Counts of a text's words, each word in a place of its own; near texts have near counts."""
    vector = [0.0] * DIMENSIONS
    for word in text.lower().split():
        vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    return vector


def embedded(texts: list[str]) -> list[list[float]]:
    """What the server makes of texts, as a function."""
    return [hashed(text) for text in texts]


def data_of(vectors: list[Any]) -> list[Any]:
    """Vectors as the server lists them, in an order of its own."""
    entries = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    return entries[::-1]


class Asked:
    """One request as it came."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.path = handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body: Any = json.loads(handler.rfile.read(int(self.headers["content-length"])))

    def answer(self) -> bytes:
        """The right answer."""
        return json.dumps(
            {
                "object": "list",
                "data": data_of(embedded(self.body["input"])),
                "model": self.body["model"],
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
            }
        ).encode()


Answering = Callable[[BaseHTTPRequestHandler, Asked], None]


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    """A whole reply."""
    handler.send_response(status)
    for name, value in {"Content_Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def rightly(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    """Answers as it should."""
    send(handler, asked.answer(), Content_Type="application/json")


def saying(body: bytes | object, status: int = 200, **headers: str) -> Answering:
    """Answers the same to everything."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda handler, _: send(handler, data, status, **headers)


class Server(ThreadingHTTPServer):
    """Remembers what it was asked."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, answering: Answering) -> None:
        self.asked: list[Asked] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = Asked(self)
                server.asked.append(asked)
                answering(self, asked)

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = self
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are what is tested."""

    @property
    def url(self) -> str:
        """Where it is asked, without the route."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(answering: Answering = rightly) -> Iterator[Server]:
    """A server for as long as the block lasts."""
    with Server(answering) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def silence() -> Iterator[str]:
    """The URL of a server that takes connections and never says a word."""
    with create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def nobody() -> str:
    """The URL of a port where nobody listens any more."""
    with create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    return f"http://127.0.0.1:{port}"
