"""Documents that brought their OIDs with them, taken into a registry that does not know them."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from signoff.dialects.scc.settings import Settings
from signoff.scc.file_check import FileCheck, OidFinding
from signoff.scc.metadata import Inline
from signoff.scc.oid_object import NewObject
from signoff.scc.registry import OidRegistry
from signoff.scc.validator import documents_of
from signoff.scc.workspace import Workspace

__all__ = ["KIND", "Adoption", "adopt_documents"]

KIND: Final = "document"


class Adoption(Struct, frozen=True, kw_only=True):
    """
    What became of the documents that need an OID.

    Args:
        adopted: Paths of those that were registered under the OID that they have.
        known: How many were registered already.
        errors: What is wrong with the others, which were left.
    """

    adopted: tuple[str, ...]
    known: int
    errors: tuple[OidFinding, ...]


def adopt_documents(workspace: Workspace, settings: Settings, registry: OidRegistry) -> Adoption:
    """
    Register the documents of a workspace under the OIDs that they have, all that can be or none.

    A document that has a fault is left, and so is every one that has the OID of another:
    nobody can say whose it is.

    Args:
        workspace: Where the documents are.
        settings: Of the workspace.
        registry: That gets them.

    Raises:
        RegistryRefused: The registry has one of the OIDs or paths for something else.
        DatabaseUnusable: It cannot be used.
    """
    given = documents_of(workspace, settings)
    check = FileCheck(units=given.units)
    inlines = {path: inline for path, (inline, _) in given.inlines.items()}
    errors = [*given.errors]
    for path, inline in inlines.items():
        errors += check.inline(path, inline)
    doubles = [*check.duplicates(inlines)]
    shared = {inlines[one.path].oid for one in doubles}
    errors += doubles
    faulty = {one.path for one in errors}
    sound = {
        str(inline.oid): _object(path, inline)
        for path, inline in inlines.items()
        if path not in faulty and inline.oid not in shared
    }
    if given.units is None:  # nobody can say which units they may name
        return Adoption(adopted=(), known=0, errors=tuple(errors))
    issued = registry.adopt_all(sound)
    adopted = tuple(sound[one.oid].path for one in issued if one.issued)
    return Adoption(adopted=adopted, known=len(issued) - len(adopted), errors=tuple(errors))


def _object(path: str, inline: Inline) -> NewObject:
    tags = inline.tags if isinstance(inline.tags, list) else []
    return NewObject(
        path=path,
        kind=KIND,
        layer=str(inline.layer),
        primary_unit=str(inline.primary_unit),
        tags=tuple(map(str, tags)),
        status=str(inline.status or "active"),
    )
