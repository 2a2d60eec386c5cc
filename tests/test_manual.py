"""What is told about verifiers is whole and true."""

from __future__ import annotations

import json

import pytest

from signoff.manual import manual, tried
from signoff.probes import PROBES
from signoff.registry import Check, verifier
from signoff.status import Status
from signoff.verifiers import STDLIB

# How a probe shows parameters that cannot be tried without means.
PARAMS = "In a contract, params are such as "
EACH = pytest.mark.parametrize("id_", STDLIB.ids())


@EACH
def test_every_example_is_true(id_: str) -> None:
    found = STDLIB.get(id_)
    assert found is not None
    examples = manual(found).examples

    assert examples, f"{id_} has no example in examples.json"
    for example in examples:
        meets, misses = tried(found, example)
        assert Status.PASS is meets.status, meets.detail
        assert misses is not None
        assert Status.FAIL is misses.status, misses.detail


@pytest.mark.parametrize("id_", PROBES.ids())
def test_probe_shows_parameters_in_an_example_or_in_its_notes(id_: str) -> None:
    found = PROBES.get(id_)
    assert found is not None
    page = manual(found)
    noted = [note.removeprefix(PARAMS) for note in page.notes if note.startswith(PARAMS)]
    shown = [example.params for example in page.examples] + [*map(json.loads, noted)]

    assert shown, f"{id_} shows no parameters"
    for params in shown:
        assert {*params} <= {param.name for param in page.params}
    assert [] == [param.name for param in page.params if not param.meaning]


@EACH
def test_every_parameter_has_a_meaning(id_: str) -> None:
    found = STDLIB.get(id_)
    assert found is not None

    assert [] == [param.name for param in manual(found).params if not param.meaning]


def test_docstring_is_read_by_its_sections() -> None:
    @verifier
    def odd(*, least: int = 1, wide: str) -> Check:
        """
        The value is ``odd``.

        And here is
        more of it.

        Args:
            least: Smallest one;
                over two lines.
            wide: Anything.

        Source: A book,
            page two.
        """
        raise NotImplementedError(least, wide)

    page = manual(odd)

    assert ("The value is odd.", ("And here is more of it.",)) == (page.description, page.notes)
    assert ["Smallest one; over two lines.", "Anything."] == [one.meaning for one in page.params]
    assert [(False, 1), (True, None)] == [(one.required, one.default) for one in page.params]
    assert "A book, page two." == page.source


def test_verifier_of_somebody_else_borrows_no_examples() -> None:
    @verifier
    def equals() -> Check:
        """Something else."""
        raise NotImplementedError

    assert () == manual(equals).examples
