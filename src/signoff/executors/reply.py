"""
What an executor is, and what it gives: one shape for all kinds.

A reply is ``{"output": any, "evidence": [{"mime", "content" or "content_base64",
"name"?}], "inline": [{"mime", "content"}]}``; the last two may be absent.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

from signoff.canonical import canonical_bytes
from signoff.errors import JSONError
from signoff.executors.failure import ExecutorOutputInvalid
from signoff.jsonvalue import JSON, json_type, shown
from signoff.strictjson import loads

__all__ = [
    "MAX_ITEMS",
    "MAX_LOG_BYTES",
    "MAX_REPLY_BYTES",
    "PLAIN",
    "Executed",
    "Executor",
    "Form",
    "Inline",
    "Item",
    "read_reply",
    "reply_of",
]

MAX_REPLY_BYTES: Final = 2**20
MAX_LOG_BYTES: Final = 64 * 2**10
MAX_ITEMS: Final = 31
"""Pieces of evidence: with one that the caller adds, as many as are usually looked at."""
MAX_NAME: Final = 200

_MEDIA_TYPE: Final = re.compile(
    r"[A-Za-z0-9!#$&^_.+-]{1,63}/[A-Za-z0-9!#$&^_.+-]{1,63}(?:; ?[a-z]{1,20}=[A-Za-z0-9._-]{1,40})?"
)


class Form(Struct, frozen=True, kw_only=True):
    """
    How JSON is written for an executor, and read from it.

    Args:
        dumps: The bytes of a value.
        loads: The value of bytes; raises ``JSONError``.
    """

    dumps: Callable[[JSON], bytes]
    loads: Callable[[bytes], JSON]


PLAIN: Final = Form(dumps=canonical_bytes, loads=loads)
"""Canonical JSON by RFC 8785, and strict JSON."""


class Item(Struct, frozen=True, kw_only=True):
    """
    A piece of evidence that an executor gave.

    Args:
        mime: Its media type.
        data: The bytes.
        name: What the executor calls it.
    """

    mime: str
    data: bytes
    name: str = ""


class Inline(Struct, frozen=True, kw_only=True):
    """A short text that goes along with the output."""

    mime: str
    content: str


class Executed(Struct, frozen=True, kw_only=True):
    """
    What an executor gave.

    Args:
        output: The work.
        evidence: What is kept beside it.
        inline: What is sent along with it.
        log: What it printed for people, at most ``MAX_LOG_BYTES``.
    """

    output: JSON
    evidence: tuple[Item, ...] = ()
    inline: tuple[Inline, ...] = ()
    log: bytes = b""


class Executor(Protocol):
    """Who does the work; safe to use from many threads at once."""

    @property
    def name(self) -> str:
        """What it is called where others read it: no folders, addresses or arguments."""
        ...

    def prepare(self) -> None:
        """
        Find out whether it can be run at all.

        Raises:
            ExecutorFailed: It cannot; says what is missing.
        """
        ...

    def run(self, request: JSON, deadline_s: float) -> Executed:
        """
        The work on a request, with nothing left running.

        Raises:
            ExecutorFailed: It could not be run, or ended without an answer.
            ExecutorTimedOut: It had no answer after ``deadline_s`` seconds.
            ExecutorOutputInvalid: It answered what no executor may.
        """
        ...

    def close(self) -> None:
        """End whatever runs; it is not used again."""
        ...


def read_reply(executor: str, data: bytes, form: Form, *, log: bytes = b"") -> Executed:
    """
    What the bytes of a reply say.

    Raises:
        ExecutorOutputInvalid: They are too many, no JSON, or of another shape.
    """
    if len(data) > MAX_REPLY_BYTES:
        reason = f"it has more than {MAX_REPLY_BYTES} bytes"
        raise ExecutorOutputInvalid(executor, "", reason, log=log)
    try:
        value = form.loads(data)
    except JSONError as exc:
        reason = f"no JSON ({shown(str(exc))})" if data.strip() else "nothing, expected JSON"
        raise ExecutorOutputInvalid(executor, "", reason, log=log) from exc
    return reply_of(executor, value, log=log)


def reply_of(executor: str, value: JSON, *, log: bytes = b"") -> Executed:
    """
    What a reply says.

    Raises:
        ExecutorOutputInvalid: It has another shape.
    """
    try:
        reply = _mapping(value, "")
        return Executed(
            output=_member(reply, "output", ""),
            evidence=tuple(
                _item(entry, f"/evidence/{at}") for at, entry in _entries(reply, "evidence")
            ),
            inline=tuple(
                _inline(entry, f"/inline/{at}") for at, entry in _entries(reply, "inline")
            ),
            log=log,
        )
    except _Wrong as exc:
        raise ExecutorOutputInvalid(executor, exc.at, exc.reason, log=log) from None


class _Wrong(Exception):
    """Something in a reply is not what it must be."""

    def __init__(self, at: str, reason: str) -> None:
        super().__init__(at, reason)
        self.at = at
        self.reason = reason


def _entries(reply: dict[str, JSON], name: str) -> list[tuple[int, JSON]]:
    entries = reply.get(name, [])
    if not isinstance(entries, list):
        raise _Wrong(f"/{name}", f"must be array, got {json_type(entries)}")
    if len(entries) > MAX_ITEMS:
        raise _Wrong(f"/{name}", f"must have at most {MAX_ITEMS} items, got {len(entries)}")
    return [*enumerate(entries)]


def _item(value: JSON, at: str) -> Item:
    entry = _mapping(value, at)
    if ("content" in entry) == ("content_base64" in entry):
        raise _Wrong(at, "must have either content or content_base64")
    if "content" in entry:
        data = _text(entry, "content", at).encode()
    else:
        data = _decoded(_text(entry, "content_base64", at), at)
    name = _text(entry, "name", at) if "name" in entry else ""
    return Item(mime=_mime(entry, at), data=data, name=name[:MAX_NAME])


def _inline(value: JSON, at: str) -> Inline:
    entry = _mapping(value, at)
    return Inline(mime=_text(entry, "mime", at), content=_text(entry, "content", at))


def _mapping(value: JSON, at: str) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise _Wrong(at, f"must be object, got {json_type(value)}")
    return value


def _member(entry: dict[str, JSON], name: str, at: str) -> JSON:
    if name not in entry:
        raise _Wrong(f"{at}/{name}", "is missing")
    return entry[name]


def _text(entry: dict[str, JSON], name: str, at: str) -> str:
    value = _member(entry, name, at)
    if not isinstance(value, str):
        raise _Wrong(f"{at}/{name}", f"must be string, got {json_type(value)}")
    return value


def _mime(entry: dict[str, JSON], at: str) -> str:
    mime = _text(entry, "mime", at)
    if _MEDIA_TYPE.fullmatch(mime) is None:
        raise _Wrong(f"{at}/mime", f'must be a media type, got "{shown(mime, 80)}"')
    return mime


def _decoded(text: str, at: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _Wrong(f"{at}/content_base64", "must be base64") from None
