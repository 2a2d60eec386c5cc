"""How signoff, the keeper and the guardians talk: handles, requests, answers."""

from __future__ import annotations

import marshal
from _json import encode_basestring_ascii
from _socket import CMSG_SPACE, MSG_NOSIGNAL, SCM_RIGHTS, SOL_SOCKET, socket
from array import array
from typing import Any, Final

__all__ = ["Gone", "answer", "encode_request", "read_request", "receive_handles", "send_handles"]

LENGTH: Final = 8
MAX_HANDLES: Final = 8
MSG_CMSG_CLOEXEC: Final = 0x40000000


class Gone(Exception):
    """The other side has closed the channel."""


def send_handles(channel: socket, data: bytes, handles: list[int]) -> None:
    """Sends bytes, and with the first of them copies of handles."""
    rights = [(SOL_SOCKET, SCM_RIGHTS, array("i", handles))] if handles else []
    sent = channel.sendmsg([data], rights, MSG_NOSIGNAL)
    while sent < len(data):
        sent += channel.send(data[sent:], MSG_NOSIGNAL)


def receive_handles(channel: socket, size: int) -> tuple[bytes, list[int]]:
    """Bytes as they come, and the handles that came with them."""
    space = CMSG_SPACE(MAX_HANDLES * array("i").itemsize)
    data, rights, _, _ = channel.recvmsg(size, space, MSG_CMSG_CLOEXEC)
    handles = array("i")
    for level, kind, value in rights:
        if level == SOL_SOCKET and kind == SCM_RIGHTS:
            handles.frombytes(value[: len(value) - len(value) % handles.itemsize])
    return data, list(handles)


def encode_request(request: dict[str, Any]) -> bytes:
    """A request as signoff sends it: its length, then itself, for the same interpreter."""
    body = marshal.dumps(request)
    return len(body).to_bytes(LENGTH, "big") + body


def read_request(channel: socket) -> dict[str, Any]:
    """
    The request that signoff, the parent of all here, has sent.

    Raises:
        Gone: Signoff has ended before it had sent it.
    """
    size = int.from_bytes(_exactly(channel, LENGTH), "big")
    body = _exactly(channel, size)
    request: dict[str, Any] = marshal.loads(body)  # noqa: S302 - the parent's own words
    return request


def answer(facts: dict[str, Any]) -> bytes:
    """Facts as a line of JSON, without the package for it, which is dear at start-up."""
    return _json(facts).encode("ascii") + b"\n"


def _json(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        pairs = (f"{_json(key)}:{_json(item)}" for key, item in value.items())
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_json(item) for item in value) + "]"
    return encode_basestring_ascii(str(value).encode("utf-8", "replace").decode("utf-8"))


def _exactly(channel: socket, size: int) -> bytes:
    parts = list[bytes]()
    while size:
        part = channel.recv(min(size, 2**20))
        if not part:
            raise Gone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
