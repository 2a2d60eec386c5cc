"""
The contract of a forge task, as its ``contract.json`` has it.

Formats 1 and 2 are read; what neither knows is kept in ``extensions``, with a warning.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import force_setattr

from signoff.dialects.forge.errors import ContractFormatError
from signoff.dialects.forge.policy import chosen
from signoff.document import parse_document, read_bytes
from signoff.errors import DocumentError
from signoff.forge.schema_rules import NotJSON, TaskSchema, plain_json, task_schema
from signoff.jsonvalue import JSON, json_type, shown
from signoff.strictjson import Limits

__all__ = ["MAX_CONTRACT_BYTES", "ContractSpec"]

MAX_CONTRACT_BYTES: Final = 2**20
FORMATS: Final = (1, 2)
_LIMITS: Final = Limits(max_bytes=MAX_CONTRACT_BYTES)
_TEXTS: Final = ("task_id", "version", "title", "contract_markdown_path")
_LISTS: Final = ("success_criteria", "failure_modes")
_SCHEMAS: Final = ("input_schema", "output_schema")
_DICTS: Final = (
    "retry_policy",
    "fallback_policy",
    "capabilities",
    "execution_policy",
    "inference_policy",
    "rag_policy",
    "prompt_cache_policy",
)
_MUTABLE: Final = frozenset({*_LISTS, *_SCHEMAS, *_DICTS, "verification_policy", "extensions"})


class ContractSpec(Struct, frozen=True, dict=True):
    """
    What a task takes, gives, and must be verified by.

    Values are copied on the way in and on the way out, so nobody changes a contract.

    Args:
        task_id: Name of the task.
        version: Version of the contract.
        title: What it is about, for people.
        input_schema: JSON Schema of the input; ``{}`` claims nothing.
        output_schema: JSON Schema of the output.
        success_criteria: Kept, not judged.
        failure_modes: Kept, not judged.
        verification_policy: Which verifiers run; see ``verify_task_result``.
        retry_policy: Kept.
        fallback_policy: Kept.
        contract_markdown_path: Where the prose is, relative.
        capabilities: Of format 2; kept, without effect, like the four after it.
        execution_policy: Kept.
        inference_policy: Kept.
        rag_policy: Kept.
        prompt_cache_policy: Kept.
        extensions: What no format knows, by its key.
        synthesized: Made from prose alone, so it claims nothing.

    Raises:
        ContractFormatError: A field is not what it must be, or a schema cannot be used.
    """

    task_id: str
    version: str = "v1"
    title: str = ""
    input_schema: dict[str, Any] | bool = {}
    output_schema: dict[str, Any] | bool = {}
    success_criteria: list[str] = []
    failure_modes: list[str] = []
    verification_policy: dict[str, Any] = {}
    retry_policy: dict[str, Any] = {}
    fallback_policy: dict[str, Any] = {}
    contract_markdown_path: str = ""
    capabilities: dict[str, Any] = {}
    execution_policy: dict[str, Any] = {}
    inference_policy: dict[str, Any] = {}
    rag_policy: dict[str, Any] = {}
    prompt_cache_policy: dict[str, Any] = {}
    extensions: dict[str, Any] = {}
    synthesized: bool = False

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            force_setattr(self, name, _own(name, Struct.__getattribute__(self, name)))
        for name in self.extensions:
            if name in _KEYS:
                raise ContractFormatError(
                    f"{name} is a field, not an extension", field="extensions"
                )
        for name in _SCHEMAS:
            task_schema(Struct.__getattribute__(self, name), field=name)

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return copy.deepcopy(value) if name in _MUTABLE else value

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """
        The contract in the object of a ``contract.json``.

        Raises:
            ContractFormatError: It is none; says which field, and what was expected.
        """
        if not isinstance(document, dict):
            raise ContractFormatError(f"expected an object, got {_kind(document)}")
        written = document.get("contract_spec_format", 1)
        if type(written) is not int or written not in FORMATS:
            raise ContractFormatError(
                f"expected 1 or 2, got {shown(repr(written))}", field="contract_spec_format"
            )
        known = {name: value for name, value in document.items() if name in cls.__struct_fields__}
        if "extensions" in known:
            raise ContractFormatError("is not written, unknown keys are", field="extensions")
        rest = {name: value for name, value in document.items() if name not in _KEYS}
        named = {"task_id": "", "version": "v1"} | known
        return cls(**named, extensions=rest)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """
        The contract in a file, read as strict JSON.

        Raises:
            ContractFormatError: The file is no such contract; names the file.
            DocumentError: There is no such file, or it cannot be opened.
        """
        name = os.fspath(path)
        return cls.from_bytes(read_bytes(name, max_bytes=MAX_CONTRACT_BYTES), source=name)

    @classmethod
    def from_bytes(cls, data: bytes, *, source: str) -> Self:
        """
        The contract in the bytes of a file.

        Raises:
            ContractFormatError: They are no such contract; names the file.
        """
        try:
            document: Any = parse_document(data, source, limits=_LIMITS, format="json").value
        except DocumentError as exc:
            raise ContractFormatError(str(exc)) from exc
        try:
            return cls.from_dict(document)
        except ContractFormatError as exc:
            place = shown(source)
            raise ContractFormatError(exc.message, field=exc.field, source=place) from exc

    def to_dict(self) -> dict[str, JSON]:
        """The object of its ``contract.json``, in format 2."""
        found: dict[str, Any] = {"contract_spec_format": 2}
        for name in self.__struct_fields__:
            if name not in {"extensions", "synthesized"}:
                found[name] = getattr(self, name)
        if self.synthesized:
            found["synthesized"] = True
        return found | self.extensions

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know about the contract itself."""
        return tuple(self._warnings())

    def schema(self, name: str) -> TaskSchema:
        """One of its two schemas, compiled."""
        return task_schema(Struct.__getattribute__(self, name), field=name)

    def _warnings(self) -> Iterator[str]:
        yield from (f"unknown field {shown(name)} has no effect" for name in self.extensions)
        policy = Struct.__getattribute__(self, "verification_policy")
        for name in policy if isinstance(policy, dict) else ():
            if name not in _POLICY_KEYS:
                yield f"unknown field verification_policy.{shown(name)} has no effect"
        problem = chosen(policy).problem
        if problem:
            yield f"{problem}; the default verifiers run"


