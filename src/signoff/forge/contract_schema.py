"""``contract.schema``: input and output conform to the schemas of their contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from signoff.dialects.forge import FailureClass, VerificationResult, VerificationStatus
from signoff.dialects.forge.errors import ContractFormatError
from signoff.errors import SchemaNotJudged
from signoff.forge.contract_spec import ContractSpec
from signoff.forge.json_object import OUTPUT_NOT_CHECKED
from signoff.forge.schema_rules import NotJSON, TaskSchema, plain_json
from signoff.jsonvalue import shown
from signoff.schema_engine import schema_engines

__all__ = ["ContractSchemaVerifier", "validate_contract_input", "validate_contract_output"]

MAX_ERRORS: Final = 100


class Complaint(Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a value: its place, the keyword, and what must hold."""

    path: str
    keyword: str
    message: str

    def text(self, side: str) -> str:
        """The complaint in one line."""
        return f"{side}: {self.path or '/'}: {self.message}"


class Judged(Struct, frozen=True, kw_only=True):
    """
    What a schema says of a value.

    Args:
        complaints: In order; none when the value conforms.
        truncated: There are more.
        is_json: The value is JSON.
    """

    complaints: tuple[Complaint, ...] = ()
    truncated: bool = False
    is_json: bool = True


def validate_contract_input(spec: ContractSpec, obj: object) -> tuple[str, ...]:
    """
    What is wrong with an input, sorted, at most 100 errors; empty when it conforms.

    Raises:
        ContractFormatError: The contract's schema cannot be used.
        SchemaNotJudged: The schema engine came to no answer.
    """
    return _texts("input", _judge(_required(spec).schema("input_schema"), obj))


def validate_contract_output(spec: ContractSpec, obj: object) -> tuple[str, ...]:
    """
    What is wrong with an output, sorted, at most 100 errors; empty when it conforms.

    Raises:
        ContractFormatError: The contract's schema cannot be used.
        SchemaNotJudged: The schema engine came to no answer.
    """
    return _texts("output", _judge(_required(spec).schema("output_schema"), obj))


