"""A text contains a match of a pattern."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from signoff.errors import ParamsError
from signoff.jsonvalue import JSON, parse_pointer, shown
from signoff.model import Finding, Subject, failed, passed
from signoff.params import MAX_TEXT, Kind, Pointer
from signoff.registry import Check, reads, verifier

MAX_MEMORY = 8 * 2**20
LETTERS = "gimsu"


def _read_pattern(value: JSON) -> str:
    if type(value) is not str or not value:
        raise ValueError
    if len(value) > MAX_TEXT:
        raise ParamsError("params.pattern must be non-empty string")
    _compiled(value, "", where="")
    return value


def _read_flags(value: JSON) -> str:
    if type(value) is not str or len(set(value)) < len(value) or not set(value) <= set(LETTERS):
        raise ValueError
    return value


Pattern = Annotated[
    str,
    Kind(
        says="non-empty string",
        read=_read_pattern,
        schema={"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
        fault="params.{name} is required",
    ),
]
Flags = Annotated[
    str,
    Kind(
        says=f"letters of {LETTERS}, each at most once",
        read=_read_flags,
        schema={"type": "string", "pattern": f"^[{LETTERS}]*$", "maxLength": len(LETTERS)},
    ),
]


def _with_engine(params: dict[str, Any], _: Path | None) -> dict[str, Any]:
    """The parameters with the engine named: results differ between engines."""
    return params if "engine" in params else params | {"engine": "re2"}


@lru_cache(maxsize=1)
def _version() -> dict[str, str]:
    from importlib.metadata import version  # slow to import, and only reports need it

    return {"google-re2": version("google-re2")}


@verifier(rewrite=_with_engine, engines=_version)
def regex_match(
    *,
    pattern: Pattern,
    flags: Flags = "",
    engine: Literal["re2"] = "re2",  # noqa: ARG001  names the only engine, so that contracts say it
    path: Pointer = "",
) -> Check:
    r"""
    The text at ``path`` contains a match of ``pattern``, anywhere unless it is anchored.

    ``$`` holds only at the very end, ``.`` is any code point but a newline, and ``\d``,
    ``\w`` and ``\b`` know ASCII alone.  The time it takes is linear in the text; what
    cannot be done so, look-around and back-references, is refused.

    Args:
        pattern: RE2 syntax.
        flags: "i" ignores case, "m" lets ``^`` and ``$`` hold at every line, "s" lets ``.``
            match a newline; "g" and "u" change nothing.
        engine: The engine, which lock writes in.
        path: RFC 6901 pointer to the text; the whole output when empty.

    Source: OpenSpec, "Verifiers"; spec "The standard library of checks", 2.6.
    """
    search = _compiled(pattern, flags, where="/pattern").search

    def check(subject: Subject) -> Finding:
        text = subject.value(path)
        if type(text) is not str:
            return failed("Output is not a string.", at=path)
        # as bytes, because for text the library would count the characters before the match
        return passed("Matched.") if search(text.encode()) else failed("Did not match.", at=path)

    return reads(check, parse_pointer(path))


def _compiled(pattern: str, flags: str, *, where: str) -> Any:
    """
    The pattern as RE2 has it.

    Raises:
        ParamsError: RE2 refuses it.
    """
    import re2  # slow to import, and only this check needs it

    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    options.never_capture = True  # nobody reads the groups, and finding them takes slow engines
    options.case_sensitive = "i" not in flags
    options.dot_nl = "s" in flags
    try:
        return re2.compile(f"(?m){pattern}" if "m" in flags else pattern, options)
    except re2.error as exc:
        reason = shown(exc.args[0].decode(errors="replace"))
        raise ParamsError(f"params.pattern is refused by RE2: {reason}", where=where) from None
