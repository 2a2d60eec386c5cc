"""
The scoped context of a task: pins, which say what may be changed, and the map of modules.

Windows of lines limit what is read, so they are validated here and never judged.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from signoff.canonical import digest_bytes
from signoff.dialects.scc.scope import comparable, covers, pattern_fault
from signoff.dialects.scc.shape import LIMITS, Object, Shape
from signoff.document import parse_document
from signoff.errors import ContractError
from signoff.jsonvalue import JSON, json_type, shown

__all__ = ["Map", "Module", "Pins", "pins_violation", "read_map", "read_pins"]


class Pins(Struct, frozen=True, kw_only=True):
    """
    What may be changed.

    Args:
        allowed: Patterns; none allows nothing.
        forbidden: Patterns, which win.
        max_files: Most files that may be changed, None for no limit.
        max_loc: Most lines that may be added and removed together, None for no limit.
        windows: Lines that may be read, 1-based and inclusive, by path.
    """

    allowed: tuple[str, ...]
    forbidden: tuple[str, ...] = ()
    max_files: int | None = None
    max_loc: int | None = None
    windows: dict[str, tuple[tuple[int, int], ...]] = {}


class Module(Struct, frozen=True, kw_only=True):
    """One module of a map, with its paths."""

    id: str
    paths: tuple[str, ...]


class Map(Struct, frozen=True, kw_only=True):
    """The modules of a workspace, as somebody described them at a time."""

    version: str
    generated_at: str
    modules: tuple[Module, ...]


def read_pins(data: bytes, source: str) -> Pins:
    """
    The pins in the bytes of a file.

    Raises:
        TextError: It is not strict JSON.
        ContractError: With every fault.
    """
    document = parse_document(data, source, limits=LIMITS, format="json")
    shape = Shape()
    value = shape.whole(document.value, "pins")
    pins = Pins(
        allowed=_patterns(value, "allowed_paths", shape),
        forbidden=_patterns(value, "forbidden_paths", shape, needed=False),
        max_files=_count(value, "max_files", shape),
        max_loc=_count(value, "max_loc", shape),
        windows=_windows(shape.object(value, "line_windows", needed=False), shape),
    )
    for name in ("symbols", "snippets", "forbidden", "ssot_assumptions"):
        shape.items(value, name, needed=False)
    for name in ("intent", "ssot_hash"):
        shape.text(value, name, needed=False)
    if shape.faults:
        raise ContractError(tuple(map(document.placed, shape.faults)), source=document.source)
    return pins


def read_map(data: bytes, source: str, *, digest: str) -> Map:
    """
    The map in the bytes of a file.

    Args:
        data: The file.
        source: Its name, for messages.
        digest: What the contract says of its bytes, ``sha256:<hex>``.

    Raises:
        TextError: It is not strict JSON.
        ContractError: Its digest is another, or it has faults: every one.
    """
    shape = Shape()
    if digest_bytes(data) != digest:
        shape.fault("", f"the digest is {digest_bytes(data)}, expected {shown(digest)}")
        shape.refuse_faults(shown(source))
    document = parse_document(data, source, limits=LIMITS, format="json")
    value = shape.whole(document.value, "map")
    found = Map(
        version=shape.text(value, "version", filled=True),
        generated_at=shape.text(value, "generated_at", filled=True),
        modules=tuple(
            _module(entry, where, shape) for where, entry in shape.items(value, "modules")
        ),
    )
    if shape.faults:
        raise ContractError(tuple(map(document.placed, shape.faults)), source=document.source)
    return found


def pins_violation(pins: Pins, paths: Iterable[str], *, lines: int | None = None) -> str | None:
    """
    How a change breaks the pins, None if it does not.

    Args:
        pins: What may be changed.
        paths: Every changed path.
        lines: Lines added and removed; None where they could not be counted.
    """
    changed = sorted({*paths})
    for path in changed:
        folded = comparable(path)
        for pattern in pins.forbidden:
            if covers(comparable(pattern), folded):
                return f'"{shown(path)}" is forbidden by the pins ({shown(pattern)})'
        if not any(covers(pattern, path) for pattern in pins.allowed):
            return f'"{shown(path)}" is not allowed by the pins'
    if pins.max_files is not None and len(changed) > pins.max_files:
        return f"{len(changed)} files are changed, the pins allow {pins.max_files}"
    if pins.max_loc is not None and lines is None and changed:
        return f"the changed lines cannot be counted, the pins allow {pins.max_loc}"
    if pins.max_loc is not None and lines is not None and lines > pins.max_loc:
        return f"{lines} lines are changed, the pins allow {pins.max_loc}"
    return None


def _patterns(value: Object, name: str, shape: Shape, *, needed: bool = True) -> tuple[str, ...]:
    patterns = shape.texts(value, name, needed=needed)
    for index, pattern in enumerate(patterns):
        if (fault := pattern_fault(pattern)) is not None:
            shape.fault(f"/{name}/{index}", f"{name}: {fault}")
    return patterns


def _count(value: Object, name: str, shape: Shape) -> int | None:
    return shape.integer(value, name, least=0) if name in value else None


def _windows(value: Object, shape: Shape) -> dict[str, tuple[tuple[int, int], ...]]:
    return {
        path: tuple(
            _window(entry, where, shape)
            for where, entry in shape.items(value, path, "/line_windows")
        )
        for path in value
    }


def _window(entry: JSON, where: str, shape: Shape) -> tuple[int, int]:
    if (
        isinstance(entry, list)
        and len(entry) == 2
        and type(entry[0]) is int
        and type(entry[1]) is int
        and 1 <= entry[0] <= entry[1]
    ):
        return entry[0], entry[1]
    shape.fault(where, "a window must be [start, end], integers with 1 <= start <= end")
    return 1, 1


def _module(entry: JSON, where: str, shape: Shape) -> Module:
    if not isinstance(entry, dict):
        shape.fault(where, f"a module must be object, got {json_type(entry)}")
        return Module(id="", paths=())
    return Module(
        id=shape.text(entry, "id", where, filled=True), paths=shape.texts(entry, "paths", where)
    )