class ContractSchemaVerifier(Struct, frozen=True, kw_only=True):
    """
    Input and output conform to the schemas of the contract in ``context["contract"]``.

    The output is not checked when it is None.  Schemas that claim nothing are a warning.

    Args:
        verifier_id: The id in its results.
        strict: Keywords that no draft of JSON Schema has are a failure, not a warning.
    """

    verifier_id: str = "contract.schema"
    strict: bool = False

    def verify(
        self,
        input_obj: object,
        output_obj: object = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> VerificationResult:
        """Pass, warn, or fail with every error; never raises for data or for a contract."""
        contract = context.get("contract") if isinstance(context, Mapping) else None
        if not isinstance(contract, ContractSpec):
            return self._failed(
                FailureClass.CONTRACT_MISSING,
                f"context has no ContractSpec under contract, got {type(contract).__name__}",
            )
        try:
            return self._judged(contract, input_obj, output_obj)
        except ContractFormatError as exc:
            return self._failed(FailureClass.CONTRACT_INVALID, str(exc))
        except (SchemaNotJudged, ImportError) as exc:
            return self._failed(FailureClass.VERIFIER_ERROR, shown(str(exc)))

    def _judged(
        self, contract: ContractSpec, input_obj: object, output_obj: object
    ) -> VerificationResult:
        schemas = {side: contract.schema(f"{side}_schema") for side in ("input", "output")}
        checked = output_obj is not None
        given = _judge(schemas["input"], input_obj)
        room = MAX_ERRORS - len(given.complaints)
        made = _judge(schemas["output"], output_obj, limit=room) if checked else Judged()
        errors = (*_texts("input", given), *_texts("output", made))
        evidence: dict[str, Any] = {
            "input_errors": [_entry(one) for one in given.complaints],
            "output_errors": [_entry(one) for one in made.complaints],
            "output_checked": checked,
            "truncated": given.truncated or made.truncated,
            "schema_sha256": {side: schema.sha256 for side, schema in schemas.items()},
            "schema_engine": f"jsonschema-rs {schema_engines()['jsonschema-rs']}",
        }
        if errors or evidence["truncated"]:
            evidence["failure_class"] = _class_of(given, made).value
            return self._answer(VerificationStatus.FAIL, _summary(errors), evidence, errors)
        return self._held(contract, schemas, evidence, checked=checked)

    def _held(
        self,
        contract: ContractSpec,
        schemas: Mapping[str, TaskSchema],
        evidence: dict[str, Any],
        *,
        checked: bool,
    ) -> VerificationResult:
        """The answer where nothing is wrong with input and output."""
        odd = tuple(
            f"{side}_schema: {text}" for side, schema in schemas.items() for text in schema.warnings
        )
        if odd and self.strict:
            evidence["failure_class"] = FailureClass.CONTRACT_INVALID.value
            return self._answer(VerificationStatus.FAIL, "; ".join(odd), evidence, odd)
        empty = tuple(
            f"{side}_schema: accepts every value"
            for side, schema in schemas.items()
            if schema.accepts_everything
        )
        made_up = ("the contract was made from prose alone",) if contract.synthesized else ()
        doubts = odd + empty + made_up
        status = VerificationStatus.WARN if doubts else VerificationStatus.PASS
        what = "input and output conform" if checked else "input conforms"
        unchecked = () if checked else (OUTPUT_NOT_CHECKED,)
        summary = f"{what}, but {'; '.join(doubts)}" if doubts else what
        return self._answer(status, summary, evidence, warnings=doubts + unchecked)

    def _failed(self, failure: FailureClass, text: str) -> VerificationResult:
        evidence = {"failure_class": failure.value}
        return self._answer(VerificationStatus.FAIL, text, evidence, (text,))

    def _answer(
        self,
        status: VerificationStatus,
        summary: str,
        evidence: dict[str, Any],
        errors: tuple[str, ...] = (),
        warnings: tuple[str, ...] = (),
    ) -> VerificationResult:
        return VerificationResult(status, self.verifier_id, summary, evidence, errors, warnings)


def _required(spec: object) -> ContractSpec:
    if not isinstance(spec, ContractSpec):
        raise TypeError(f"spec must be ContractSpec, got {type(spec).__name__}")
    return spec


def _judge(schema: TaskSchema, value: object, *, limit: int = MAX_ERRORS) -> Judged:
    if schema.compiled is None:
        raise SchemaNotJudged("the schema engine is not installed (install jsonschema-rs)")
    try:
        plain = plain_json(value)
    except NotJSON as exc:
        found = Complaint(path=shown(exc.pointer), keyword="", message=exc.reason)
        return Judged(complaints=(found,)[:limit], truncated=limit == 0, is_json=False)
    told = schema.compiled.violations(plain, limit=max(limit, 1))
    complaints = tuple(
        Complaint(path=shown(one.pointer), keyword=one.keyword, message=one.message)
        for one in told.items[:limit]
    )
    return Judged(complaints=complaints, truncated=told.more != 0 or len(told.items) > limit)


def _texts(side: str, judged: Judged) -> tuple[str, ...]:
    return tuple(one.text(side) for one in judged.complaints)


def _entry(one: Complaint) -> dict[str, str]:
    return {"path": one.path, "keyword": one.keyword, "message": one.message}


def _class_of(given: Judged, made: Judged) -> FailureClass:
    """The class of what is wrong; the input's wins."""
    if given.complaints:
        return FailureClass.INPUT_INVALID if given.is_json else FailureClass.NOT_JSON
    return FailureClass.SCHEMA_INVALID if made.is_json else FailureClass.NOT_JSON


def _summary(errors: tuple[str, ...]) -> str:
    more = f"; and {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"{errors[0]}{more}"
