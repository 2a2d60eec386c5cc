"""The nouns of the registry: an object with its OID, and what happened to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff.errors import RegistryRefused
from signoff.jsonvalue import JSON, shown
from signoff.scc.metadata import LAYERS, STATUSES

__all__ = [
    "CHANGEABLE",
    "MAX_TEXT",
    "NULLABLE",
    "Issued",
    "NewObject",
    "OidEvent",
    "OidObject",
    "changed",
    "require_fields",
]

MAX_TEXT: Final = 4_096
CHANGEABLE: Final = (
    "path", "kind", "layer", "primary_unit", "tags", "status", "sha256", "derived_from",
    "replaced_by", "hint",
)  # fmt: skip
NULLABLE: Final = frozenset(("sha256", "derived_from", "replaced_by", "stable_key", "hint"))
"""What an object may be without; there ``""`` says so."""


class NewObject(Struct, frozen=True, kw_only=True):
    """
    What is to be registered.

    Args:
        path: Relative to the workspace.
        kind: What it is, in a word.
        layer: One of ``LAYERS``.
        primary_unit: Its one unit.
        tags: Further units.
        status: One of ``STATUSES``.
        sha256: 64 hex digits of its bytes, ``""`` where they may change.
        derived_from: OID of what it was made from, or ``""``.
        stable_key: Who asks again with the same key gets the same OID; ``""`` for none.
        hint: For people.
    """

    path: str
    kind: str
    layer: str
    primary_unit: str
    tags: tuple[str, ...] = ()
    status: str = "active"
    sha256: str = ""
    derived_from: str = ""
    stable_key: str = ""
    hint: str = ""


class OidObject(NewObject, frozen=True, kw_only=True):
    """A registered object."""

    oid: str
    replaced_by: str = ""
    created_at: str
    updated_at: str


class OidEvent(Struct, frozen=True, kw_only=True):
    """What happened to an OID: ``ISSUED``, ``MIGRATED`` or ``COLLISION``."""

    event_id: str
    oid: str
    kind: str
    payload: dict[str, Any]
    created_at: str


class Issued(Struct, frozen=True, kw_only=True):
    """
    The answer to a request for an OID.

    Args:
        oid: The OID.
        issued: False if the stable key had it already.
    """

    oid: str
    issued: bool


def require_fields(new: NewObject) -> None:
    """
    Nothing, if an object can be registered.

    Raises:
        RegistryRefused: A field is wrong.
    """
    for name in ("path", "kind", "layer", "primary_unit", "status"):
        text = getattr(new, name)
        if not text or len(text) > MAX_TEXT or "\0" in text:
            raise RegistryRefused(f"{name} must be a non-empty text")
    parts = new.path.split("/")
    if "\\" in new.path or {"", ".", ".."} & {*parts}:
        raise RegistryRefused(f'path "{shown(new.path)}" is no plain path in the workspace')
    if new.layer not in LAYERS:
        raise RegistryRefused(f'layer "{shown(new.layer)}" must be one of {", ".join(LAYERS)}')
    if new.status not in STATUSES:
        raise RegistryRefused(f'status "{shown(new.status)}" must be one of {", ".join(STATUSES)}')
    if "\0" in f"{new.stable_key}{new.hint}{new.sha256}{''.join(new.tags)}":
        raise RegistryRefused("a null character")


def changed(before: OidObject, changes: Mapping[str, JSON]) -> OidObject:
    """
    The object with new values of its fields.

    Raises:
        RegistryRefused: A field cannot change, or a value is of the wrong type.
    """
    fields: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in CHANGEABLE:
            raise RegistryRefused(f'"{shown(name)}" is no field that can change')
        if name == "tags":
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                raise RegistryRefused("tags must be array of strings")
            fields[name] = tuple(value)
        elif value is None and name in NULLABLE:
            fields[name] = ""
        elif isinstance(value, str):
            fields[name] = value
        else:
            raise RegistryRefused(f"{name} must be string")
    return msgspec.structs.replace(before, **fields)
