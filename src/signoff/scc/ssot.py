"""``docs/ssot/registry.json``: which documents are canonical, and where they are."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from signoff.dialects.scc.shape import Shape
from signoff.errors import JSONError
from signoff.jsonvalue import JSON, json_type
from signoff.strictjson import Limits, loads

__all__ = ["CanonicalDocument", "SsotInvalid", "read_ssot"]

LIMITS: Final = Limits(max_bytes=8 * 2**20, max_depth=64)


class CanonicalDocument(Struct, frozen=True, kw_only=True):
    """
    One entry.

    Args:
        doc_id: Its id, ``""`` where it has none.
        path: Its ``canonical_path``.
    """

    doc_id: str
    path: str


class SsotInvalid(ValueError):
    """The registry of documents cannot be read, with the reason."""


def read_ssot(data: bytes) -> tuple[CanonicalDocument, ...]:
    """
    The canonical documents.

    Raises:
        SsotInvalid: It is not strict JSON, or an entry has no path.
    """
    try:
        value = loads(data, limits=LIMITS)
    except JSONError as exc:
        raise SsotInvalid(f"is not strict JSON: {exc}") from exc
    shape = Shape()
    document = shape.whole(value, "the registry")
    entries = shape.items(document, "canonical") if isinstance(value, dict) else []
    found = tuple(_entry(entry, where, shape) for where, entry in entries)
    if shape.faults:
        raise SsotInvalid("; ".join(map(str, shape.faults[:3])))
    return found


def _entry(entry: JSON, where: str, shape: Shape) -> CanonicalDocument:
    if not isinstance(entry, dict):
        shape.fault(where, f"an entry must be object, got {json_type(entry)}")
        return CanonicalDocument(doc_id="", path="")
    return CanonicalDocument(
        doc_id=shape.text(entry, "doc_id", where, needed=False),
        path=shape.text(entry, "canonical_path", where, filled=True),
    )
