"""``.signoff/scc.toml``: what a workspace settles for all of its runs, read strictly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, get_args

from msgspec import Struct

from signoff.dialects.scc.names import name_fault
from signoff.dialects.scc.placeholder import OWN_NAMES, is_variable
from signoff.dialects.scc.policy import CommandPolicy
from signoff.dialects.scc.scope import pattern_fault
from signoff.dialects.scc.shape import LIMITS, Object, Shape
from signoff.document import parse_document
from signoff.errors import ConfigError
from signoff.jsonvalue import JSON, MISSING, join_pointer, json_type, parse_pointer, shown
from signoff.model import Isolation

__all__ = ["BUILTIN", "NONE", "PATH", "SSOT_REGISTRY", "UNIT_REGISTRY", "Settings", "read_settings"]

PATH: Final = ".signoff/scc.toml"
UNIT_REGISTRY: Final = "docs/ssot/01_conventions/UNIT_REGISTRY__v0.1.0.md"
SSOT_REGISTRY: Final = "docs/ssot/registry.json"
BUILTIN: Final = "builtin"
NONE: Final = "none"
MAX_RUN_TIMEOUT_S: Final = 7 * 86_400

_TABLES: Final = {"commands": ("allow", "deny"), "env": ("allow",)}
_FIELDS: Final = (
    "area", "min_isolation", "run_timeout_s", "protected", "unit_registry", "ssot_registry",
    *_TABLES, "vars",
)  # fmt: skip


class Settings(Struct, frozen=True, kw_only=True):
    """
    What is in force; without a file, the defaults.

    Args:
        area: Of runs that name none.
        min_isolation: Lowest level under which a check may run.
        run_timeout_s: Seconds until a whole run is stopped.
        protected: Further patterns that no executor may write.
        commands: What the policy allows and denies.
        env_allow: Variables of the caller that checks may see.
        variables: Placeholders and their values.
        unit_registry: Path of the unit registry, or ``builtin``.
        ssot_registry: Path of the registry of documents, or ``none``.
        given: There is a file: the workspace was initialised.
    """

    area: str = "control_plane"
    min_isolation: Isolation = "L1"
    run_timeout_s: int = 3600
    protected: tuple[str, ...] = ()
    commands: CommandPolicy = CommandPolicy()
    env_allow: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    unit_registry: str = UNIT_REGISTRY
    ssot_registry: str = SSOT_REGISTRY
    given: bool = False


def read_settings(data: bytes, source: str = PATH) -> Settings:
    """
    The settings in the bytes of a file.

    Raises:
        TextError: It is not TOML.
        ConfigError: With every fault, each with its line and column.
    """
    document = parse_document(data, source, limits=LIMITS, format="toml")
    shape = Shape()
    settings = _settings(shape.whole(document.value, "settings"), shape)
    if shape.faults:
        placed = sorted(map(document.placed, shape.faults), key=lambda one: (one.line, one.column))
        raise ConfigError(tuple(placed), source=document.source)
    return settings


def _settings(document: Object, shape: Shape) -> Settings:
    _closed(document, "", _FIELDS, shape)
    tables = {name: shape.object(document, name, needed=False) for name in (*_TABLES, "vars")}
    for name, fields in _TABLES.items():
        _closed(tables[name], f"/{name}", fields, shape)
    commands, env = tables["commands"], tables["env"]
    found: dict[str, Any] = {
        "area": _area(document, shape),
        "min_isolation": _level(document, shape),
        "run_timeout_s": _seconds(document, shape),
        "unit_registry": _path(document, "unit_registry", shape),
        "ssot_registry": _path(document, "ssot_registry", shape),
    }
    return Settings(
        **{name: value for name, value in found.items() if value is not MISSING},
        protected=_patterns(document, shape),
        commands=CommandPolicy(
            allow=shape.texts(commands, "allow", "/commands", needed=False),
            deny=shape.texts(commands, "deny", "/commands", needed=False),
        ),
        env_allow=shape.texts(env, "allow", "/env", needed=False),
        variables=_variables(tables["vars"], shape),
        given=True,
    )


def _closed(table: Object, where: str, known: Iterable[str], shape: Shape) -> None:
    for name in table:
        if name not in (names := tuple(known)):
            place = join_pointer(where, name)
            message = f"{shown('.'.join(parse_pointer(place)))} is not a setting"
            shape.fault(place, message, got=name, known=names)


def _area(document: Object, shape: Shape) -> Any:
    if "area" not in document:
        return MISSING
    area = shape.text(document, "area")
    fault = name_fault(area) if isinstance(document["area"], str) else None
    if fault is not None:
        shape.fault("/area", f"area {fault}")
    return area


def _level(document: Object, shape: Shape) -> Any:
    given: JSON = document.get("min_isolation", "L1")
    if given not in get_args(Isolation):
        shape.fault("/min_isolation", 'min_isolation must be "L0", "L1", "L2" or "L3"')
    return given


def _seconds(document: Object, shape: Shape) -> Any:
    if "run_timeout_s" not in document:
        return MISSING
    seconds = shape.integer(document, "run_timeout_s", least=1)
    if seconds > MAX_RUN_TIMEOUT_S:
        shape.fault("/run_timeout_s", f"run_timeout_s must be at most {MAX_RUN_TIMEOUT_S}")
    return seconds


def _path(document: Object, name: str, shape: Shape) -> Any:
    return shape.text(document, name, filled=True) if name in document else MISSING


def _patterns(document: Object, shape: Shape) -> tuple[str, ...]:
    patterns = shape.texts(document, "protected", needed=False)
    for index, pattern in enumerate(patterns):
        if (fault := pattern_fault(pattern)) is not None:
            shape.fault(f"/protected/{index}", f"protected: {fault}")
    return patterns


def _variables(table: Object, shape: Shape) -> dict[str, str]:
    for name, value in table.items():
        place = join_pointer("/vars", name)
        if not is_variable(name):
            shape.fault(place, f"vars.{shown(name)} must be upper case, such as RELEASE_TAG")
        elif name in OWN_NAMES:
            shape.fault(place, f"vars.{name} is given by the run")
        if not isinstance(value, str) or "\0" in value:
            shape.fault(place, f"vars.{shown(name)} must be string, got {json_type(value)}")
    return {name: value for name, value in table.items() if isinstance(value, str)}
