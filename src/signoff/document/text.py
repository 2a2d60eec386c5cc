"""A document's text: decoded strictly, where in it something stands, and what is wrong there."""

from __future__ import annotations

from typing import Final

from signoff.errors import TextError

__all__ = ["MAX_TOML_BYTES", "MAX_YAML_BYTES", "decoded", "fault_at", "position"]

# Their parsers are plain Python: the worst text of this size takes about ten seconds.
MAX_YAML_BYTES: Final = 256 * 2**10
MAX_TOML_BYTES: Final = 2**20


def position(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column, in code points, of the character at ``offset``."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def fault_at(text: str, offset: int, reason: str) -> TextError:
    """The error that says ``reason`` of the character at ``offset``."""
    line, column = position(text, offset)
    return TextError(reason, line=line, column=column)


def decoded(data: bytes, *, max_bytes: int) -> str:
    """
    The text of a YAML or TOML document.

    Raises:
        TextError: Too large, not UTF-8, with a byte-order mark, or blank.
    """
    if len(data) > max_bytes:
        raise TextError(f"larger than {max_bytes} bytes ({len(data)})")
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        before = data[: exc.start].decode()
        raise fault_at(before, len(before), "not UTF-8") from exc
    if text.startswith("\ufeff"):
        raise fault_at(text, 0, "byte-order mark before the text")
    if not text or text.isspace():
        raise fault_at(text, 0, "the text is empty")
    return text
