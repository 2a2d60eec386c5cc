"""Where a workspace's registry of OIDs is: a file of its own, or the PostgreSQL it is told of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from signoff.errors import DatabaseUnusable, NotGiven
from signoff.jsonvalue import shown
from signoff.ledger.database import open_database
from signoff.scc.registry import OidRegistry
from signoff.scc.workspace import Workspace

__all__ = ["FILE", "VARIABLES", "open_registry", "place_of"]

FILE: Final = ".signoff/oids.sqlite3"
VARIABLES: Final = ("SCC_OID_PG_DSN", "SCC_OID_DATABASE_URL")
SCHEMES: Final = ("postgresql://", "postgres://")


def place_of(workspace: Workspace, env: Mapping[str, str], *, dsn: str | None = None) -> str | Path:
    """
    The place of the registry: the DSN, the first of ``VARIABLES``, else the file.

    ``DATABASE_URL`` belongs to the application and is not looked at.

    Raises:
        NotGiven: A DSN is demanded and none is given: it is empty.
        DatabaseUnusable: A DSN is none, or the file is behind a link.
    """
    named = [("--dsn", dsn), *((name, env.get(name)) for name in VARIABLES)]
    for source, value in named:
        if value is None:
            continue
        if not value.strip():
            raise NotGiven(f"{source} is set and has no value")
        if not value.startswith(SCHEMES):
            raise DatabaseUnusable(f"{source} must begin with postgresql://")
        return value
    place = workspace.root / FILE
    for path in (place.parent, place):
        if path.is_symlink():
            raise DatabaseUnusable(f"{shown(str(path))}: is a symbolic link")
    return place


def open_registry(place: str | Path, *, may_write: bool = True) -> OidRegistry:
    """
    The registry at a place.

    Args:
        place: Of ``place_of``.
        may_write: False to change nothing; then it must be there.

    Raises:
        DatabaseUnusable: It cannot be opened, or its tables cannot be made.
        NotInstalled: It is in PostgreSQL, and psycopg is absent.
    """
    return OidRegistry(open_database(place, may_write=may_write))
