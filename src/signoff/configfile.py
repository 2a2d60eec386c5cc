"""
``signoff.toml``, read strictly: what it does not know it refuses, all faults at once.

A misspelt limit is a limit that is not in force, so nothing is passed over.  No
secret stands in the file: it names the environment variables that hold them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from signoff.command_settings import CommandSettings
from signoff.config import AnyEmbedder, Config, FunctionEmbedder
from signoff.document import Document, parse_document, read_bytes
from signoff.embedder import EndpointEmbedder, SentenceTransformerEmbedder
from signoff.errors import ConfigError, Fault, ParamsError
from signoff.jsonlimits import MAX_DEPTH, MAX_DIGITS
from signoff.jsonvalue import join_pointer, parse_pointer, shown
from signoff.params import BOOLEAN, OBJECT, Kind, array_of, choice, integer, number, text
from signoff.plugins import Reference, is_reference
from signoff.remote_service import (
    MAX_REPLY_BYTES,
    MAX_TIMEOUT_S,
    Service,
    can_be_sent,
    is_header_name,
    variable,
)
from signoff.strictjson import Limits

__all__ = ["FILE", "load_config"]

FILE: Final = "signoff.toml"
MAX_BYTES: Final = 2**20
MAX_OUTPUT_BYTES: Final = 2**30
MAX_PIXELS: Final = 10**9
T = TypeVar("T")

_SECRET: Final = re.compile(
    r"auth|cookie|credential|key|password|secret|signature|token", re.IGNORECASE
)


def _matching(says: str, holds: Callable[[str], bool]) -> Kind:
    def read(value: Any) -> str:
        if type(value) is not str or not 0 < len(value) <= 4_096 or not holds(value):
            raise ValueError
        return value

    return Kind(says=says, read=read, schema={"type": "string"})


def _is_url(value: str) -> bool:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return False
    return (
        value.isascii()
        and value.isprintable()
        and " " not in value
        and parts.scheme in {"http", "https"}
        and bool(parts.hostname)
        and port != 0
        and "@" not in parts.netloc
        and not parts.fragment
    )


NAME: Final = text("non-empty text", least=1, most=200)
URL: Final = _matching("http or https URL without user name and fragment", _is_url)
SECONDS: Final = number(
    f"number of seconds, 0.001 to {MAX_TIMEOUT_S:g}", ge=0.001, le=MAX_TIMEOUT_S
)
VARIABLE: Final = _matching(
    '"env:" and the name of a variable', lambda value: bool(variable(value))
)
REFERENCE: Final = _matching('"package.module:name"', is_reference)
PATH: Final = _matching("path", lambda value: "\0" not in value)
ENVIRONMENT: Final = _matching("name of a variable", lambda value: bool(variable(f"env:{value}")))
HEADER: Final = _matching("text of printable ASCII characters", can_be_sent)

SERVICE: Final[Mapping[str, Kind]] = {
    "url": URL,
    "timeout_s": SECONDS,
    "headers": OBJECT,
    "allow_http": BOOLEAN,
    "max_bytes": integer(ge=1, le=MAX_REPLY_BYTES),
}
ENDPOINT: Final[Mapping[str, Kind]] = {
    "url": URL,
    "model": NAME,
    "key": VARIABLE,
    "timeout_s": SECONDS,
    "allow_http": BOOLEAN,
}
# Settings of each kind of embedder, and those that it must have.
EMBEDDERS: Final[Mapping[str, tuple[Mapping[str, Kind], tuple[str, ...]]]] = {
    "endpoint": (ENDPOINT, ("url", "model")),
    "python": ({"function": REFERENCE, "timeout_s": SECONDS}, ("function",)),
    "sentence-transformers": ({"folder": NAME, "timeout_s": SECONDS}, ("folder",)),
}
KIND: Final = choice(*EMBEDDERS)
PLUGINS: Final[Mapping[str, Kind]] = {
    "verifiers": array_of(NAME, "array of names of installed plug-ins", least=0),
    "modules": array_of(REFERENCE, 'array of "package.module:name"', least=0),
}
LIMITS: Final[Mapping[str, Kind]] = {
    "max_bytes": integer(ge=1, le=MAX_OUTPUT_BYTES),
    "max_depth": integer(ge=1, le=MAX_DEPTH),
    "max_digits": integer(ge=1, le=MAX_DIGITS),
    "max_image_pixels": integer(ge=1, le=MAX_PIXELS),
    "max_image_bytes": integer(ge=1, le=MAX_OUTPUT_BYTES),
}
COMMAND_LIMITS: Final[Mapping[str, Kind]] = {
    "memory_bytes": integer(ge=2**20, le=2**50),
    "processes": integer(ge=1, le=2**20),
    "file_bytes": integer(ge=0, le=2**50),
    "disk_bytes": integer(ge=0, le=2**50),
    "open_files": integer(ge=16, le=2**20),
    "output_bytes": integer(ge=0, le=2**40),
}
COMMANDS: Final[Mapping[str, Kind]] = {
    "min_isolation": choice("L1", "L2", "L3"),
    "readable": array_of(PATH, "array of paths", least=0),
    "pass_env": array_of(ENVIRONMENT, "array of names of variables", least=0),
    "python": PATH,
    **COMMAND_LIMITS,
}
TABLES: Final[Mapping[str, Kind]] = dict.fromkeys(
    ("services", "embedders", "predicates", "plugins", "commands", "limits"), OBJECT
)


def load_config(path: str | os.PathLike[str] = FILE) -> Config:
    """
    The configuration in a file.

    Raises:
        DocumentError: The file cannot be read, or is not TOML.
        ConfigError: With every fault, each with its line and column.
    """
    name = os.fspath(path)
    data = read_bytes(name, max_bytes=MAX_BYTES)
    document = parse_document(data, name, format="toml")
    reading = _Reading(document=document, folder=Path(name).absolute().parent, faults=[])
    config = reading.config()
    if reading.faults:
        placed = sorted(map(document.placed, reading.faults), key=_position)
        raise ConfigError(tuple(placed), source=document.source)
    return config


class _Reading(Struct, frozen=True, kw_only=True):
    """One pass over one document; faults are gathered, and what has one is left out."""

    document: Document
    folder: Path
    faults: list[Fault]

    def config(self) -> Config:
        tables = self.table(self.document.value, "", TABLES)
        plugins = self.table(tables.get("plugins", {}), "/plugins", PLUGINS)
        limits = self.table(tables.get("limits", {}), "/limits", LIMITS)
        return Config(
            services=self.entries(tables, "services", self.service),
            embedders=self.entries(tables, "embedders", self.embedder),
            predicates=self.entries(tables, "predicates", self.predicate),
            plugins=self.references(plugins.get("verifiers", ()), "/plugins/verifiers"),
            modules=self.references(plugins.get("modules", ()), "/plugins/modules"),
            commands=self.commands(tables.get("commands", {})),
            limits=Limits(**{name: limits.pop(name) for name in _LIMITS if name in limits}),
            document=self.document,
            **limits,
        )

    def commands(self, value: dict[str, Any]) -> CommandSettings:
        """Paths are relative to the file."""
        found = self.table(value, "/commands", COMMANDS)
        limits = {name: found.pop(name) for name in COMMAND_LIMITS if name in found}
        readable = tuple(str(self.folder / name) for name in found.pop("readable", ()))
        if "python" in found:
            found["python"] = str(self.folder / found["python"])
        return CommandSettings(readable=readable, limits=limits, **found)

    def table(
        self, value: Any, where: str, fields: Mapping[str, Kind], required: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """The settings of a table that can be used."""
        found: dict[str, Any] = {}
        for name, given in value.items():
            place = join_pointer(where, name)
            if name in fields:
                found |= self.read(given, place, fields[name], name)
            else:
                message = f"{_spelt(place)} is not a setting"
                self.faults.append(Fault(place, message, got=name, known=tuple(fields)))
        for name in required:
            if name not in value:
                self.fault(where, f"{_spelt(join_pointer(where, name))} is required")
        return found

    def read(self, given: Any, place: str, kind: Kind, name: str) -> dict[str, Any]:
        """The value under its name; nothing when it has a fault."""
        try:
            return {name: kind.read(given)}
        except (ParamsError, ValueError):
            self.fault(place, f"{_spelt(place)} must be {kind.says}")
            return {}

    def entries(
        self, tables: dict[str, Any], table: str, entry: Callable[[Any, str], Any]
    ) -> dict[str, Any]:
        """The entries of a table of named ones."""
        found = {}
        for name, value in tables.get(table, {}).items():
            where = join_pointer(f"/{table}", name)
            if self.read(name, where, NAME, name):
                found[name] = entry(value, where)
        return {name: value for name, value in found.items() if value is not None}

    def service(self, value: Any, where: str) -> Service | None:
        if not self.is_table(value, where):
            return None
        count = len(self.faults)
        found = self.table(value, where, SERVICE, ("url",))
        self.require_private(found, where)
        found["headers"] = self.headers(found.pop("headers", {}), f"{where}/headers")
        return self.made(Service, found, where) if len(self.faults) == count else None

    def made(self, kind: Callable[..., T], found: dict[str, Any], where: str) -> T | None:
        """The object of these settings, unless it refuses them; then it says which."""
        try:
            return kind(**found)
        except ValueError as exc:
            name = re.split(r"[ .]", str(exc), maxsplit=1)[0]
            place = f"{where}/{name}" if name in found else where
            self.fault(place, f"{_spelt(where)}.{exc}")
            return None

    def headers(self, value: dict[str, Any], where: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, given in value.items():
            place = join_pointer(where, name)
            if not is_header_name(name):
                self.fault(place, f"{_spelt(place)} is not the name of a header")
            kind = VARIABLE if _SECRET.search(name) else HEADER
            if type(given) is str and given.startswith("env:"):
                kind = VARIABLE
            found |= self.read(given, place, kind, name)
        return found

    def embedder(self, value: Any, where: str) -> AnyEmbedder | None:
        if not self.is_table(value, where):
            return None
        kind = self.read(value.get("kind"), f"{where}/kind", KIND, "kind").get("kind")
        if kind is None:
            return None
        fields, required = EMBEDDERS[kind]
        count = len(self.faults)
        found = self.table(value, where, {"kind": KIND, **fields}, required)
        self.require_private(found, where)
        if len(self.faults) > count:
            return None
        del found["kind"]
        if kind == "endpoint":
            return self.made(EndpointEmbedder, found, where)
        if kind == "python":
            found["function"] = self.reference(found["function"], f"{where}/function")
            return self.made(FunctionEmbedder, found, where)
        found["folder"] = self.folder / found["folder"]
        return self.made(SentenceTransformerEmbedder, found, where)

    def predicate(self, value: Any, where: str) -> Reference | None:
        found = self.read(value, where, REFERENCE, "predicate")
        return self.reference(found["predicate"], where) if found else None

    def references(self, names: tuple[str, ...], where: str) -> tuple[Reference, ...]:
        for index, name in enumerate(names):
            if name in names[:index]:
                place = join_pointer(where, index)
                self.fault(place, f'"{shown(name)}" is named twice in {_spelt(where)}')
        return tuple(
            self.reference(name, join_pointer(where, index)) for index, name in enumerate(names)
        )

    def reference(self, name: str, where: str) -> Reference:
        line, column = self.document.place(where)
        said = f"{self.document.source}:{line}:{column}"
        return Reference(name=name, said=said, folder=self.folder)

    def is_table(self, value: Any, where: str) -> bool:
        return bool(self.read(value, where, OBJECT, "table"))

    def require_private(self, found: dict[str, Any], where: str) -> None:
        """What is sent to another machine is encrypted, unless the operator says otherwise."""
        given: dict[str, Any] = {
            name: found[name] for name in ("url", "allow_http") if name in found
        }
        if "url" in given:
            self.made(Service, given, where)

    def fault(self, where: str, message: str) -> None:
        self.faults.append(Fault(where, message))


_LIMITS: Final = ("max_bytes", "max_depth", "max_digits")


def _spelt(pointer: str) -> str:
    """A place as TOML spells it, as far as that is one word."""
    return shown(".".join(parse_pointer(pointer)))


def _position(fault: Fault) -> tuple[int, int]:
    return fault.line, fault.column
