"""What an executor was given beside the contract: pins and the map of modules."""

from __future__ import annotations

from msgspec import Struct

from signoff.dialects.scc.context import Map, Pins, read_map, read_pins
from signoff.dialects.scc.contract import Inputs
from signoff.errors import ContractError, DatabaseUnusable, DocumentError
from signoff.jsonvalue import shown
from signoff.scc.registry import OidRegistry
from signoff.scc.ulid import is_oid
from signoff.scc.work_refused import WorkRefused
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace

__all__ = ["Given", "given_inputs"]


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
