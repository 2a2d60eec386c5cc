"""Where the references of a schema lead, and how far it expands when they are followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote, urljoin

from signoff.jsonvalue import JSON, MISSING, join_pointer, parse_pointer, resolve

__all__ = ["Identifiers", "Resource", "circles", "expansion"]


class Resource:
    """A part of a schema with a URI of its own, within which ``#`` counts from its root."""

    __slots__ = ("anchors", "root", "uri")

    def __init__(self, uri: str, root: str) -> None:
        self.uri = uri
        self.root = root
        self.anchors: dict[str, str] = {}


class Identifiers:
    """Every name that a schema gives to its parts."""

    def __init__(self, document: JSON) -> None:
        self._document = document
        self._resources: dict[str, Resource] = {}
        self._dynamic: dict[str, list[str]] = {}
        self.twice: list[str] = []

    def resource(self, uri: str, root: str, within: Resource | None = None) -> Resource:
        """A new resource; its URI is taken relative to the one that it stands in."""
        full = _joined(within.uri, uri) if within else uri
        found = Resource(full, root)
        if self._resources.setdefault(full.removesuffix("#"), found).root != root:
            self.twice.append(root)
        return found

    def anchor(self, name: str, pointer: str, within: Resource, *, dynamic: bool = False) -> None:
        """A name for one place in a resource."""
        if within.anchors.setdefault(name, pointer) != pointer:
            self.twice.append(pointer)
        if dynamic:
            self._dynamic.setdefault(name, []).append(pointer)

    def uri(self, reference: str, within: Resource) -> str:
        """A reference in full."""
        return _joined(within.uri, reference)

    def target(self, reference: str, within: Resource) -> tuple[str, Resource] | None:
        """Pointer of the place that a reference leads to, with its resource; None for none."""
        uri, _, fragment = self.uri(reference, within).partition("#")
        resource = within if reference.startswith("#") else self._resources.get(uri)
        if resource is None:
            return None
        name = unquote(fragment)
        if not name.startswith("/"):
            pointer = resource.anchors.get(name) if name else resource.root
            return None if pointer is None else (pointer, resource)
        return self._below(resource, name)

    def recursive(self, pointer: str) -> None:
        """A place that ``$recursiveRef`` may lead to from elsewhere."""
        self._dynamic.setdefault("", []).append(pointer)

    def dynamic(self, reference: str) -> Sequence[str]:
        """Pointers of all places that a dynamic reference may lead to besides its target."""
        return self._dynamic.get(unquote(reference.partition("#")[2]), ())

    def _below(self, resource: Resource, pointer: str) -> tuple[str, Resource] | None:
        try:
            tokens = parse_pointer(pointer)
        except ValueError:
            return None
        full = join_pointer(resource.root, *tokens)
        found, _ = resolve(self._document, parse_pointer(full))
        return None if found is MISSING else (full, resource)


def _joined(base: str, reference: str) -> str:
    if reference.startswith("#"):  # urljoin drops the base of schemes it does not know, like urn:
        return base.partition("#")[0] + reference
    try:
        return urljoin(base, reference)
    except ValueError:  # no URI at all: leads nowhere
        return reference


def expansion(edges: Mapping[str, Sequence[str]], *, limit: int) -> int | None:
    """
    How many subschemas there are once every reference is written out; None when that never ends.

    Counted without writing anything out, so that hostile schemas cost no more than others.

    Args:
        edges: For each subschema by pointer, those it applies: below it and by reference.
        limit: Counting stops at one more than this.
    """
    sizes: dict[str, int] = {}
    entered: set[str] = {""}
    path: list[tuple[str, Iterator[str]]] = [("", iter(edges.get("", ())))]
    while path:
        pointer, rest = path[-1]
        onward = next((other for other in rest if other not in sizes), None)
        if onward is None:
            path.pop()
            below = sum(sizes[other] for other in edges.get(pointer, ()))
            sizes[pointer] = min(1 + below, limit + 1)
        elif onward in entered:
            return None
        else:
            entered.add(onward)
            path.append((onward, iter(edges.get(onward, ()))))
    return sizes[""]


def circles(edges: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[str]:
    """
    The references that lead back to where one came from, one for each circle found.

    Args:
        edges: For each subschema by pointer, those it applies to the very same value, each
            with the place of the reference that leads there, ``""`` without one.
    """
    done: set[str] = set()
    for start in sorted(edges):
        path = {} if start in done else {start: ("", iter(edges[start]))}
        while path:
            pointer, (_, rest) = next(reversed(path.items()))
            other, place = next(rest, ("", None))
            if place is None:
                done.add(pointer)
                del path[pointer]
            elif other in path:
                steps = (came for came, _ in reversed(path.values()))
                yield place or next(filter(None, steps))
            elif other not in done:
                path[other] = (place, iter(edges.get(other, ())))
