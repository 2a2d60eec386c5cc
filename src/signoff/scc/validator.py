"""
The oid-validator: every document that needs an OID has one, and the registry agrees.

What cannot be found out is a finding like any other: without targets, unit
registry or database nothing passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from signoff.canonical import digest_bytes
from signoff.dialects.scc.scope import comparable
from signoff.dialects.scc.settings import (
    BUILTIN,
    NONE,
    PATH,
    SSOT_REGISTRY,
    UNIT_REGISTRY,
    Settings,
)
from signoff.dialects.scc.verdict import utc_text
from signoff.errors import DatabaseUnusable, NotGiven, NotInstalled
from signoff.jsonvalue import shown
from signoff.scc.file_check import FileCheck, OidFinding
from signoff.scc.metadata import Inline, MetadataError, inline_of
from signoff.scc.oid_object import OidObject
from signoff.scc.registry import OidRegistry
from signoff.scc.ssot import SsotInvalid, read_ssot
from signoff.scc.store import open_registry, place_of
from signoff.scc.unit import BUILTIN_UNITS, read_units
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace

__all__ = ["TARGETS", "Documents", "Validation", "documents_of", "units_of", "validate"]

TARGETS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("docs/ssot", (".md",)),
    ("docs/CANONICAL", (".md",)),
    ("docs/DOCOPS", (".md",)),
    ("docs/ARCH/contracts", (".md", ".json")),
    ("docs/ssot/03_agent_playbook", (".json",)),
    ("docs/ssot/04_contracts", (".json",)),
    ("docs/ssot/05_runbooks", (".schema.json",)),
)
"""Folders, with the endings of the names below them that need an OID."""


class Validation(Struct, frozen=True, kw_only=True):
    """
    What the validator found.

    Args:
        ts_utc: When.
        registry: Path of the registry of documents, or ``none``.
        targets: Patterns of the targets.
        targets_tree: How many files the patterns gave.
        targets_registry_canonical: How many the registry of documents names.
        unit_registry: Path of the unit registry, or ``builtin``.
        total_files: Different targets.
        checked_files: Those whose metadata could be read.
        errors: Every finding.
        warnings: What a person should know.
    """

    ts_utc: str
    registry: str
    targets: tuple[str, ...]
    targets_tree: int
    targets_registry_canonical: int
    unit_registry: str
    total_files: int
    checked_files: int
    errors: tuple[OidFinding, ...]
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True only if files were checked and nothing was found."""
        return not self.errors and self.checked_files > 0


class Documents(Struct, frozen=True, kw_only=True):
    """
    The documents that need an OID.

    Args:
        units: The registered units; None where they are not known.
        inlines: The metadata and digest of each document whose metadata can be read.
        tree: How many files the patterns gave.
        canonical: How many the registry of documents names.
        targets: Different documents.
        errors: What is wrong with the others.
    """

    units: frozenset[str] | None
    inlines: dict[str, tuple[Inline, str]]
    tree: int
    canonical: int
    targets: int
    errors: tuple[OidFinding, ...]


def units_of(workspace: Workspace, settings: Settings) -> frozenset[str]:
    """
    The units that are registered in a workspace.

    Raises:
        PathMissing: There is no unit registry.
        PathUnsafe: It may not be read.
    """
    if settings.unit_registry == BUILTIN:
        return BUILTIN_UNITS
    return read_units(workspace.read(settings.unit_registry).decode("utf-8", "replace"))


def validate(
    workspace: Workspace,
    settings: Settings,
    *,
    now: datetime,
    env: Mapping[str, str],
    dsn: str | None = None,
    open_at: Callable[[str | Path], OidRegistry] | None = None,
) -> Validation:
    """
    What is wrong with the OIDs of a workspace; never raises for what is in it.

    Args:
        workspace: Where the documents are.
        settings: Of the workspace.
        now: For the record.
        env: Where the DSN may be named.
        dsn: Where the registry is, as the command line says.
        open_at: Opens the registry; for reading only, when None.
    """
    given = documents_of(workspace, settings)
    found = [*given.errors]
    found += _registered(
        lambda: (open_at or _for_reading)(place_of(workspace, env, dsn=dsn)),
        given.inlines,
        given.units,
    )
    return Validation(
        ts_utc=utc_text(now),
        registry=settings.ssot_registry,
        targets=tuple(f"{top}/**/*{end}" for top, ends in TARGETS for end in ends),
        targets_tree=given.tree,
        targets_registry_canonical=given.canonical,
        unit_registry=settings.unit_registry,
        total_files=given.targets,
        checked_files=len(given.inlines),
        errors=tuple(found),
        warnings=() if settings.given else (f"{PATH} is absent: run signoff scc init",),
    )


