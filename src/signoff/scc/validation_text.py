"""What the oid-validator found, as one line of JSON and as a report for people."""

from __future__ import annotations

import msgspec

from signoff.jsonvalue import shown
from signoff.scc.validator import Validation

__all__ = ["as_line", "as_markdown"]


def as_line(found: Validation) -> bytes:
    """One line of JSON; each error as ``{code, path, message}``."""
    document = {"ok": found.ok, **msgspec.structs.asdict(found)}
    return msgspec.json.encode(document)


def as_markdown(found: Validation) -> bytes:
    """A report in Markdown."""
    lines = [
        "# oid_validator",
        "",
        f"- Result: {'PASS' if found.ok else 'FAIL'}",
        f"- Time: {found.ts_utc}",
        f"- Files: {found.checked_files} of {found.total_files} read",
        f"- Unit registry: {_code(found.unit_registry)}",
        f"- Registry of documents: {_code(found.registry)}",
        "",
        "## Findings",
        "",
        *(f"- {one.code}: {_code(one.path or '-')}: {_code(one.message)}" for one in found.errors),
        *(["- none"] if not found.errors else []),
    ]
    return "\n".join([*lines, ""]).encode()


def _code(text: str) -> str:
    """The text where nothing in it is read as Markdown."""
    return f"`{shown(text).replace('`', chr(39))}`"
