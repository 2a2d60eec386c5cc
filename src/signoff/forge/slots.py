"""
Slots: each listed verifier as one criterion of the core engine.

What a verifier raises goes on to the engine, which catches it; here it is only noted.
Foreign verifiers get copies of input, output and context, and it is seen whether they
changed them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import CoroutineType, MappingProxyType, TracebackType
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from signoff.canonical import canonical_bytes
from signoff.dialects.forge import (
    FailureClass,
    VerificationResult,
    VerificationStatus,
    to_finding,
)
from signoff.dialects.forge.jsonform import jsonable
from signoff.dialects.forge.translation import RESERVED
from signoff.forge.contract_schema import ContractSchemaVerifier
from signoff.forge.contract_spec import ContractSpec
from signoff.forge.json_object import JsonObjectVerifier
from signoff.forge.pytest_verifier import PytestVerifier
from signoff.forge.registry import Entry
from signoff.forge.schema_rules import NotJSON, plain_json
from signoff.jsonvalue import JSON, shown
from signoff.model import Finding, Subject, failed
from signoff.registry import Check, Registry, Verifier
from signoff.status import Cause

__all__ = ["Noted", "Task", "core_registry", "refusing"]

_OWN: Final = (JsonObjectVerifier, ContractSchemaVerifier, PytestVerifier)
_MAX_DEPTH: Final = 128


class Task(Struct, frozen=True, kw_only=True):
    """
    What is verified.

    Args:
        spec: The contract.
        input_obj: The input, any object.
        output_obj: The output; None for none.
        context: What the caller adds.
    """

    spec: ContractSpec
    input_obj: Any
    output_obj: Any
    context: Mapping[str, Any]

    def subject(self) -> Subject:
        """The subject for verifiers of the core; what is no JSON is not recorded."""
        output = UNSET if self.output_obj is None else _json_or_unset(self.output_obj)
        given = _json_or_unset(self.input_obj)
        return Subject(output=output, input=None if isinstance(given, UnsetType) else given)


class Noted:
    """What went through a slot on its way to the engine."""

    def __init__(self) -> None:
        self.raised = ""
        self.interrupt: KeyboardInterrupt | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None
    ) -> None:
        if kind is not None:
            self.raised = shown(type.__dict__["__name__"].__get__(kind), 100)
        if isinstance(exc, KeyboardInterrupt):
            self.interrupt = exc


def core_registry(
    entries: Mapping[str, Entry], ids: Sequence[str], task: Task, noted: Mapping[str, Noted]
) -> Registry:
    """
    The verifiers of some slots as verifiers of the core; an id without an entry has none.

    Args:
        entries: What is registered, by id.
        ids: The listed ids.
        task: What they look at.
        noted: Where each criterion notes what goes through it.
    """
    return Registry(
        _as_core(id_, entries[id_], task, noted) for id_ in dict.fromkeys(ids) if id_ in entries
    )


def refusing(id_: str, result: VerificationResult) -> Verifier:
    """A verifier of the core that always says the same."""
    finding = to_finding(result)
    return Verifier(
        id=id_, factory=lambda _: lambda _: finding, description="", own=True, free_params=True
    )


def _as_core(id_: str, entry: Entry, task: Task, noted: Mapping[str, Noted]) -> Verifier:
    verifier = entry.verifier
    own = verifier.own if isinstance(verifier, Verifier) else True

    def factory(*, criterion: str) -> Check:
        if isinstance(verifier, Verifier):
            check = verifier.bind(entry.params, entry.powers, criterion=criterion)
            inner = _core_check(check, task, own=verifier.own)
        else:
            inner = _task_check(id_, verifier, task)

        def watched(subject: Subject) -> Finding:
            with noted[criterion]:
                return inner(subject)

        return watched

    return Verifier(id=id_, factory=factory, description="", own=own)


def _core_check(check: Check, task: Task, *, own: bool) -> Check:
    """The check of a verifier of the core, which judges JSON alone."""
    try:
        if task.output_obj is not None:
            plain_json(task.output_obj, max_depth=_MAX_DEPTH)
    except NotJSON as exc:
        refusal = failed(f"Output is not JSON: {exc}", cause=Cause.BAD_OUTPUT)
        return lambda _: refusal
    if own:
        return check

    def checked(subject: Subject) -> Finding:
        mine = replace(subject, output=copy.deepcopy(subject.output))
        before = _print(mine.output)
        finding = check(mine)
        if _print(mine.output) == before:
            return finding
        return to_finding(_subject_changed("it", "the output"))

    return checked


def _task_check(id_: str, verifier: Any, task: Task) -> Check:
    if type(verifier) in _OWN:
        context = {**task.context, "contract": task.spec}

        def own(_: Subject) -> Finding:
            return to_finding(verifier.verify(task.input_obj, task.output_obj, context=context))

        return own

    def foreign(_: Subject) -> Finding:
        given, made = _mine(task.input_obj), _mine(task.output_obj)
        before = _print(given), _print(made)
        context = MappingProxyType({**_context(task.context), "contract": task.spec})
        answer = verifier.verify(given, made, context=context)
        after = _print(given), _print(made)
        if after != before:
            names = ("the input", "the output")
            changed = [name for name, a, b in zip(names, before, after, strict=True) if a != b]
            return to_finding(_subject_changed(id_, " and ".join(changed)))
        return to_finding(_believed(id_, answer))

    return foreign


def _context(context: Mapping[str, Any]) -> dict[str, Any]:
    """The context with containers of its own; other objects are handed on as they are."""
    return {key: _mine(value) if _is_container(value) else value for key, value in context.items()}


def _believed(id_: str, answer: object) -> VerificationResult:
    """The result that a foreign verifier gave, seen to be one and without what it may not say."""
    if type(answer) is not VerificationResult:
        if isinstance(answer, CoroutineType):
            answer.close()  # or Python would complain that nobody waited for it
        kind = shown(type(answer).__name__, 100)
        text = f"{shown(id_)} returned {kind}, expected VerificationResult"
        return _failure(id_, FailureClass.BAD_RETURN, text, {"returned_type": kind})
    evidence = {name: value for name, value in answer.evidence.items() if name not in RESERVED}
    if answer.verifier_id != id_:
        evidence["reported_verifier_id"] = answer.verifier_id[:200]
    return VerificationResult(  # made anew, since what is frozen can be forced
        answer.status,
        id_,
        answer.summary,
        evidence,
        answer.errors,
        answer.warnings,
    )


def _subject_changed(id_: str, what: str) -> VerificationResult:
    text = f"{shown(id_)} changed {what}"
    return _failure(id_, FailureClass.SUBJECT_CHANGED, text, {})


def _failure(
    id_: str, failure: FailureClass, text: str, facts: dict[str, JSON]
) -> VerificationResult:
    evidence = {"failure_class": failure.value, **facts}
    return VerificationResult(VerificationStatus.FAIL, id_, text, evidence, (text,))


def _mine(value: Any) -> Any:
    """A copy of a value; what cannot be copied is handed on as it is."""
    with suppress(Exception):
        return copy.deepcopy(value)
    return value


def _print(value: object) -> bytes:
    """What tells a value from what it was before."""
    try:
        return canonical_bytes(value)  # type: ignore[arg-type]  # anything else raises
    except (TypeError, ValueError, RecursionError):
        return canonical_bytes([type(value).__name__, jsonable(value)])


def _is_container(value: object) -> bool:
    return isinstance(value, dict | list | tuple | set)


def _json_or_unset(value: object) -> Any:
    try:
        return plain_json(value, max_depth=_MAX_DEPTH)
    except (NotJSON, RecursionError):
        return UNSET