def documents_of(workspace: Workspace, settings: Settings) -> Documents:
    """The documents of a workspace that need an OID; never raises for what is in it."""
    found: list[OidFinding] = []
    units = _units(workspace, settings, found)
    tree = [*_tree(workspace, settings)]
    canonical = _canonical(workspace, settings, found)
    for path, regular in tree:
        if not regular:
            found.append(OidFinding("path_unsafe", path, "is a link, or no regular file"))
    targets = sorted({path for path, regular in tree if regular} | {*canonical})
    if not targets:
        found.append(OidFinding("no_targets", "", "no document needs an OID"))
    spelled = frozenset(path for path, _ in tree)
    inlines = dict(_inlines(workspace, targets, spelled, found))
    return Documents(
        units=units,
        inlines=inlines,
        tree=len(tree),
        canonical=len(canonical),
        targets=len(targets),
        errors=tuple(found),
    )


def _for_reading(place: str | Path) -> OidRegistry:
    return open_registry(place, may_write=False)


def _units(
    workspace: Workspace, settings: Settings, found: list[OidFinding]
) -> frozenset[str] | None:
    path = settings.unit_registry
    try:
        units = units_of(workspace, settings)
    except PathMissing:
        hint = "" if settings.given else "; run signoff scc init"
        found.append(OidFinding("unit_registry_missing", path, f"no such file{hint}"))
        return None
    except PathUnsafe as exc:
        found.append(OidFinding("unit_registry_missing", path, str(exc)))
        return None
    if not units:
        found.append(OidFinding("unit_registry_empty", path, "registers no unit"))
        return None
    return units


def _tree(workspace: Workspace, settings: Settings) -> Iterator[tuple[str, bool]]:
    exempt = {settings.unit_registry, settings.ssot_registry, UNIT_REGISTRY, SSOT_REGISTRY}
    seen = set[str]()
    for top, endings in TARGETS:
        for path, regular in workspace.walk(top):
            # A link is told whatever its name is: what is behind it was not looked at.
            wanted = path.lower().endswith(endings) or not regular
            if wanted and path not in exempt and path not in seen:
                seen.add(path)
                yield path, regular


def _canonical(
    workspace: Workspace, settings: Settings, found: list[OidFinding]
) -> tuple[str, ...]:
    path = settings.ssot_registry
    if path == NONE:
        return ()
    try:
        entries = read_ssot(workspace.read(path))
    except PathMissing:
        hint = "" if settings.given else "; run signoff scc init"
        found.append(OidFinding("registry_missing", path, f"no such file{hint}"))
    except PathUnsafe as exc:
        found.append(OidFinding("registry_missing", path, str(exc)))
    except SsotInvalid as exc:
        found.append(OidFinding("registry_invalid", path, str(exc)))
    else:
        exempt = {settings.unit_registry, path}
        return tuple(entry.path for entry in entries if entry.path not in exempt)
    return ()


def _inlines(
    workspace: Workspace,
    targets: Iterable[str],
    spelled: frozenset[str],
    found: list[OidFinding],
) -> Iterator[tuple[str, tuple[Inline, str]]]:
    """The metadata of each target that has some, with the digest of the file."""
    for path in targets:
        try:
            if path not in spelled:  # the disk did not say this name itself
                workspace.require_spelling(path)
            data = workspace.read(path)
            inline = inline_of(path, data)
        except PathMissing:
            found.append(OidFinding("missing_file", path, "no such file"))
        except PathUnsafe as exc:
            found.append(OidFinding("path_unsafe", path, str(exc)))
        except MetadataError as exc:
            found.append(OidFinding(exc.code, path, exc.reason))
        else:
            yield path, (inline, digest_bytes(data).removeprefix("sha256:"))


def _registered(
    opened: Callable[[], OidRegistry],
    inlines: Mapping[str, tuple[Inline, str]],
    units: frozenset[str] | None,
) -> Iterator[OidFinding]:
    """What each file says, held against the units and the registry."""
    check = FileCheck(units=units)
    for path, (inline, _) in inlines.items():
        yield from check.inline(path, inline)
    yield from check.duplicates({path: inline for path, (inline, _) in inlines.items()})
    code = "pg_schema_init_failed"
    try:
        with opened() as registry:
            code = "pg_lookup_failed"
            oids = [inline.oid for inline, _ in inlines.values() if isinstance(inline.oid, str)]
            objects = registry.find_all(oids)
            active = registry.active_paths()
    except NotGiven as exc:
        yield OidFinding("missing_pg_dsn", "", str(exc))
    except (DatabaseUnusable, NotInstalled) as exc:
        yield OidFinding(code, "", str(exc))
    else:
        yield from _against(check, objects, active, inlines)


def _against(
    check: FileCheck,
    objects: Mapping[str, OidObject],
    active: Iterable[tuple[str, str]],
    inlines: Mapping[str, tuple[Inline, str]],
) -> Iterator[OidFinding]:
    owners: dict[str, list[str]] = {}
    for path, oid in active:
        owners.setdefault(comparable(path), []).append(oid)
    for path, (inline, sha256) in inlines.items():
        yield from check.registered(path, inline, sha256, objects)
        several = owners.get(comparable(path), [])
        if len(several) > 1:
            told = ", ".join(map(shown, sorted(several)[:3]))
            yield OidFinding("duplicate_active_path", path, f"is the active path of {told}")
