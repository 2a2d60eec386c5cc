"""What the tests of forge share: values that JSON has not, and verifiers that misbehave."""

from __future__ import annotations

from collections import OrderedDict, UserDict
from collections.abc import Mapping
from datetime import date
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from signoff.forge import VerificationResult
from signoff.strictjson import loads

FOLDER = Path(__file__).resolve().parent.parent.parent / "conformance" / "forge"


class Thing:
    """An object of a type that JSON has not."""


def vectors(name: str) -> list[dict[str, Any]]:
    """The cases of a file."""
    document: Any = loads((FOLDER / f"{name}.json").read_bytes())
    cases: list[dict[str, Any]] = document["cases"]
    return cases


def value(written: Any) -> Any:
    """The value that a vector means; ``$`` names what JSON has not."""
    if isinstance(written, list):
        return [value(item) for item in written]
    if not isinstance(written, dict):
        return written
    if "$" not in written:
        return {key: value(item) for key, item in written.items()}
    return KINDS[written["$"]](written)


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth - 1):
        found = [found]
    return found


def _array(written: dict[str, Any]) -> Any:
    make: Any = {"tuple": tuple, "set": set}[written["type"]]
    return make(value(written["of"]))


def _map(written: dict[str, Any]) -> Any:
    entries = [(value(key), value(item)) for key, item in written["of"]]
    make: Any = {
        "object": dict,
        "ordered": OrderedDict,
        "other": UserDict,
        "view": lambda found: MappingProxyType(dict(found)),
    }[written["type"]]
    return make(entries)


def _cycle(_: dict[str, Any]) -> Any:
    found: list[Any] = []
    found.append(found)
    return found


KINDS: Mapping[str, Any] = {
    "number": lambda written: float(written["text"]),
    "array": _array,
    "map": _map,
    "bytes": lambda written: bytes.fromhex(written["hex"]),
    "date": lambda written: date.fromisoformat(written["text"]),
    "path": lambda written: PurePosixPath(written["text"]),
    "text": lambda written: "".join(map(chr, written["code_points"])),
    "cycle": _cycle,
    "nested": lambda written: nested(written["depth"]),
    "object": lambda written: Thing(),
}


class Does:
    """A verifier that does what its name says, and notes what it saw."""

    def __init__(self, name: str) -> None:
        self.verifier_id = name
        self.saw: list[tuple[Any, Any, Any]] = []

    def verify(
        self, input_obj: Any, output_obj: Any = None, *, context: Mapping[str, Any] | None = None
    ) -> Any:
        self.saw.append((input_obj, output_obj, context))
        return getattr(self, self.verifier_id)(input_obj, output_obj, context)

    def passes(self, *_: Any) -> VerificationResult:
        return VerificationResult("pass", "it", "ok")  # type: ignore[arg-type]  # the word will do

    def warns(self, *_: Any) -> VerificationResult:
        return VerificationResult("warn", "it", "look")  # type: ignore[arg-type]  # as above

    def fails(self, *_: Any) -> VerificationResult:
        return VerificationResult("fail", "it", "no", {}, ["no"])  # type: ignore[arg-type]  # as above

    def skips(self, *_: Any) -> VerificationResult:
        return VerificationResult("skipped", "it", "not today")  # type: ignore[arg-type]  # as above

    def raises(self, *_: Any) -> None:
        raise LookupError("nothing there")

    def exits(self, *_: Any) -> None:
        raise SystemExit(0)

    def recurses(self, *given: Any) -> None:
        self.recurses(*given)

    def runs_out_of_memory(self, *_: Any) -> None:
        raise MemoryError

    def returns_nothing(self, *_: Any) -> None:
        return None

    def returns_true(self, *_: Any) -> bool:
        return True

    async def returns_a_promise(self, *_: Any) -> None:
        return None

    def reports_another_id(self, *_: Any) -> VerificationResult:
        return VerificationResult("pass", "another", "ok")  # type: ignore[arg-type]  # as above

    def changes_the_output(self, _: Any, made: Any, __: Any) -> VerificationResult:
        made["inner"].append("more")
        return self.passes()

    def changes_the_input(self, given: Any, *_: Any) -> VerificationResult:
        given["more"] = 1
        return self.passes()
