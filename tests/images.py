"""Real image files, made with Pillow, and the damage that is done to them."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from typing import Any

from PIL import Image

RED, BLUE, GREEN = (200, 30, 40), (20, 40, 200), (30, 160, 60)


def encoded(image: Image.Image, format_: str = "PNG", **options: Any) -> bytes:
    """The image as a file of that format."""
    file = io.BytesIO()
    image.save(file, format_, **options)
    return file.getvalue()


def flat(color: Any = RED, size: tuple[int, int] = (8, 8), mode: str = "RGB") -> Image.Image:
    """An image of one colour."""
    return Image.new(mode, size, color)


def noise(size: tuple[int, int] = (64, 64)) -> Image.Image:
    """An image that no format makes much smaller; the same each time."""
    state, values = 1, bytearray()
    for _ in range(size[0] * size[1] * 3):
        state = (state * 1_103_515_245 + 12_345) % 2**31
        values.append(state >> 16 & 255)
    return Image.frombytes("RGB", size, bytes(values))


def animated(format_: str, frames: int = 3, **options: Any) -> bytes:
    """A file of that format with so many frames, the first of them ``RED``."""
    colors = [RED, BLUE, GREEN]
    first, *rest = (flat(colors[at % 3]) for at in range(frames))
    return encoded(first, format_, save_all=True, append_images=rest, duration=10, **options)


def data_uri(data: bytes, type_: str = "image/png") -> str:
    """The bytes as a data URI."""
    return f"data:{type_};base64,{base64.b64encode(data).decode()}"


def chunk(name: bytes, data: bytes) -> bytes:
    """A chunk of a PNG file, with its checksum."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(
    width: int, height: int, *chunks: bytes, rows: bytes = b"", depth: int = 8, kind: int = 2
) -> bytes:
    """A PNG file with that header, whatever its rows are."""
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(rows, 9))
    ends = chunk(b"IHDR", header), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + ends[0] + b"".join(chunks) + body + ends[1]
