"""The keywords of each draft of JSON Schema: what they claim, and where they hold subschemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from msgspec import Struct

from signoff.jsonvalue import JSON

__all__ = ["DEFAULT_DRAFT", "DRAFTS", "Draft", "Holds", "Keyword", "draft_named"]


class Holds(Enum):
    """What stands in the value of a keyword."""

    DATA = "data"
    SCHEMA = "schema"
    LIST = "list of schemas"
    MAP = "schemas by name"
    EITHER = "schema or list of schemas"
    DEPENDENCIES = "schemas or lists of names by name"


class Keyword(Struct, frozen=True):
    """
    One keyword of a draft.

    Args:
        holds: What stands in its value.
        claims: It is an assertion, an applicator or a reference, and no mere annotation.
    """

    holds: Holds
    claims: bool = True

    def subschemas(self, value: JSON) -> Iterator[tuple[tuple[str | int, ...], JSON]]:
        """Each subschema below the value, with the tokens that lead to it."""
        holds = self.holds
        if holds is Holds.EITHER:
            holds = Holds.LIST if isinstance(value, list) else Holds.SCHEMA
        if holds is Holds.SCHEMA:
            yield (), value
        elif holds is Holds.LIST and isinstance(value, list):
            yield from (((index,), item) for index, item in enumerate(value))
        elif holds in {Holds.MAP, Holds.DEPENDENCIES} and isinstance(value, dict):
            listed = list if holds is Holds.DEPENDENCIES else ()
            yield from (((k,), item) for k, item in value.items() if not isinstance(item, listed))


class Draft(Struct, frozen=True):
    """
    One draft of JSON Schema.

    Args:
        uri: What ``$schema`` says.
        keywords: Every keyword of its meta-schema that has a meaning, by name.
        identifier: The keyword that gives a subschema a URI.
        references_stand_alone: Beside ``$ref`` nothing counts; identifier ``#name`` is an anchor.
    """

    uri: str
    keywords: Mapping[str, Keyword]
    identifier: str = "$id"
    references_stand_alone: bool = False


def draft_named(uri: str) -> Draft | None:
    """The draft that ``$schema`` names; None for one that the engine lacks."""
    return DRAFTS.get(_plain(uri))


def _plain(uri: str) -> str:
    return uri.removeprefix("http://").removeprefix("https://").removesuffix("#")


def _keywords(names: str, holds: Holds = Holds.DATA, *, claims: bool = True) -> dict[str, Keyword]:
    return dict.fromkeys(names.split(), Keyword(holds, claims))


_IN_FOUR = {
    **_keywords("$schema title description default", claims=False),
    **_keywords("$ref type enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum"),
    **_keywords("maxLength minLength pattern format maxItems minItems uniqueItems"),
    **_keywords("maxProperties minProperties required"),
    **_keywords("not additionalItems additionalProperties", Holds.SCHEMA),
    **_keywords("allOf anyOf oneOf", Holds.LIST),
    **_keywords("properties patternProperties", Holds.MAP),
    **_keywords("items", Holds.EITHER),
    **_keywords("dependencies", Holds.DEPENDENCIES),
    **_keywords("definitions", Holds.MAP, claims=False),
}
_SINCE_SIX = {
    **_keywords("$id examples", claims=False),
    **_keywords("const"),
    **_keywords("contains propertyNames", Holds.SCHEMA),
}
_SINCE_SEVEN = {
    **_keywords("$comment readOnly writeOnly", claims=False),
    **_keywords("contentMediaType contentEncoding"),
    **_keywords("if then else", Holds.SCHEMA),
}
_SINCE_2019 = {
    **_keywords("$anchor $vocabulary deprecated", claims=False),
    **_keywords("contentMediaType contentEncoding", claims=False),
    **_keywords("contentSchema", Holds.SCHEMA, claims=False),
    **_keywords("$defs", Holds.MAP, claims=False),
    **_keywords("dependentRequired minContains maxContains"),
    **_keywords("dependentSchemas", Holds.MAP),
    **_keywords("unevaluatedItems unevaluatedProperties", Holds.SCHEMA),
}
_ONLY_2019 = {**_keywords("$recursiveRef"), **_keywords("$recursiveAnchor", claims=False)}
_SINCE_2020 = {
    **_keywords("$dynamicAnchor", claims=False),
    **_keywords("$dynamicRef"),
    **_keywords("prefixItems", Holds.LIST),
    **_keywords("items", Holds.SCHEMA),
}


def _drafts() -> Iterator[Draft]:
    four = _IN_FOUR | _keywords("id", claims=False)
    six = _IN_FOUR | _SINCE_SIX
    seven = six | _SINCE_SEVEN
    since = seven | _SINCE_2019
    latest = {k: v for k, v in (since | _SINCE_2020).items() if k != "additionalItems"}
    yield Draft("http://json-schema.org/draft-04/schema#", four, "id", True)
    yield Draft("http://json-schema.org/draft-06/schema#", six, "$id", True)
    yield Draft("http://json-schema.org/draft-07/schema#", seven, "$id", True)
    yield Draft("https://json-schema.org/draft/2019-09/schema", since | _ONLY_2019)
    yield Draft("https://json-schema.org/draft/2020-12/schema", latest)


DRAFTS: Mapping[str, Draft] = {_plain(draft.uri): draft for draft in _drafts()}
DEFAULT_DRAFT = DRAFTS["json-schema.org/draft/2020-12/schema"]
