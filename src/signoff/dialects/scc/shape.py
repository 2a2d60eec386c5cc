"""The fields of a JSON object, read one by one; every fault is kept with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct

from signoff.errors import ContractError, Fault
from signoff.jsonvalue import JSON, MISSING, Missing, join_pointer, json_type, shown
from signoff.strictjson import Limits

__all__ = ["LIMITS", "VERSION", "Object", "Shape"]

VERSION: Final = "v0.1.0"
LIMITS: Final = Limits(max_bytes=2**20, max_depth=64)
"""What every SCC document is held to: 1 MiB and 64 levels."""

Object: TypeAlias = dict[str, JSON]


class Shape(Struct, kw_only=True):
    """
    One reading of one document.

    Every method gives the value, or an empty one of its type after noting a fault.

    Args:
        strict: What would be a warning is a fault.
        faults: What makes the document unusable, in the order it was met.
        warnings: What a person should know.
    """

    strict: bool = False
    faults: list[Fault] = []
    warnings: list[Fault] = []

    def fault(self, where: str, message: str, *, got: str = "", known: Iterable[str] = ()) -> None:
        """Note what makes the document unusable."""
        self.faults.append(Fault(where, message, got=got, known=tuple(known)))

    def warning(
        self, where: str, message: str, *, got: str = "", known: Iterable[str] = ()
    ) -> None:
        """Note what a person should know; under ``strict`` it makes the document unusable."""
        notes = self.faults if self.strict else self.warnings
        notes.append(Fault(where, message, got=got, known=tuple(known)))

    def note(self, where: str, message: str) -> None:
        """Note what a person should know, also under ``strict``."""
        self.warnings.append(Fault(where, message))

    def whole(self, value: JSON, what: str) -> Object:
        """The document itself, which must be an object."""
        if isinstance(value, dict):
            return value
        self.fault("", f"{what} must be object, got {json_type(value)}")
        return {}

    def closed(self, value: Object, where: str, known: Iterable[str], of: str) -> None:
        """A fault for each key that is not one of ``known``."""
        for name in value:
            if name not in (names := tuple(known)):
                message = f"{shown(name)} is not a field of {of}"
                self.fault(join_pointer(where, name), message, got=name, known=names)

    def text(
        self,
        value: Object,
        name: str,
        where: str = "",
        *,
        filled: bool = False,
        needed: bool = True,
    ) -> str:
        """A string; a ``filled`` one has a character that is no space."""
        given = self._given(value, name, where, needed=needed)
        if given is MISSING:
            return ""
        place = join_pointer(where, name)
        if not isinstance(given, str):
            self.fault(place, f"{name} must be string, got {json_type(given)}")
            return ""
        if filled and not given.strip():
            self.fault(place, f"{name} is empty")
        return given

    def texts(
        self, value: Object, name: str, where: str = "", *, needed: bool = True
    ) -> tuple[str, ...]:
        """An array of strings, none of which is empty or has a null character."""
        found: list[str] = []
        for place, given in self.items(value, name, where, needed=needed):
            if not isinstance(given, str):
                self.fault(place, f"{name} must hold strings, got {json_type(given)}")
            elif not given or "\0" in given:
                self.fault(place, f"{name} must hold non-empty strings without null characters")
            else:
                found.append(given)
        return tuple(found)

    def items(
        self, value: Object, name: str, where: str = "", *, needed: bool = True
    ) -> list[tuple[str, JSON]]:
        """The items of an array, each with its place."""
        given = self._given(value, name, where, needed=needed)
        place = join_pointer(where, name)
        if given is MISSING:
            return []
        if not isinstance(given, list):
            self.fault(place, f"{name} must be array, got {json_type(given)}")
            return []
        return [(join_pointer(place, index), item) for index, item in enumerate(given)]

    def object(self, value: Object, name: str, where: str = "", *, needed: bool = True) -> Object:
        """An object."""
        given = self._given(value, name, where, needed=needed)
        if given is MISSING:
            return {}
        if isinstance(given, dict):
            return given
        self.fault(join_pointer(where, name), f"{name} must be object, got {json_type(given)}")
        return {}

    def integer(
        self,
        value: Object,
        name: str,
        where: str = "",
        *,
        default: int = 0,
        least: int | None = None,
        needed: bool = True,
    ) -> int:
        """An integer; ``true`` and ``1.0`` are none."""
        given = self._given(value, name, where, needed=needed)
        if given is MISSING:
            return default
        bound = "" if least is None else f" >= {least}"
        if type(given) is not int or (least is not None and given < least):
            got = json_type(given) if type(given) is not int else shown(str(given))
            self.fault(join_pointer(where, name), f"{name} must be integer{bound}, got {got}")
            return default
        return given

    def boolean(self, value: Object, name: str, where: str = "") -> bool:
        """A boolean that may be absent, which is then false."""
        given = self._given(value, name, where, needed=False)
        if given is MISSING or isinstance(given, bool):
            return given is True
        self.fault(join_pointer(where, name), f"{name} must be boolean, got {json_type(given)}")
        return False

    def version(self, value: Object) -> None:
        """The ``schema_version`` of every document of this dialect."""
        if self.text(value, "schema_version") not in {VERSION, ""}:
            got = shown(str(value["schema_version"]))
            self.fault("/schema_version", f'schema_version must be "{VERSION}", got "{got}"')
        elif value.get("schema_version") == "":
            self.fault("/schema_version", f'schema_version must be "{VERSION}", got ""')

    def matching(
        self, value: Object, name: str, where: str, *, pattern: re.Pattern[str], says: str
    ) -> str:
        """A string of a form, which ``says`` puts into words."""
        text = self.text(value, name, where)
        if isinstance(value.get(name), str) and not pattern.fullmatch(text):
            self.fault(join_pointer(where, name), f"{name} must be {says}")
        return text

    def refuse_faults(self, source: str) -> None:
        """
        Nothing, if there is no fault.

        Raises:
            ContractError: With every fault.
        """
        if self.faults:
            raise ContractError(tuple(self.faults), source=source)

    def _given(self, value: Object, name: str, where: str, *, needed: bool) -> JSON | Missing:
        if name in value:
            return value[name]
        if needed:
            self.fault(where, f"{name} is required")
        return MISSING
