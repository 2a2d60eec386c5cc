"""Slots: context, digests, interrupts, and what a verifier may not claim."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from signoff.forge import (
    ContractSpec,
    VerificationResult,
    VerificationStatus,
    VerifierRegistry,
    verify_task_result,
)
from tests.forge.world import Does, Thing

PASS = VerificationStatus.PASS


class Custom:
    """A verifier made of a function."""

    verifier_id = "custom"

    def __init__(self, does: Any) -> None:
        self.verify = does


def registered(*does: Any) -> tuple[ContractSpec, VerifierRegistry]:
    registry = VerifierRegistry()
    ids = []
    for number, one in enumerate(does):
        ids.append(f"v{number}")
        registry.register(ids[-1], Custom(one) if callable(one) else one)
    return ContractSpec("t", verification_policy={"verifier_ids": ids}), registry


def only(does: Any, given: Any = None, made: Any = None, **options: Any) -> VerificationResult:
    spec, registry = registered(does)
    (found,) = verify_task_result(spec, given, made, registry=registry, **options)
    return found


def test_row_31_a_failing_slot_does_not_stop_the_others() -> None:
    spec, registry = registered(Does("raises"), Does("fails"), Does("passes"))
    found = verify_task_result(spec, {}, {}, registry=registry)

    assert ["fail", "fail", "pass"] == [one.status.value for one in found]


def test_row_31_fail_fast_skips_the_rest() -> None:
    last = Does("passes")
    spec, registry = registered(Does("warns"), Does("fails"), last)
    found = verify_task_result(spec, {}, {}, registry=registry, fail_fast=True)

    assert ["warn", "fail", "skipped"] == [one.status.value for one in found]
    assert [] == last.saw
    assert all("policy_source" in one.evidence and "checked" in one.evidence for one in found)


def test_row_31_tuples_of_ids_are_lists_too() -> None:
    spec = ContractSpec("t", verification_policy={"verifier_ids": ("json.object",)})
    (found,) = verify_task_result(spec, {}, {})

    assert "contract" == found.evidence["policy_source"]


def test_row_32_strict_policy_puts_a_failure_in_front() -> None:
    spec = ContractSpec("t", verification_policy={"verifier_ids": "pytest.subprocess"})
    loose = verify_task_result(spec, {}, {})
    strict = verify_task_result(spec, {}, {}, strict_policy=True)

    assert ["json.object", "contract.schema"] == [one.verifier_id for one in loose]
    assert any("default verifiers run" in text for text in loose[0].warnings)
    assert ["policy.verifier_ids", "json.object", "contract.schema"] == [
        one.verifier_id for one in strict
    ]
    assert ("fail", "policy_invalid") == (strict[0].status, strict[0].evidence["failure_class"])


def test_row_33_an_unknown_id_fails_alone_and_names_the_nearest() -> None:
    ids = ["json.object", "json.objct", "json.object"]
    spec = ContractSpec("t", verification_policy={"verifier_ids": ids})
    found = verify_task_result(spec, {}, {})

    assert ["pass", "fail", "pass"] == [one.status.value for one in found]
    assert ids == [one.verifier_id for one in found]
    assert ("unknown_verifier", "json.object", ["contract.schema", "json.object"]) == tuple(
        found[1].evidence[name] for name in ("failure_class", "nearest", "known_ids")
    )


@pytest.mark.parametrize("id_", ["x" * 5_000, "a\nb", "\x1b[31m", "../x", "\u202e", "a b"])
def test_row_33_an_id_that_can_be_none_fails_alone(id_: str) -> None:
    spec = ContractSpec("t", verification_policy={"verifier_ids": [id_, "json.object"]})
    first, second = verify_task_result(spec, {}, {})

    assert (id_, "unknown_verifier") == (first.verifier_id, first.evidence["failure_class"])
    assert "pass" == second.status


def test_row_34_an_exception_is_named_without_a_traceback() -> None:
    found = only(Does("raises"))

    assert "LookupError" == found.evidence["exception_type"]
    assert "nothing there" in found.summary
    assert "Traceback" not in str(found)
    assert __file__ not in str(found)


def test_row_34_an_interrupt_passes_on() -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    spec, registry = registered(interrupted, Does("passes"))
    with pytest.raises(KeyboardInterrupt):
        verify_task_result(spec, {}, {}, registry=registry)


def test_row_34_the_user_s_own_interrupt_passes_on() -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        signal.raise_signal(signal.SIGINT)

    spec, registry = registered(interrupted)
    with pytest.raises(KeyboardInterrupt):
        verify_task_result(spec, {}, {}, registry=registry)


def test_row_34_what_only_we_say_cannot_be_claimed() -> None:
    claims = {
        "checked": "everything",
        "policy_source": "heaven",
        "core_status": "pass",
        "core_cause": "none",
        "reported_verifier_id": "me",
        "failure_class": "timeout",
        "mine": (1, 2),
    }
    found = only(lambda *_, **__: VerificationResult(PASS, "v0", "ok", claims))

    assert {"mine": [1, 2]} == {
        name: value
        for name, value in found.evidence.items()
        if name not in {"checked", "policy_source"}
    }
    assert ("contract", {"contract_sha256", "input_sha256", "output_sha256"}) == (
        found.evidence["policy_source"],
        found.evidence["checked"].keys(),
    )


def test_row_34_a_class_of_its_own_is_kept_if_it_is_in_the_list() -> None:
    def says(word: Any) -> Any:
        evidence = {"failure_class": word}
        return lambda *_, **__: VerificationResult("fail", "v0", "no", evidence)  # type: ignore[arg-type]  # the word will do

    assert "tests_failed" == only(says("tests_failed")).evidence["failure_class"]
    assert "unspecified" == only(says("bad luck")).evidence["failure_class"]
    assert "unspecified" == only(says(["x"])).evidence["failure_class"]


def test_row_34_a_subclass_of_the_result_is_no_result() -> None:
    class Lying(VerificationResult, frozen=True):
        pass

    found = only(lambda *_, **__: Lying(PASS, "v0", "ok"))

    assert "bad_return" == found.evidence["failure_class"]


def test_row_34_what_cannot_be_copied_is_handed_on() -> None:
    with Path(__file__).open() as file:
        found = only(Does("passes"), {"file": file}, {"thing": Thing()})

    assert "pass" == found.status


def test_row_34_a_change_of_what_is_no_json_is_seen_too() -> None:
    def changing(given: Any, *_: Any, **__: Any) -> VerificationResult:
        given["set"].add(2)
        return VerificationResult(PASS, "v0", "ok")

    given = {"set": {1}}

    assert "subject_changed" == only(changing, given).evidence["failure_class"]
    assert {"set": {1}} == given


def test_row_35_the_context_is_a_copy_with_the_contract() -> None:
    seen = []

    def looks(*_: Any, context: Any) -> VerificationResult:
        seen.append(context)
        context["list"].append(2)
        with pytest.raises(TypeError):
            context["more"] = 1
        return VerificationResult(PASS, "v0", "ok")

    spec, registry = registered(looks, looks)
    context = {"list": [1], "thing": (thing := Thing())}
    verify_task_result(spec, {}, {}, registry=registry, context=context)

    assert {"list": [1], "thing": thing} == context
    assert [[1, 2], [1, 2]] == [one["list"] for one in seen]
    assert all(one["contract"] is spec and one["thing"] is thing for one in seen)


@pytest.mark.parametrize("other", [None, {}, ContractSpec("u")])
def test_row_35_another_contract_in_the_context_is_refused(other: Any) -> None:
    with pytest.raises(ValueError, match="another contract"):
        verify_task_result(ContractSpec("t"), {}, {}, context={"contract": other})


def test_row_35_the_same_contract_in_the_context_is_fine() -> None:
    found = verify_task_result(ContractSpec("t"), {}, {}, context={"contract": ContractSpec("t")})

    assert 2 == len(found)


def test_row_35_things_of_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="ContractSpec"):
        verify_task_result({}, {}, {})  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(TypeError, match="mapping"):
        verify_task_result(ContractSpec("t"), {}, {}, context=[])  # type: ignore[arg-type]  # as above


def digests(spec: ContractSpec, given: Any, made: Any) -> dict[str, str | None]:
    first, second = verify_task_result(spec, given, made)

    assert first.evidence["checked"] == second.evidence["checked"]
    found: dict[str, str | None] = first.evidence["checked"]
    return found


def test_row_36_one_changed_byte_changes_exactly_its_digest() -> None:
    before = digests(ContractSpec("t"), {"a": "x"}, {"b": "x"})
    changes = {
        "contract_sha256": digests(ContractSpec("t", title="y"), {"a": "x"}, {"b": "x"}),
        "input_sha256": digests(ContractSpec("t"), {"a": "y"}, {"b": "x"}),
        "output_sha256": digests(ContractSpec("t"), {"a": "x"}, {"b": "y"}),
    }

    assert all(value and len(value) == 64 for value in before.values())
    for changed, after in changes.items():
        assert {changed} == {name for name in before if before[name] != after[name]}


def test_row_36_what_has_no_canonical_form_has_no_digest() -> None:
    found = digests(ContractSpec("t"), {"a": float("nan")}, None)

    assert (None, None) == (found["input_sha256"], found["output_sha256"])
    assert found["contract_sha256"]
