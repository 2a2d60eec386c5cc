"""One file of the oid-validator: its metadata by itself, and against the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from signoff.jsonvalue import JSON, shown
from signoff.scc.metadata import LAYERS, STATUSES, Inline
from signoff.scc.oid_object import OidObject
from signoff.scc.ulid import is_oid, is_placeholder

__all__ = ["FINDING_CODES", "FileCheck", "OidFinding"]

FINDING_CODES: Final = (
    "missing_pg_dsn", "pg_schema_init_failed", "pg_lookup_failed", "missing_file",
    "missing_frontmatter", "invalid_json", "oid_placeholder", "oid_invalid", "missing_layer",
    "missing_primary_unit", "primary_unit_unregistered", "tag_unregistered",
    "oid_missing_in_registry", "path_mismatch", "layer_mismatch", "primary_unit_mismatch",
    "tags_mismatch", "status_mismatch", "frontmatter_invalid", "layer_unknown", "status_unknown",
    "duplicate_oid", "duplicate_active_path", "sha256_mismatch", "path_unsafe",
    "unit_registry_missing", "unit_registry_empty", "registry_missing", "registry_invalid",
    "no_targets",
)  # fmt: skip
"""Every code that a finding can have; all of them are errors."""


class OidFinding(Struct, frozen=True):
    """
    One thing that is wrong.

    Args:
        code: One of ``FINDING_CODES``.
        path: Of the file, ``""`` where it is about no single one.
        message: In one sentence.
    """

    code: str
    path: str
    message: str


class FileCheck(Struct, frozen=True, kw_only=True):
    """
    What is asked of each file.

    Args:
        units: The registered units; None where they are not known, which is told elsewhere.
    """

    units: frozenset[str] | None

    def inline(self, path: str, inline: Inline) -> Iterator[OidFinding]:
        """What is wrong with a file's metadata by itself."""
        yield from _oid(path, inline.oid)
        if _is_absent(inline.layer):
            yield OidFinding("missing_layer", path, "layer is absent")
        elif inline.layer not in LAYERS:
            yield OidFinding("layer_unknown", path, f'layer "{_said(inline.layer)}" is unknown')
        if _is_absent(inline.primary_unit):
            yield OidFinding("missing_primary_unit", path, "primary_unit is absent")
        elif not self._knows(inline.primary_unit):
            message = f'primary_unit "{_said(inline.primary_unit)}" is not registered'
            yield OidFinding("primary_unit_unregistered", path, message)
        if inline.tags is not None and not isinstance(inline.tags, list):
            yield OidFinding("tag_unregistered", path, "tags must be array")
        for tag in _tags(inline):
            if not self._knows(tag):
                yield OidFinding("tag_unregistered", path, f'tag "{_said(tag)}" is not registered')
        if not _is_absent(inline.status) and inline.status not in STATUSES:
            yield OidFinding("status_unknown", path, f'status "{_said(inline.status)}" is unknown')

    def duplicates(self, inlines: Mapping[str, Inline]) -> Iterator[OidFinding]:
        """Files that have the OID of another one."""
        first: dict[str, str] = {}
        for path, inline in inlines.items():
            if isinstance(inline.oid, str) and is_oid(inline.oid):
                other = first.setdefault(inline.oid, path)
                if other != path:
                    yield OidFinding("duplicate_oid", path, f"has the OID of {shown(other)}")

    def registered(
        self, path: str, inline: Inline, sha256: str, objects: Mapping[str, OidObject]
    ) -> Iterator[OidFinding]:
        """Where a file and the registry differ."""
        if not isinstance(inline.oid, str) or not is_oid(inline.oid):
            return
        known = objects.get(inline.oid)
        if known is None:
            yield OidFinding("oid_missing_in_registry", path, f"{inline.oid} is not registered")
            return
        pairs: tuple[tuple[str, object, object], ...] = (
            ("path", path, known.path),
            ("layer", inline.layer, known.layer),
            ("primary_unit", inline.primary_unit, known.primary_unit),
            ("tags", sorted(map(_said, _tags(inline))), sorted(known.tags)),
            ("status", "active" if _is_absent(inline.status) else inline.status, known.status),
        )
        for name, own, theirs in pairs:
            if own != theirs:
                message = f'{name} is "{_said(own)}", the registry has "{_said(theirs)}"'
                yield OidFinding(f"{name}_mismatch", path, message)
        if known.sha256 and known.sha256.removeprefix("sha256:") != sha256:
            yield OidFinding("sha256_mismatch", path, "the registry has the digest of other bytes")

    def _knows(self, unit: JSON) -> bool:
        return self.units is None or (isinstance(unit, str) and unit in self.units)


def _oid(path: str, oid: JSON) -> Iterator[OidFinding]:
    if oid is None or (isinstance(oid, str) and is_placeholder(oid)):
        yield OidFinding("oid_placeholder", path, "oid is absent or a placeholder")
    elif not isinstance(oid, str) or not is_oid(oid):
        yield OidFinding("oid_invalid", path, f'oid "{_said(oid)}" is no OID')


def _tags(inline: Inline) -> list[JSON]:
    return inline.tags if isinstance(inline.tags, list) else []


def _is_absent(value: JSON) -> bool:
    return value is None or value == ""


def _said(value: object) -> str:
    return shown(value if isinstance(value, str) else str(value), 80)
