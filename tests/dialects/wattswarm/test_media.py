"""Acceptance row 20: media in inline evidence."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable

import pytest

from signoff.dialects.wattswarm.media import media_fault

FILL = bytes(range(1, 200))


def png() -> bytes:
    """A whole picture of one pixel."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


FILES = {
    "png": png(),
    "jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0" + FILL,
    "gif": b"GIF89a" + FILL,
    "webp": b"RIFF\x24\0\0\0WEBPVP8 " + FILL,
    "wav": b"RIFF\x24\0\0\0WAVEfmt " + FILL,
    "avi": b"RIFF\x24\0\0\0AVI LIST" + FILL,
    "bmp": b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0" + FILL,
    "tiff": b"II*\0\x08\0\0\0" + FILL,
    "mp4": b"\0\0\0\x20ftypisom" + FILL,
    "heic": b"\0\0\0\x18ftypheic" + FILL,
    "webm": b"\x1aE\xdf\xa3\x9f" + FILL,
    "ogg": b"OggS\0\x02" + FILL,
    "flac": b"fLaC\0\0\0\x22" + FILL,
    "mp3 with a tag": b"ID3\x04\0\0" + FILL,
    "mp3": b"\xff\xfb\x90\x64" + FILL,
    "aac": b"\xff\xf1\x50\x80" + FILL,
    "midi": b"MThd\0\0\0\x06" + FILL,
    "aiff": b"FORM\0\0\0\x20AIFFCOMM" + FILL,
    "mpeg": b"\0\0\x01\xba" + FILL,
    "transport stream": b"G\x40\0\x10" + b"\xff" * 184 + b"G" + FILL,
    "svg": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg">' + FILL,
    "icon": b"\0\0\x01\0\x01\0" + FILL,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("around", ["{}", 'here: "{}" is it', '{{"picture":"{}"}}'])
def test_base64_of_media_is_found(name: str, encode: Callable[[bytes], bytes], around: str) -> None:
    assert media_fault(around.format(encode(FILES[name]).decode())) is not None


def test_base64_in_lines_is_found() -> None:
    assert media_fault(base64.encodebytes(png() + FILL).decode()) is not None


@pytest.mark.parametrize("text", ["data:image/png;base64,", "x DATA:Video/mp4", "data:audio/,"])
def test_urls_of_media_are_found_whatever_follows(text: str) -> None:
    assert media_fault(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words about data:text/plain and images",
        "0123456789abcdef" * 8,
        "0123456789ABCDEF" * 8,
        "A" * 1_000,
        base64.b64encode(b"plain words, but long enough to be a run of characters").decode(),
        base64.b64encode(b'{"json": true, "long": "' + b"x" * 200 + b'"}').decode(),
        base64.b64encode(b"%PDF-1.7\n" + FILL).decode(),
        base64.b64encode(png()).decode()[:63],
        "a-path/that_is/very/long/" * 8,
        "x" * 65_536,
    ],
)
def test_other_texts_are_no_media(text: str) -> None:
    """Also a run of 63 characters, one too short to count."""
    assert media_fault(text) is None


def test_run_of_64_characters_counts() -> None:
    assert media_fault(base64.b64encode(png()).decode()[:64]) is not None
