"""Pins and the map of modules that an executor was given, and whether its changes are allowed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from signoff.dialects.scc.context import Map, Pins, pins_violation, read_map, read_pins
from signoff.dialects.scc.contract import Inputs
from signoff.dialects.scc.scope import Scope
from signoff.errors import ContractError, DatabaseUnusable, DocumentError
from signoff.jsonvalue import shown
from signoff.scc.registry import OidRegistry
from signoff.scc.ulid import is_oid
from signoff.scc.work_refused import WorkRefused
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace

__all__ = ["Given", "given_inputs", "require_allowed"]


class Given(Struct, frozen=True, kw_only=True):
    """
    Pins and map, as far as the contract names them.

    Args:
        pins: None where it names none.
        map: Likewise.
        paths: Where they are, relative to the workspace.
    """

    pins: Pins | None = None
    map: Map | None = None
    paths: tuple[str, ...] = ()


def given_inputs(workspace: Workspace, inputs: Inputs, registry: OidRegistry) -> Given:
    """
    What a contract's inputs name.

    Raises:
        WorkRefused: One is absent, malformed or of another digest.
    """
    pins, found, paths = None, None, list[str]()
    try:
        if inputs.pins_ref:
            path, digest = _place(inputs.pins_ref, registry)
            data = workspace.read(path)
            if digest and digest != workspace.measure(path, max_bytes=len(data))[0][7:]:
                raise WorkRefused.unusable(f"pins {shown(path)}: the registry has another digest")
            pins = read_pins(data, path)
            paths.append(path)
        if inputs.map_path:
            data = workspace.read(inputs.map_path)
            found = read_map(data, inputs.map_path, digest=inputs.map_digest)
            paths.append(inputs.map_path)
    except (PathMissing, PathUnsafe, DocumentError) as exc:
        raise WorkRefused.unusable(f"inputs_ref: {exc}") from exc
    except ContractError as exc:
        message = f"{shown(exc.source)}: {exc.faults[0].message}"
        raise WorkRefused.unusable(f"inputs_ref: {message}") from exc
    return Given(pins=pins, map=found, paths=tuple(paths))


def require_allowed(
    scope: Scope, pins: Pins | None, touched: Iterable[str], *, lines: int | None
) -> None:
    """
    Nothing, if scope and pins allow a change.

    Args:
        scope: Of the contract.
        pins: None where there are none.
        touched: Every changed path, sorted.
        lines: Lines added and removed, None where they were not counted.

    Raises:
        WorkRefused: They do not.
    """
    paths = tuple(touched)
    for path in paths:
        if not scope.allows(path):
            raise WorkRefused.denied(f'"{shown(path)}" is outside of scope_allow')
    fault = None if pins is None else pins_violation(pins, paths, lines=lines)
    if fault is not None:
        raise WorkRefused.denied(fault)


def _place(reference: str, registry: OidRegistry) -> tuple[str, str]:
    """Path and digest of what a path or an OID means; ``""`` where no digest is known."""
    if not is_oid(reference):
        return reference, ""
    try:
        found = registry.find(reference)
    except DatabaseUnusable as exc:
        raise WorkRefused.unread(f"inputs_ref: {exc}") from exc
    if found is None or found.status != "active":
        raise WorkRefused.unusable(f"inputs_ref: OID {reference} is not registered")
    return found.path, found.sha256
