"""
Globs over paths whose parts are separated by ``/``, read strictly and matched in bounded time.

``**`` alone in its part stands for any number of parts, at the end for at least one;
``*`` for any characters of one part, ``?`` for one of them, ``[a-z]`` for one of a
set and ``[!a-z]`` for one outside of it.  A backslash takes the next character as
it is.  Names that begin with a dot are nothing special.  No step depends on how
often an earlier one failed, so that no pattern is slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Final, TypeVar
from unicodedata import normalize

from msgspec import Struct

from signoff.errors import Fault, ParamsError
from signoff.jsonvalue import JSON, shown
from signoff.params import MAX_ITEMS, MAX_TEXT, Kind

__all__ = ["GLOBS", "Glob", "Globs", "folded_path", "parse_glob"]

P = TypeVar("P")
T = TypeVar("T")


class _One(Struct, frozen=True, kw_only=True):
    """One character: of the ranges, or of none of them."""

    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = True
    is_literal: bool = False

    def takes(self, char: str) -> bool:
        return self.negated is not any(low <= char <= high for low, high in self.ranges)

    def takes_folded(self, char: str) -> bool:
        return self.takes(char) or (not self.is_literal and self.takes(char.upper()))


_Part = tuple[_One | None, ...]  # None is any run of characters
_ANY: Final = _One()


class Glob(Struct, frozen=True, kw_only=True):
    """
    A pattern of paths.

    Args:
        text: As it was written.
        parts: Its parts, None for any number of parts.
        folded: The same for paths that are folded.
    """

    text: str
    parts: tuple[_Part | None, ...]
    folded: tuple[_Part | None, ...]

    def matches(self, path: str) -> bool:
        """The path is one of those that the pattern means."""
        return _fits(self.parts, path.split("/"), _takes_part)

    def matches_folded(self, path: str) -> bool:
        """Likewise for a path that ``folded_path`` gave, whatever the case of the pattern."""
        return _fits(self.folded, path.split("/"), _takes_folded_part)


def folded_path(path: str) -> str:
    """The path as file systems compare it that tell neither case nor composition."""
    return path.lower() if path.isascii() else normalize("NFC", normalize("NFC", path).casefold())


def parse_glob(text: str) -> Glob:
    """
    The glob that a text is.

    Raises:
        ValueError: It is none; says why, such as ``"a[" has no "]"``.
    """
    try:
        parts = _parsed(text)
        composed = _parsed(normalize("NFC", text))
    except ValueError as exc:
        raise ValueError(f'"{shown(text)}" {exc}') from None
    folded = tuple(None if part is None else _folded_part(part) for part in composed)
    return Glob(text=text, parts=parts, folded=folded)


def _parsed(text: str) -> tuple[_Part | None, ...]:
    if not text:
        raise ValueError("is empty")
    if len(text) > MAX_TEXT:
        raise ValueError(f"has more than {MAX_TEXT} characters")
    if any(char < " " or char == "\x7f" for char in text):
        raise ValueError("has a control character")
    if text.startswith("/"):
        raise ValueError("begins with /, and paths are relative")
    if text.endswith("/"):
        raise ValueError(f"ends with /, and what lies below is {shown(text)}**")
    parts = tuple(None if part == "**" else _parsed_part(part) for part in _split(text))
    # What lies below a folder is not the folder, which may have become a file or a link.
    return (*parts, (None,)) if parts[-1] is None else parts


def _split(text: str) -> list[str]:
    """The parts of the pattern; a slash ends a part wherever it stands."""
    parts = text.split("/")
    if "" in parts:
        raise ValueError("has an empty part")
    if "." in parts or ".." in parts:
        raise ValueError("has a part . or .., which no path has")
    return parts


def _parsed_part(part: str) -> _Part:
    tokens: list[_One | None] = []
    at = 0
    while at < len(part):
        token, at = _token(part, at)
        if token is None and tokens and tokens[-1] is None:
            raise ValueError("has ** beside other characters of its part")
        tokens.append(token)
    return tuple(tokens)


def _token(part: str, at: int) -> tuple[_One | None, int]:
    char = part[at]
    if char == "*":
        return None, at + 1
    if char == "?":
        return _ANY, at + 1
    if char == "[":
        return _set(part, at + 1)
    if char == "\\":
        if at + 1 == len(part):
            raise ValueError("has a backslash before nothing")
        return _literal(part[at + 1]), at + 2
    return _literal(char), at + 1


def _literal(char: str) -> _One:
    return _One(ranges=((char, char),), negated=False, is_literal=True)


def _set(part: str, at: int) -> tuple[_One, int]:
    """The set that was opened just before; ``]`` is one of its characters where it comes first."""
    negated = part[at : at + 1] in {"!", "^"}
    at += negated
    ranges: list[tuple[str, str]] = []
    while not ranges or part[at : at + 1] != "]":
        low, at = _member(part, at)
        high = low
        if part[at : at + 1] == "-" and part[at + 1 : at + 2] != "]":
            high, at = _member(part, at + 1)
        if low > high:
            raise ValueError(f"has the range {low}-{high}, which is empty")
        ranges.append((low, high))
    return _One(ranges=tuple(ranges), negated=negated), at + 1


def _member(part: str, at: int) -> tuple[str, int]:
    at += part[at : at + 1] == "\\"
    if at >= len(part):
        raise ValueError('has no "]"')
    return part[at], at + 1


def _folded_part(part: _Part) -> _Part:
    tokens: list[_One | None] = []
    for token in part:
        if token is not None and token.is_literal:
            tokens += map(_literal, folded_path(token.ranges[0][0]))
        else:
            tokens.append(token)
    return tuple(tokens)


def _takes_part(part: _Part, name: str) -> bool:
    return _fits(part, name, _One.takes)


def _takes_folded_part(part: _Part, name: str) -> bool:
    return _fits(part, name, _One.takes_folded)


def _fits(pattern: Sequence[P | None], items: Sequence[T], takes: Callable[[P, T], bool]) -> bool:
    """
    The items are what the pattern says, None standing for any number of them.

    Only the last None is ever tried again: whatever an earlier one could take, the
    later one can take as well.
    """
    at = item = 0
    run: tuple[int, int] | None = None
    while item < len(items):
        wanted = pattern[at] if at < len(pattern) else None
        if at < len(pattern) and wanted is None:
            run = (at, item)
            at += 1
        elif wanted is not None and takes(wanted, items[item]):
            at, item = at + 1, item + 1
        elif run is not None:
            run = (run[0], run[1] + 1)
            at, item = run[0] + 1, run[1]
        else:
            return False
    return all(one is None for one in pattern[at:])


def _read_globs(value: JSON) -> tuple[Glob, ...]:
    if type(value) is not list or len(value) > MAX_ITEMS:
        raise ValueError
    found, faults = list[Glob](), list[Fault]()
    for index, text in enumerate(value):
        if type(text) is not str:
            raise ValueError
        try:
            found.append(parse_glob(text))
        except ValueError as exc:
            faults.append(Fault(f"/{index}", f"glob {exc}"))
    if faults:
        raise ParamsError(tuple(faults))
    return tuple(found)


GLOBS: Final = Kind(
    says="array of globs",
    read=_read_globs,
    schema={
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
        "maxItems": MAX_ITEMS,
    },
)
Globs = Annotated[tuple[Glob, ...], GLOBS]
