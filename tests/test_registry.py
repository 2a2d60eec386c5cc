"""Registries: verifiers by id, some of them imported only when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import DuplicateVerifier, ParamsError
from signoff.model import Finding, Subject, passed
from signoff.params import MAX_PARAMS_BYTES, MAX_PARAMS_DEPTH
from signoff.probes import PROBES
from signoff.registry import (
    EACH,
    Check,
    Powers,
    Registry,
    Verifier,
    verifier,
)
from signoff.verifiers import STDLIB


def check(subject: Subject) -> Finding:
    return passed("It is there.")


@verifier
def here() -> Check:
    """It is there."""
    return check


def named(id_: str) -> Verifier:
    return Verifier(id=id_, factory=lambda: check, description="It is there.")


def never() -> Verifier:
    raise AssertionError("nobody asked for it")


def test_verifiers_are_found_by_id() -> None:
    registry = Registry([named("b"), named("a"), here])

    assert ("a", "b", "here") == registry.ids()
    assert ["a", "b", "here"] == [entry.id for entry in registry]
    assert registry.get("here") is here
    assert registry.get("c") is None


def test_loader_is_called_for_its_own_id_alone() -> None:
    registry = Registry({"here": lambda: here, "other": never})

    assert registry.get("here") is here
    assert ("here", "other") == registry.ids()
    with pytest.raises(AssertionError, match="nobody asked"):
        registry.get("other")


@pytest.mark.parametrize("more", [
    lambda: [named("c")],
    lambda: (entry for entry in [named("c")]),
    lambda: Registry([named("c")]),
    lambda: Registry({"c": lambda: named("c")}),
    lambda: Registry({"c": never}),
])  # fmt: skip
def test_joining_loads_nothing(more: Callable[[], Registry | Iterator[Verifier]]) -> None:
    base = Registry({"a": never, "b": never}, powers=Powers(max_image_bytes=5))
    joined = base | more()

    assert ("a", "b", "c") == joined.ids()
    assert ("a", "b") == base.ids()
    assert 5 == joined.powers.max_image_bytes


def test_other_powers_load_nothing_and_change_nothing() -> None:
    base = Registry({"a": never})
    powers = Powers(max_image_bytes=5)

    assert base.with_powers(powers).powers is powers
    assert base.with_powers(powers).ids() == ("a",)
    assert Powers() == base.powers


@pytest.mark.parametrize("more", [
    [named("a")], Registry([named("a")]), Registry({"a": never}), [named("b"), named("b")],
])  # fmt: skip
@pytest.mark.parametrize("base", [Registry([named("a")]), Registry({"a": never})])
def test_one_id_twice_is_refused(base: Registry, more: Registry | list[Verifier]) -> None:
    with pytest.raises(DuplicateVerifier, match="registered twice"):
        base | more


def test_one_verifier_twice_is_refused() -> None:
    with pytest.raises(DuplicateVerifier, match='verifier "here" is registered twice'):
        Registry([here, here])


def test_loader_of_another_verifier_is_refused() -> None:
    registry = Registry({"there": lambda: here})

    with pytest.raises(TypeError, match='verifier "here" is registered as "there"'):
        registry.get("there")
    with pytest.raises(TypeError, match='verifier "here" is registered as "there"'):
        next(iter(registry))


def test_registry_cannot_be_changed() -> None:
    source: dict[str, Callable[[], Verifier]] = {"a": never}
    registry = Registry(source)
    source["b"] = never

    assert ("a",) == registry.ids()
    with pytest.raises(TypeError, match="does not support item assignment"):
        registry.entries["b"] = never  # type: ignore[index]  # what must not work


@pytest.mark.parametrize("registry", [STDLIB, PROBES])
def test_every_module_holds_the_verifier_of_its_name(registry: Registry) -> None:
    assert registry.ids() == tuple(entry.id for entry in registry)
    assert all(entry.own for entry in registry)


def test_locking_and_preparing_ask_for_what_the_contract_names() -> None:
    registry = Registry({"here": lambda: here, "other": never})
    contract = {"id": "x", "criteria": [{"id": "a", "verifier": "here"}]}
    locked = lock(contract, registry)

    assert ["here"] == [*locked.verifiers]
    assert Engine(registry).verify(locked, Subject(output=1)).passed


def test_only_the_verifier_asked_for_is_imported() -> None:
    program = (
        "import sys; from signoff import STDLIB, PROBES; (STDLIB | PROBES).get('equals'); "
        "print(*(name for name in sys.modules"
        " if name.startswith(('signoff.verifiers.', 'signoff.probes.'))))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ["signoff.verifiers.equals"] == ran.stdout.split()


# -- what a verifier takes --


@verifier
def takes_anything(*, value: Any) -> Check:
    """Whatever is given."""
    return lambda subject: passed(str(value))


def free(seen: list[Any]) -> Verifier:
    def factory(params: dict[str, Any]) -> Check:
        seen.append(params)
        return lambda subject: passed("")

    return Verifier(id="free", factory=factory, description="", free_params=True)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("entry", [takes_anything, free([])], ids=["typed", "free"])
def test_params_have_a_largest_size_and_depth(entry: Verifier) -> None:
    room = MAX_PARAMS_BYTES - len('{"value":""}')

    entry.bind({"value": "x" * room}, Powers())
    with pytest.raises(ParamsError, match="params is larger than 262144 bytes"):
        entry.bind({"value": "x" * (room + 1)}, Powers())
    # the params themselves are one level
    entry.bind({"value": nested(MAX_PARAMS_DEPTH - 1)}, Powers())
    with pytest.raises(ParamsError, match="params is nested deeper than 64 levels"):
        entry.bind({"value": nested(MAX_PARAMS_DEPTH)}, Powers())


def test_free_params_are_handed_over_as_they_are() -> None:
    seen: list[Any] = []
    entry = free(seen)
    entry.bind({"a": 2**60, "powers": 1}, Powers(), criterion="it")

    assert [{"a": 2**60, "powers": 1}] == seen
    assert () == entry.params


@pytest.mark.parametrize("value", [2**53, -(2**53), 1e16, [2**53], {"a": [{"b": 2**53}]}], ids=repr)
def test_integer_that_other_languages_would_round_is_refused(value: Any) -> None:
    with pytest.raises(ParamsError, match=r"params\.value has an integer beyond 2\^53-1"):
        takes_anything.bind({"value": value}, Powers())


@pytest.mark.parametrize("value", [2**53 - 1, 1e21, 0.5, True, str(2**53), [{"a": 1}]], ids=repr)
def test_other_values_are_taken(value: Any) -> None:
    taken = takes_anything.bind({"value": value}, Powers())

    assert passed(str(value)) == taken(Subject())


def test_parameter_by_position_is_refused() -> None:
    def positional(value: int) -> Check:
        """Not as criteria give it."""
        return lambda subject: passed(str(value))

    with pytest.raises(TypeError, match="positional: parameter value must be keyword-only"):
        verifier(positional)


def test_place_that_stands_for_every_item_says_so() -> None:
    assert "EACH" == repr(EACH)


def test_check_may_be_made_of_others_of_the_registry() -> None:
    @verifier
    def twice(*, of: str, bind: Any) -> Check:
        """It holds, asked twice."""
        inner = bind(of, {})
        return lambda subject: inner(subject) and inner(subject)

    registry = Registry([twice, here])

    assert "It is there." == registry.bind("twice", {"of": "here"})(Subject()).detail
    assert ["of"] == [param.name for param in twice.params]
    with pytest.raises(ParamsError, match='No verifier registered for "nope"'):
        registry.bind("twice", {"of": "nope"})


def test_verifier_alone_knows_no_others() -> None:
    @verifier
    def twice(*, bind: Any) -> Check:
        """It holds, asked twice."""
        check: Check = bind("here", {})
        return check

    with pytest.raises(ParamsError, match='No verifier registered for "here"'):
        twice.bind({}, Powers())
