"""
SCC installed in a workspace: four files, the settings, and the OID of the verdict schema.

Nothing that is in order is written again, and what is different is not replaced
unless the caller says so.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.scope import SCRIPTS
from signoff.dialects.scc.settings import BUILTIN, NONE, PATH, SSOT_REGISTRY, UNIT_REGISTRY
from signoff.errors import RegistryRefused
from signoff.scc.metadata import MetadataError, inline_of
from signoff.scc.oid_object import NewObject
from signoff.scc.registry import OidRegistry
from signoff.scc.starter import (
    LAYER,
    SCHEMA_PATH,
    TAGS,
    UNIT,
    is_same,
    schema_text,
    scripts,
    settings_text,
)
from signoff.scc.store import open_registry
from signoff.scc.ulid import is_oid
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace

__all__ = ["InTheWay", "Installed", "altered", "install"]

STABLE_KEY: Final = "scc:verdict.schema.json"
ABSENT: Final = "is absent"


class InTheWay(Exception):
    """
    A different file stands where one is to be written; nothing was written.

    Args:
        problems: Path and reason of each.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Installed(Struct, frozen=True, kw_only=True):
    """
    What an installation came to.

    Args:
        written: Paths that were written.
        unchanged: Paths that were in order.
        oid: Of the verdict schema.
        registry: Where the registry is, without any password.
    """

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    oid: str
    registry: str


def altered(workspace: Workspace) -> tuple[str, ...]:
    """Which of the four files are not those of the installed version, each with the reason."""
    return tuple(f"{path}: {why}" for path in SCRIPTS if (why := _difference(workspace, path)))


def install(
    workspace: Workspace,
    place: str | Path,
    *,
    force: bool = False,
    open_at: Callable[..., OidRegistry] = open_registry,
) -> Installed:
    """
    Install SCC in a workspace.

    Args:
        workspace: Where.
        place: Of the registry.
        force: Replace files that differ.
        open_at: Opens the registry.

    Raises:
        InTheWay: A file differs, and ``force`` is false.
        DocumentError: The settings cannot be read.
        ConfigError: The settings have faults.
        DatabaseUnusable: The registry cannot be used.
        RegistryRefused: It has another OID for the schema.
        OSError: A file cannot be written.
    """
    differing = {path: _difference(workspace, path) for path in SCRIPTS}
    present = {path for path, why in differing.items() if why not in {"", ABSENT}}
    if present and not force:
        raise InTheWay(tuple(f"{path}: {differing[path]}" for path in SCRIPTS if path in present))
    written = _write_settings(workspace)
    with open_at(place) as registry:
        oid = _schema_oid(workspace, registry)
        name = registry.name
    contents = {**scripts(), SCHEMA_PATH: schema_text(oid)}
    for path in SCRIPTS:
        if _content(workspace, path) != contents[path]:
            workspace.write(path, contents[path])
            written.append(path)
    unchanged = tuple(path for path in (PATH, *SCRIPTS) if path not in written)
    return Installed(written=tuple(written), unchanged=unchanged, oid=oid, registry=name)


def _difference(workspace: Workspace, path: str) -> str:
    """How a file differs from the installed version's, ``""`` if it does not."""
    try:
        data = workspace.read(path)
    except PathMissing:
        return ABSENT
    except PathUnsafe as exc:
        return str(exc).removeprefix(f"{path}: ")
    return "" if is_same(path, data) else "is not that of the installed version"


def _content(workspace: Workspace, path: str) -> bytes | None:
    try:
        return workspace.read(path)
    except (PathMissing, PathUnsafe):
        return None


def _write_settings(workspace: Workspace) -> list[str]:
    """The settings are there and can be read."""
    if workspace.settings().given:
        return []
    text = settings_text(
        unit_registry=UNIT_REGISTRY if (workspace.root / UNIT_REGISTRY).is_file() else BUILTIN,
        ssot_registry=SSOT_REGISTRY if (workspace.root / SSOT_REGISTRY).is_file() else NONE,
    )
    workspace.write(PATH, text)
    return [PATH]


def _schema_oid(workspace: Workspace, registry: OidRegistry) -> str:
    """The OID of the schema file: the one it has, the one that is known, or a new one."""
    new = NewObject(
        path=SCHEMA_PATH,
        kind="schema",
        layer=LAYER,
        primary_unit=UNIT,
        tags=TAGS,
        stable_key=STABLE_KEY,
    )
    own = _own_oid(workspace)
    known = registry.find_key(STABLE_KEY)
    if known is not None:
        if own and own != known.oid:
            raise RegistryRefused(f"{SCHEMA_PATH} has {own}, the registry has {known.oid} for it")
        return known.oid
    return registry.adopt(own, new).oid if own else registry.issue(new).oid


def _own_oid(workspace: Workspace) -> str:
    data = _content(workspace, SCHEMA_PATH)
    try:
        oid = None if data is None else inline_of(SCHEMA_PATH, data).oid
    except MetadataError:
        return ""
    return oid if isinstance(oid, str) and is_oid(oid) else ""
