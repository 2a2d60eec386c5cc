"""Strict loading, canonical bytes and digests against parsers that are not strict."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any, Final

import orjson
import rfc8785

from benchmarks.row import Pair, Row
from benchmarks.samples import output
from benchmarks.timing import calling
from signoff.canonical import digest
from signoff.strictjson import loads, loads_canonical

__all__ = ["ROWS"]


def _loads(load: Callable[[bytes], Any]) -> Pair:
    data = orjson.dumps(output())
    return Pair(
        ours=calling(loads, data),
        peer=calling(load, data),
        answers=lambda: (loads(data), load(data)),
        note=f"{len(data)} bytes",
    )


def _canonical() -> Pair:
    data = orjson.dumps(output())
    return Pair(
        ours=calling(loads_canonical, data),
        peer=calling(orjson.loads, data),
        answers=lambda: (
            loads_canonical(data),
            (orjson.loads(data), rfc8785.dumps(orjson.loads(data))),
        ),
    )


def _digest() -> Pair:
    value: Any = output()
    return Pair(
        ours=calling(digest, value),
        peer=calling(_by_rfc8785, value),
        answers=lambda: (digest(value), _by_rfc8785(value)),
    )


def _by_rfc8785(value: Any) -> str:
    return f"sha256:{sha256(rfc8785.dumps(value)).hexdigest()}"


ROWS: Final = (
    Row(
        name="loads-orjson",
        ours="strict loads",
        peer="orjson.loads",
        prepare=partial(_loads, orjson.loads),
        note="orjson lets the last of equal keys win",
    ),
    Row(
        name="loads-json",
        ours="strict loads",
        peer="json.loads",
        prepare=partial(_loads, json.loads),
        note="json lets the last of equal keys win, and NaN in",
    ),
    Row(
        name="canonical-orjson",
        ours="strict loads with canonical bytes",
        peer="orjson.loads",
        prepare=_canonical,
    ),
    Row(
        name="digest-rfc8785",
        ours="digest of a parsed value",
        peer="rfc8785.dumps, sha256",
        prepare=_digest,
    ),
)
