"""What a JSON Schema may hold: the rules of contracts, and those for the schemas of strangers."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from signoff.jsonlimits import MAX_DEPTH

__all__ = [
    "CONTRACT_RULES",
    "FOREIGN_RULES",
    "Formats",
    "References",
    "SchemaRules",
]


class References(Enum):
    """Where ``$ref`` and ``$dynamicRef`` may lead; nothing is ever fetched."""

    LOCAL = "local"
    """Inside the same schema, written with ``#`` in front."""
    BUNDLED = "bundled"
    """Inside the same document in any spelling, or to a standard meta-schema."""


class Formats(Enum):
    """What becomes of ``format``."""

    KNOWN = "known"
    """Asserted; a name that the engine does not know is a fault."""
    LENIENT = "lenient"
    """Asserted where the engine knows the name, otherwise an annotation."""
    ANNOTATION = "annotation"
    """Never asserted."""


class SchemaRules(Struct, frozen=True, kw_only=True):
    """
    What a schema may hold; the defaults are the rules of contracts.

    Args:
        references: Where references may lead.
        formats: What becomes of ``format``.
        may_accept_everything: A schema that claims nothing is no fault.
        max_depth: Levels of nesting of the schema, and of what it judges.
    """

    references: References = References.LOCAL
    formats: Formats = Formats.KNOWN
    may_accept_everything: bool = False
    max_depth: int = 64


CONTRACT_RULES = SchemaRules()
"""For a schema that somebody locks: whatever would not mean what it says is a fault."""

FOREIGN_RULES = SchemaRules(
    references=References.BUNDLED,
    formats=Formats.LENIENT,
    may_accept_everything=True,
    max_depth=MAX_DEPTH,
)
"""For a schema out of our hands: private formats and keywords are annotations."""
