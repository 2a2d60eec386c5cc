"""
A look over a schema before anything compiles it: what is wrong or odd, how far it expands.

Only keywords are looked at: a property may have any name, and what ``const``,
``enum``, ``default`` and ``examples`` hold is data.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from signoff.errors import Fault
from signoff.jsonvalue import JSON, join_pointer, parse_pointer, resolve, shown
from signoff.schema_engine.claims import (
    REFERENCES,
    asserts,
    claiming,
    ignored,
    reaches,
    reliant,
)
from signoff.schema_engine.keywords import DEFAULT_DRAFT, Draft, draft_named
from signoff.schema_engine.messages import Violation, violations
from signoff.schema_engine.native import is_bundled, knows_format, meta_schema, pattern_cost
from signoff.schema_engine.references import Identifiers, Resource, circles, expansion
from signoff.schema_engine.rules import Formats, References, SchemaRules
from signoff.schema_engine.worker import complaints

__all__ = ["MAX_EXPANSION", "Survey", "survey"]

MAX_EXPANSION = 10_000
"""Subschemas, once references are written out, that are judged in this process."""
MAX_PATTERN_BYTES = 2**28
REFUSED_PATTERN_BYTES = 2**25
"""What a refused pattern counts: finding that out takes a tenth of a second, so only some are."""
ROOT_URI = "json-schema:///"

# What is applied to the very same value, not to a part of it.  It is looked at again by each of
# the two keywords that want what is left over.
_IN_PLACE = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"} | {
    "dependencies",
    *REFERENCES,
}
_LEFT_OVER = {"unevaluatedItems", "unevaluatedProperties"}
_LOOKED_AT = 3
"""How often the library evaluates such a subschema at most, as measured."""
_TYPES = "array, boolean, integer, null, number, object or string, or a list of these"


class Survey(Struct, frozen=True, kw_only=True):
    """
    What there is to know about a schema.

    Args:
        faults: Why it cannot be used, sorted by place.
        warnings: What is odd about it, each with its place.
        subschemas: How many are evaluated, with references written out; None when that never
            ends or is more than ``MAX_EXPANSION``.
        accepts_everything: It claims nothing.
    """

    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]
    subschemas: int | None
    accepts_everything: bool


def survey(schema: JSON, rules: SchemaRules) -> Survey:
    """What there is to know about a schema, under these rules."""
    if not isinstance(schema, dict | bool):
        return _refused(Fault("", "must be object or boolean"))
    draft = _draft(schema)
    if draft is None:
        return _refused(_unknown_draft("/$schema"))
    look = _Look(schema, draft, rules)
    look.over()
    everything = look.claims_nothing()
    if everything and not rules.may_accept_everything:
        look.faults.append(Fault("", "accepts every value"))
    elif not rules.may_accept_everything and not look.refuses_something():
        look.warnings.append("schema accepts every value")
    size = None if look.endless else expansion(look.edges, limit=MAX_EXPANSION)
    return Survey(
        faults=tuple(sorted(set(look.faults), key=lambda fault: (fault.where, fault.message))),
        warnings=tuple(look.warnings),
        subschemas=None if size is None or size > MAX_EXPANSION else size,
        accepts_everything=everything,
    )


def _refused(fault: Fault) -> Survey:
    """What is known of a schema that cannot be looked at."""
    return Survey(faults=(fault,), warnings=(), subschemas=None, accepts_everything=False)


def _draft(schema: JSON) -> Draft | None:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return draft_named(named) if isinstance(named, str) else DEFAULT_DRAFT


def _unknown_draft(where: str) -> Fault:
    return Fault(where, "names no known draft; there are 2020-12, 2019-09, 7, 6 and 4")


class _Look:
    """One walk over one schema."""

    def __init__(self, schema: JSON, draft: Draft, rules: SchemaRules) -> None:
        self._schema = schema
        self._draft = draft
        self._rules = rules
        self._names = Identifiers(schema)
        self._pending: list[tuple[str, str, str, str, Resource]] = []
        self._patterns: set[str] = set()
        self._pattern_bytes = 0
        self._looks_again: set[str] = set()
        self.faults: list[Fault] = []
        self.warnings: list[str] = []
        self.edges: dict[str, list[str]] = {}
        self._in_place: dict[str, list[tuple[str, str]]] = {}
        self._relies_on: dict[str, list[str]] = {}
        self._reliant: dict[str, Collection[str]] = {}
        self._asserting: set[str] = set()
        self.endless = False

    def over(self) -> None:
        self._conforms("", self._schema)
        self._walk("", self._schema, self._names.resource(ROOT_URI, ""))
        while self._pending:
            self._follow(*self._pending.pop())
        for place in circles(self._in_place):
            self._fault(place, "refers back to itself without looking at a part of the value")
        for pointer in self._names.twice:
            self._fault(pointer, "has a name that another subschema has too")
        if self._pattern_bytes > MAX_PATTERN_BYTES:
            self._fault("", f"has patterns that need more than {MAX_PATTERN_BYTES >> 20} MiB")

    def claims_nothing(self) -> bool:
        """There is no assertion, applicator or reference, save references to such a schema."""
        pointer, seen = "", set[str]()
        while pointer not in seen:
            seen.add(pointer)
            schema, _ = resolve(self._schema, parse_pointer(pointer))
            if not isinstance(schema, dict):
                return schema is True
            names = claiming(schema, self._draft).keys()
            if not names:
                return True
            if names != {"$ref"}:
                return False
            pointer = next((target for target, _ in self._in_place.get(pointer, ())), pointer)
        return False

    def refuses_something(self) -> bool:
        """Some value may be refused, as far as keywords tell."""
        return reaches("", self._relies_on, self._asserting)

    def _fault(self, where: str, message: str) -> None:
        self.faults.append(Fault(where, message))

    def _conforms(self, pointer: str, schema: JSON) -> None:
        raw = complaints(meta_schema(self._draft.uri), schema)
        for violation in violations(raw, schema, prefix=pointer, limit=100).items:
            if not _is_about_a_pattern(violation):
                text = f"must be {_TYPES}" if _is_about_a_type(violation) else violation.message
                self._fault(violation.pointer, f"is not valid JSON Schema: {text}")

    def _walk(self, pointer: str, schema: JSON, resource: Resource) -> None:
        if pointer in self.edges:
            return
        self.edges[pointer] = []
        if asserts(schema, self._draft):
            self._asserting.add(pointer)
        if not isinstance(schema, dict):
            return
        self._reliant[pointer] = reliant(schema, self._draft)
        resource = self._named(pointer, schema, resource)
        if _LEFT_OVER & schema.keys():
            self._looks_again.add(pointer)
        claims = claiming(schema, self._draft)
        for name, value in schema.items():
            place = join_pointer(pointer, name)
            keyword = self._draft.keywords.get(name)
            if keyword is None:
                self._unknown(name, place)
                continue
            if ignored(name, schema, self._draft):
                self.warnings.append(f"ignored keyword {shown(place)}")
            self._look_at(pointer, place, name, value, resource)
            for tokens, subschema in keyword.subschemas(value):
                below = join_pointer(place, *tokens)
                self._walk(below, subschema, resource)
                if name in claims:
                    self._applies(pointer, name, below)

    def _unknown(self, name: str, place: str) -> None:
        if name != "example" and not name.startswith("x-"):
            self.warnings.append(f"unknown keyword {shown(place)}")

    def _applies(self, pointer: str, keyword: str, below: str, *, reference: str = "") -> None:
        in_place = keyword in _IN_PLACE
        again = in_place and pointer in self._looks_again
        self.edges[pointer] += [below] * (_LOOKED_AT if again else 1)
        if in_place:
            self._in_place.setdefault(pointer, []).append((below, reference))
        if keyword in self._reliant[pointer]:
            self._relies_on.setdefault(pointer, []).append(below)

    def _named(self, pointer: str, schema: dict[str, JSON], resource: Resource) -> Resource:
        """The resource that a subschema begins, or else is in; its anchors are noted."""
        identifier = _identifier(schema, self._draft)
        alone = self._draft.references_stand_alone
        if alone and identifier.startswith("#"):
            self._names.anchor(identifier[1:], pointer, resource)
        elif identifier:
            resource = self._names.resource(identifier, pointer, resource)
        if schema.get("$recursiveAnchor") is True and pointer == resource.root:
            self._names.recursive(pointer)
        for name in () if alone else ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(name)
            if isinstance(anchor, str) and name in self._draft.keywords:
                self._names.anchor(anchor, pointer, resource, dynamic=name == "$dynamicAnchor")
        return resource

    def _look_at(
        self, pointer: str, place: str, name: str, value: JSON, resource: Resource
    ) -> None:
        if name == "$recursiveRef":
            self.endless = True
        if name == "$recursiveRef" and value != "#":
            self._fault(place, 'must be "#"')
        elif name in REFERENCES and isinstance(value, str):
            self._pending.append((pointer, place, name, value, resource))
        elif name == "$schema" and pointer and isinstance(value, str):
            self._same_draft(place, value)
        elif name == "format" and isinstance(value, str):
            self._format(place, value)
        elif name == "pattern" and isinstance(value, str):
            self._pattern(place, value)
        elif name == "patternProperties" and isinstance(value, dict):
            for pattern in value:
                self._pattern(join_pointer(place, pattern), pattern)

    def _same_draft(self, place: str, uri: str) -> None:
        draft = draft_named(uri)
        if draft is None:
            self.faults.append(_unknown_draft(place))
        elif draft.uri != self._draft.uri:
            self._fault(place, "names another draft than the whole schema")

    def _format(self, place: str, name: str) -> None:
        if self._rules.formats is Formats.ANNOTATION or knows_format(name, self._draft.uri):
            return
        if self._rules.formats is Formats.KNOWN:
            self._fault(place, f'is an unknown format: "{shown(name)}"')
        else:
            self.warnings.append(f"unknown format {shown(place)}")

    def _pattern(self, place: str, pattern: str) -> None:
        if pattern in self._patterns or self._pattern_bytes > MAX_PATTERN_BYTES:
            return
        cost = pattern_cost(pattern)
        if cost is None:
            self._pattern_bytes += REFUSED_PATTERN_BYTES
            self._fault(
                place,
                "is a pattern that the linear-time engine refuses (look-around, back-references, "
                f'size or syntax): "{shown(pattern)}"',
            )
        else:
            self._patterns.add(pattern)
            self._pattern_bytes += cost

    def _follow(self, pointer: str, place: str, name: str, ref: str, resource: Resource) -> None:
        if self._rules.references is References.LOCAL and not ref.startswith("#"):
            self._fault(place, f'must begin with "#", nothing is fetched: "{shown(ref)}"')
            return
        found = self._names.target(ref, resource)
        if found is None and self._is_bundled(ref, resource):
            self.endless = True  # every meta-schema refers to itself
            self._asserting.add(pointer)
            return
        if found is None:
            self._fault(place, f'leads nowhere: "{shown(ref)}"')
            return
        target, within = found
        schema, _ = resolve(self._schema, parse_pointer(target))
        if not isinstance(schema, dict | bool):
            self._fault(place, f'leads to something that is no schema: "{shown(ref)}"')
            return
        dynamic = self._names.dynamic(ref) if name != "$ref" else ()
        for place_led_to in (target, *dynamic):
            self._applies(pointer, name, place_led_to, reference=place)
        if target not in self.edges:  # a place where no keyword puts a schema
            self._conforms(target, schema)
            self._walk(target, schema, within)

    def _is_bundled(self, ref: str, resource: Resource) -> bool:
        bundled = self._rules.references is References.BUNDLED
        return bundled and is_bundled(self._names.uri(ref, resource))


def _identifier(schema: JSON, draft: Draft) -> str:
    """What a subschema calls itself, or ``""``."""
    if not isinstance(schema, dict) or (draft.references_stand_alone and "$ref" in schema):
        return ""
    found = schema.get(draft.identifier)
    return found if isinstance(found, str) else ""


def _is_about_a_type(violation: Violation) -> bool:
    names = parse_pointer(violation.pointer)[-2:]
    return violation.keyword == "anyOf" and "type" in names[-1:] and "dependencies" not in names


def _is_about_a_pattern(violation: Violation) -> bool:
    """Patterns are judged one by one, by the engine that will run them."""
    return violation.message == 'must match format "regex"' or (
        violation.keyword == "propertyNames" and violation.pointer.endswith("/patternProperties")
    )
