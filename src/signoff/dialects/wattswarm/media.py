"""Pictures, sounds and films in a text, which a kernel admits in no piece of inline evidence."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Final

__all__ = ["media_fault"]

_DATA: Final = re.compile(r"data:(?:image|video|audio)/", re.IGNORECASE)
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{64,}")
_STANDARD: Final = str.maketrans("-_", "+/")
HEAD_CHARACTERS: Final = 512
"""Of a run, a multiple of four: where a file says what it is."""

_BEGINNINGS: Final = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"II*\0",
    b"MM\0*",
    b"8BPS\0\x01",
    b"\0\0\x01\0",
    b"\0\0\0\x0cJXL \r\n",
    b"\xff\x0a",
    b"OggS\0",
    b"fLaC\0",
    b"ID3\x02",
    b"ID3\x03",
    b"ID3\x04",
    b"MThd\0\0\0\x06",
    b".snd\0",
    b"#!AMR",
    b"\x1aE\xdf\xa3",
    b"FLV\x01",
    b"\0\0\x01\xba",
    b"\0\0\x01\xb3",
    b"0&\xb2u\x8ef\xcf\x11",
)
_IN_CHUNKS: Final = {
    b"RIFF": (b"WEBP", b"WAVE", b"AVI "),
    b"FORM": (b"AIFF", b"AIFC"),
}


def media_fault(text: str) -> str | None:
    """Why a text counts as holding media; None where it does not."""
    found = _DATA.search(text)
    if found is not None:
        return f"content has a {found[0].lower()} URL"
    for run in _RUN.finditer(text):
        if _is_media(_head(run[0])):
            return f"content has base64 of a media file at character {run.start()}"
    return None


def _head(run: str) -> bytes:
    """The first bytes of a run, as far as its characters go in fours."""
    part = run[: min(HEAD_CHARACTERS, len(run) // 4 * 4)]
    return base64.b64decode(part.translate(_STANDARD))


def _is_media(head: bytes) -> bool:
    return head.startswith(_BEGINNINGS) or any(look(head) for look in _LOOKS)


def _is_in_chunks(head: bytes) -> bool:
    return head[8:12] in _IN_CHUNKS.get(head[:4], ())


def _is_base_media(head: bytes) -> bool:
    """MP4, QuickTime, HEIF, AVIF, 3GP: a box that says which."""
    return head[4:8] == b"ftyp" or (head[4:8] in {b"moov", b"mdat"} and head[:2] == b"\0\0")


def _is_bitmap(head: bytes) -> bool:
    return head[:2] == b"BM" and head[6:10] == b"\0\0\0\0"


def _is_frame(head: bytes) -> bool:
    """MPEG audio or ADTS without a tag in front: the synchronising bits and a rate that exists."""
    if head[:2] in {b"\xff\xf1", b"\xff\xf9"}:
        return (head[2] >> 2) & 0xF < 13
    known = head[:2] in {b"\xff\xfb", b"\xff\xfa", b"\xff\xf3", b"\xff\xf2"}
    return known and head[2] >> 4 not in {0, 15} and (head[2] >> 2) & 3 != 3


def _is_transport(head: bytes) -> bool:
    return head[:1] == b"G" and head[188:189] == b"G"


def _is_drawing(head: bytes) -> bool:
    return b"<svg" in head[:384].lower()


_LOOKS: Final[tuple[Callable[[bytes], bool], ...]] = (
    _is_in_chunks,
    _is_base_media,
    _is_bitmap,
    _is_frame,
    _is_transport,
    _is_drawing,
)
