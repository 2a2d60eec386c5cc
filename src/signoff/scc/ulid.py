"""OIDs are bare ULIDs: 48 bits of time and 80 random ones, in upper-case Crockford base 32."""

from __future__ import annotations

import re
import secrets
from datetime import datetime
from typing import Final

__all__ = ["PLACEHOLDER", "is_oid", "is_placeholder", "mint_oid"]

PLACEHOLDER: Final = "MINT_WITH_SCC_OID_GENERATOR"

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_OID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_BETWEEN: Final = re.compile(r"<.*>", re.DOTALL)


def mint_oid(moment: datetime) -> str:
    """
    A new OID.

    Args:
        moment: What its first ten characters say; nothing is ordered by it.
    """
    milliseconds = int(moment.timestamp() * 1000) & (2**48 - 1)
    number = (milliseconds << 80) | secrets.randbits(80)
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def is_oid(text: str) -> bool:
    """The text has the form of an OID."""
    return _OID.fullmatch(text) is not None


def is_placeholder(text: str) -> bool:
    """The text stands where an OID is to be put: empty, ``<...>``, or it says so."""
    text = text.strip()
    return not text or PLACEHOLDER in text or _BETWEEN.fullmatch(text) is not None
