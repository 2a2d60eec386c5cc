"""
What ``scc init`` writes: three scripts at the seed's paths, the verdict schema, the settings.

The scripts only call the installed package, so that the seed's commands run as
they are written and nothing that judges lies where an executor can write.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from signoff.dialects.scc.scope import SCRIPTS
from signoff.strictjson import loads

__all__ = [
    "LAYER",
    "SCHEMA_PATH",
    "TAGS",
    "UNIT",
    "is_same",
    "schema_text",
    "scripts",
    "settings_text",
]

SCHEMA_PATH: Final = SCRIPTS[3]
LAYER: Final = "CANON"
UNIT: Final = "V.VERDICT"
TAGS: Final = ("K.SCHEMA",)
"""What the schema file says of itself, besides its OID."""

_SCHEMA: Final = Path(__file__).with_name("verdict.schema.json")

_COMMANDS: Final = {
    SCRIPTS[0]: ("run", 4, "Run the checks of a contract and write its verdict"),
    SCRIPTS[1]: ("check", 3, "Run the phase-4 checks"),
    SCRIPTS[2]: ("verdict", 3, "Judge what is on disk by guard and triplet"),
}

_SCRIPT: Final = '''\
#!/usr/bin/env python3
"""{title}: signoff does it, this file only calls it."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WORKSPACE = os.path.normpath(os.path.join(HERE, {up!r}))
# What lies beside this file is no module of signoff, whatever it is called.
sys.path[:] = [path for path in sys.path if os.path.realpath(path) != os.path.realpath(HERE)]

if __name__ == "__main__":
    try:
        from signoff.cli import main
    except ImportError as exc:
        print(f"signoff cannot be imported ({{exc}}); pip install signoff", file=sys.stderr)
        sys.exit(2)
    sys.argv[1:1] = ["scc", {command!r}, "--workspace", WORKSPACE]
    main()
'''

_SETTINGS: Final = """\
# SCC in this workspace. A change of this file counts as tampering until it is committed.
area = "control_plane"
min_isolation = "L1"
run_timeout_s = 3600
protected = []

# "builtin", or the path of a unit registry
unit_registry = "{units}"
# "none", or the path of a registry of documents; with a path its absence is a failure
ssot_registry = "{ssot}"

[commands]
allow = []
deny = []

[env]
allow = []

[vars]
"""


def scripts() -> dict[str, bytes]:
    """The content of each script by its path."""
    return {
        path: _SCRIPT.format(command=command, title=title, up="/".join([".."] * (depth - 1)))
        .replace("'", '"')
        .encode()
        for path, (command, depth, title) in _COMMANDS.items()
    }


def schema_text(oid: str) -> bytes:
    """The content of the schema file, with its OID."""
    schema = loads(_SCHEMA.read_bytes())
    assert isinstance(schema, dict)
    head = {name: schema.pop(name) for name in ("$schema", "$id")}
    own = {"layer": LAYER, "primary_unit": UNIT, "tags": [*TAGS], "status": "active"}
    document = {**head, "oid": oid, **own, **schema}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def settings_text(*, unit_registry: str, ssot_registry: str) -> bytes:
    """The content of ``.signoff/scc.toml``."""
    return _SETTINGS.format(units=unit_registry, ssot=ssot_registry).encode()


def is_same(path: str, data: bytes) -> bool:
    """A file's content is that of the installed version, the schema's OID aside."""
    own = scripts()
    if path in own:
        return data == own[path]
    try:
        value = loads(data)
    except ValueError:
        return False
    oid = value.get("oid") if isinstance(value, dict) else None
    return isinstance(oid, str) and data == schema_text(oid)