_POLICY_KEYS: Final = frozenset({"level", "verifier_ids"})
_KEYS: Final = frozenset({"contract_spec_format", *ContractSpec.__struct_fields__} - {"extensions"})


def _own(name: str, value: Any) -> Any:
    """A copy of a field's value, seen to be of its type and JSON."""
    if name == "verification_policy":
        value = _policy(value)
    expected = _expected(name, value)
    if expected:
        raise ContractFormatError(f"expected {expected}, got {_kind(value)}", field=name)
    try:
        return plain_json(value)
    except NotJSON as exc:
        raise ContractFormatError(f"expected JSON: {shown(str(exc))}", field=name) from exc


def _policy(value: Any) -> Any:
    """The policy with a tuple of ids as a list; None, which is no policy, as an empty one."""
    if isinstance(value, dict) and isinstance(value.get("verifier_ids"), tuple):
        return value | {"verifier_ids": list(value["verifier_ids"])}
    return {} if value is None else value


def _expected(name: str, value: Any) -> str:
    """What the field must be, where the value is something else; else ``""``."""
    if name == "verification_policy":
        return ""  # whatever it is, it means the default pair at worst, with a warning
    if name in _TEXTS:
        return "" if isinstance(value, str) else "a string"
    if name in _LISTS:
        fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return "" if fits else "an array of strings"
    if name in _SCHEMAS:
        return "" if isinstance(value, dict | bool) else "a JSON Schema, an object or boolean"
    if name == "synthesized":
        return "" if isinstance(value, bool) else "a boolean"
    return "" if isinstance(value, dict) else "an object"


def _kind(value: Any) -> str:
    try:
        return json_type(value)
    except TypeError:
        return type(value).__name__
