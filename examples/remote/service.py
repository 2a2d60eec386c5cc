"""
A verifier service with nothing but Python: a text must have at most so many words.

python3 service.py [PORT]
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BYTES = 2**20


def verdict(question: dict) -> dict:
    """Answer whether the output holds; an exception here becomes status 400."""
    text, most = question["output"], question["params"]["max_words"]
    if not isinstance(text, str):
        return {"pass": False, "details": "the output is no text"}
    count = len(text.split())
    return {"pass": count <= most, "details": f"{count} words, at most {most}", "score": count}


class Handler(BaseHTTPRequestHandler):
    """Answers every POST, on whatever path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Reply to one question, or refuse it."""
        length = int(self.headers.get("Content-Length", 0))
        if length > MAX_BYTES:
            return self.send_error(413)
        body = self.rfile.read(length)
        try:
            reply = json.dumps(verdict(json.loads(body))).encode()
        except (ValueError, KeyError, TypeError):
            return self.send_error(400)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)


server = ThreadingHTTPServer(
    ("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Handler
)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
