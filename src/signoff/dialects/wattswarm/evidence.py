"""The evidence of a candidate: what it refers to, what came of looking, what it says of peers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import canonical, has_unsafe, loads
from signoff.dialects.wattswarm.request import ArtifactRef, Inline, VerifyRequest
from signoff.errors import JSONError
from signoff.jsonvalue import JSON, shown
from signoff.status import Cause

__all__ = [
    "JSON_MIME",
    "MAX_CONTENT",
    "MAX_REFERENCES",
    "NO_DIGEST",
    "Fetched",
    "Reference",
    "conclusion",
    "inline_fault",
    "is_digest",
    "output_ref_fault",
    "peers",
    "reference_of",
    "trimmed",
]

JSON_MIME: Final = "application/json"
MIMES: Final = (JSON_MIME, "text/plain", "text/markdown", "text/csv")
MAX_CONTENT: Final = 65_536
MAX_REFERENCES: Final = 32

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode White_Space, which is not what ``str.strip`` takes away by itself."""

NO_DIGEST: Final = "is not sha256: and 64 lower-case hex digits"

_DIGEST: Final = re.compile("sha256:[0-9a-f]{64}")


class Reference(Struct, frozen=True, kw_only=True):
    """
    Bytes that somebody says are elsewhere; equal references are one.

    Args:
        uri: Where they are said to be.
        digest: ``sha256:`` and the hex digest that they must have.
        size_bytes: How many they must be.
    """

    uri: str
    digest: str
    size_bytes: int


class Fetched(Struct, frozen=True, kw_only=True):
    """
    What came of fetching a reference.

    Args:
        data: The bytes, whose length and digest are those of the reference; None without them.
        cause: Why they could not be had, None when they were.
        detail: What happened, in one line.
    """

    data: bytes | None = None
    cause: Cause | None = None
    detail: str = ""


def is_digest(text: str) -> bool:
    """The text may be the digest of something; what is spelt otherwise never matches."""
    return _DIGEST.fullmatch(text) is not None


def reference_of(ref: ArtifactRef) -> Reference:
    """What has to be fetched for a reference as it was received."""
    return Reference(uri=ref.uri, digest=ref.digest, size_bytes=ref.size_bytes)


def trimmed(text: str) -> str:
    """The text without Unicode White_Space at its ends."""
    return text.strip(WHITE_SPACE)


def inline_fault(item: Inline) -> str | None:
    """Why a kernel refuses a piece of inline evidence; None where it does not."""
    if item.mime not in MIMES:
        return f'mime "{shown(item.mime, 100)}" is not one of {", ".join(MIMES)}'
    size = len(item.content) if item.content.isascii() else len(item.content.encode())
    if size > MAX_CONTENT:
        return f"content of {size} bytes, expected at most {MAX_CONTENT}"
    if item.mime == JSON_MIME:
        try:
            loads(item.content.encode())
        except JSONError as exc:
            return f"content is not JSON: {shown(str(exc))}"
    return None


def output_ref_fault(request: VerifyRequest, digest: str) -> tuple[str, bool] | None:
    """
    Why the reference does not name the output that was sent; None where it does.

    Args:
        request: The request.
        digest: Of the canonical output.

    Returns:
        What is wrong, and whether the kernel's parser can be the reason.
    """
    ref = request.output_ref
    if ref.digest == digest and ref.size_bytes == len(request.canonical):
        return None
    if not is_digest(ref.digest):
        return (
            f'digest "{shown(ref.digest, 80)}" is not sha256: and 64 lower-case hex digits',
            False,
        )
    if ref.size_bytes == len(request.raw) and ref.digest == digest_of(request.raw):
        return None
    told = (
        f"output_ref names {ref.digest} of {ref.size_bytes} bytes, "
        f"got {digest} of {len(request.canonical)} bytes"
    )
    return told, has_unsafe(request.output)


def peers(
    documents: Iterable[bytes],
    candidate_id: str,
    accepts: Callable[[JSON], bool],
) -> dict[str, bytes]:
    """
    The conclusions of other candidates, by their ids.

    One that concludes differently in two places has no vote, whatever is said of it besides.

    Args:
        documents: Evidence that says it is JSON.
        candidate_id: The candidate's own, which is no peer.
        accepts: Whether an output conforms to the schema.
    """
    found: dict[str, bytes | None] = {}
    for entry in _entries(documents):
        id_, output = entry.get("candidate_id"), entry.get("output")
        if not isinstance(id_, str) or id_ == candidate_id or output is None:
            continue
        if found.get(id_, b"") is None or not accepts(output):
            continue
        said = conclusion(output)
        found[id_] = said if found.setdefault(id_, said) == said else None
    return {id_: said for id_, said in found.items() if said is not None}


def conclusion(output: JSON) -> bytes:
    """What an output concludes, so that equal conclusions are equal bytes."""
    said = output
    if isinstance(output, dict):
        said = output.get("decision", output.get("answer", output))
    return canonical(trimmed(said).upper() if isinstance(said, str) else said)


def _entries(documents: Iterable[bytes]) -> Iterator[dict[str, JSON]]:
    """Every object that may speak of a candidate."""
    for document in documents:
        try:
            value = loads(document)
        except JSONError:
            continue
        listed = value.get("candidates") if isinstance(value, dict) else value
        entries = listed if isinstance(listed, list) else [value]
        yield from (entry for entry in entries if isinstance(entry, dict))
