"""The registry holds what it was given, and nothing by itself."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.errors import DuplicateVerifier, ParamsError
from signoff.forge import (
    ContractSpec,
    JsonObjectVerifier,
    VerifierRegistry,
    default_registry,
    verify_task_result,
)
from signoff.model import Finding, Subject, passed
from signoff.registry import Check, verifier
from signoff.verifiers.count_between import count_between
from signoff.verifiers.json_object import json_object
from tests.forge.world import Does


def test_row_30_the_default_registry_has_two_ids() -> None:
    assert ["contract.schema", "json.object"] == default_registry().list_ids()
    assert default_registry().get("pytest.subprocess") is None


def test_row_30_default_registries_are_independent() -> None:
    one, other = default_registry(), default_registry()
    one.register("mine", Does("passes"))

    assert "mine" in one
    assert "mine" not in other
    assert (3, 2) == (len(one), len(other))


def test_row_30_ids_are_sorted_in_a_list_of_ones_own() -> None:
    registry = VerifierRegistry()
    for id_ in ("b", "a.z", "a-1", "a_0"):
        registry.register(id_, Does("passes"))
    registry.list_ids().clear()

    assert ["a-1", "a.z", "a_0", "b"] == registry.list_ids()


def test_row_30_a_taken_id_is_refused_unless_replaced() -> None:
    registry = default_registry()
    mine = Does("passes")
    with pytest.raises(DuplicateVerifier, match=r"json\.object"):
        registry.register("json.object", mine)
    registry.register("json.object", mine, replace=True)

    assert mine is registry.get("json.object")


@pytest.mark.parametrize(
    "id_", ["", "A", "a b", ".a", "a.", "a..b", "a--b", "ä", "a\n", "x" * 101, "a/b"]
)
def test_row_30_a_text_that_can_be_no_id_is_refused(id_: str) -> None:
    with pytest.raises(ValueError, match="words of a-z"):
        VerifierRegistry().register(id_, Does("passes"))


@pytest.mark.parametrize("thing", [None, 1, "x", object(), JsonObjectVerifier, lambda: None])
def test_row_30_what_cannot_verify_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError):
        VerifierRegistry().register("a", thing)


def test_row_30_an_id_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="must be str"):
        VerifierRegistry().register(1, Does("passes"))  # type: ignore[arg-type]  # the point of the test


def test_row_30_a_copy_is_independent() -> None:
    registry = default_registry()
    other = registry.copy()
    other.register("mine", Does("passes"))

    assert 2 == len(registry)
    assert 3 == len(other)


def spec_of(*ids: str) -> ContractSpec:
    return ContractSpec("t", verification_policy={"verifier_ids": [*ids]})


def test_a_verifier_of_the_core_is_adapted() -> None:
    registry = VerifierRegistry()
    registry.register("is.object", json_object)
    registry.register("few", count_between, params={"max": 1, "path": "/items"})
    found = verify_task_result(
        spec_of("is.object", "few"), {}, {"items": [1, 2]}, registry=registry
    )

    assert ["pass", "fail"] == [one.status.value for one in found]
    assert "length=2, min=-Infinity, max=1" == found[1].summary
    assert ("unspecified", "fail", None, "/items") == tuple(
        found[1].evidence[name] for name in ("failure_class", "core_status", "core_cause", "at")
    )


@pytest.mark.parametrize(
    ("made", "failure", "status"),
    [
        (None, "unspecified", "inconclusive"),
        ((1,), "not_json", "fail"),
        (float("nan"), "not_json", "fail"),
    ],
)
def test_a_verifier_of_the_core_judges_json_alone(made: Any, failure: str, status: str) -> None:
    registry = VerifierRegistry()
    registry.register("is.object", json_object)
    (found,) = verify_task_result(spec_of("is.object"), {}, made, registry=registry)

    assert (failure, status) == (found.evidence["failure_class"], found.evidence["core_status"])


@verifier
def looks() -> Check:
    """It looks, and changes nothing."""
    return lambda subject: passed(f"{subject.output}")


def test_a_foreign_verifier_of_the_core_is_believed() -> None:
    registry = VerifierRegistry()
    registry.register("looks", looks)
    (found,) = verify_task_result(spec_of("looks"), {}, {"a": 1}, registry=registry)

    assert ("pass", "{'a': 1}") == (found.status, found.summary)


def test_params_that_a_verifier_of_the_core_refuses_are_refused() -> None:
    with pytest.raises(ParamsError):
        VerifierRegistry().register("few", count_between)


def test_params_are_for_verifiers_of_the_core() -> None:
    with pytest.raises(TypeError, match="params"):
        VerifierRegistry().register("a", Does("passes"), params={})


@verifier
def spoils() -> Check:
    """It changes what it looks at."""

    def check(subject: Subject) -> Finding:
        subject.output["more"] = 1
        return Finding(status="pass", detail="ok")  # type: ignore[arg-type]  # foreign code may do anything

    return check


def test_a_foreign_verifier_of_the_core_changes_nothing() -> None:
    registry = VerifierRegistry()
    registry.register("spoils", spoils)
    last = Does("passes")
    registry.register("last", last)
    made = {"a": 1}
    first, _ = verify_task_result(spec_of("spoils", "last"), {}, made, registry=registry)

    assert "subject_changed" == first.evidence["failure_class"]
    assert {"a": 1} == made == last.saw[0][1]
