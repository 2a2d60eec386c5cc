"""Texts and bytes cut to a number of bytes, never inside a character."""

from __future__ import annotations

__all__ = ["last_text", "truncate_utf8_bytes"]


def truncate_utf8_bytes(text: str, max_bytes: int) -> str:
    """
    The longest prefix of whole code points that has at most ``max_bytes`` bytes in UTF-8.

    A text that fits is returned as it is; a lone surrogate becomes "?".

    Raises:
        ValueError: ``max_bytes`` is negative.
    """
    if max_bytes < 0:
        raise ValueError(f"max_bytes must not be negative, got {max_bytes}")
    if text.isascii():
        return text[:max_bytes]
    encoded = text.encode("utf-8", "replace")
    if len(encoded) > max_bytes or b"?" in encoded:
        return encoded[:max_bytes].decode("utf-8", "ignore")
    return text


def last_text(data: bytes, max_bytes: int) -> str:
    """The end of some bytes as text of at most ``max_bytes`` bytes; no UTF-8 is replaced."""
    if max_bytes == 0:
        return ""
    text = _from_a_character_on(data[-max_bytes:]).decode("utf-8", "replace")
    encoded = text.encode()
    return _from_a_character_on(encoded[-max_bytes:]).decode()


def _from_a_character_on(data: bytes) -> bytes:
    """The bytes without what is left of a character that was cut at the front."""
    cut = 0
    while cut < min(3, len(data)) and data[cut] & 0xC0 == 0x80:
        cut += 1
    return data[cut:]
