"""Units: the built-in list, and what a registry in Markdown registers."""

from __future__ import annotations

import pytest

from signoff.scc.unit import BUILTIN_UNITS, read_units


def test_the_built_in_units_are_those_of_the_original() -> None:
    assert 42 == len(BUILTIN_UNITS)
    assert {"X.DISPATCH", "V.TESTS", "A.FACTORY_MANAGER", "F.REINTAKE"} <= BUILTIN_UNITS


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("# Registered units\n- V.TESTS\n", {"V.TESTS"}),
        ("## 2. Registered units (v0.1.0)\n\n- V.TESTS\n-  `X.DISPATCH`  \n", {"V.TESTS", "X.DISPATCH"}),
        ("# Registered units\n- V.TESTS      -- the tests, see X.DISPATCH\n- V.GUARD --\n", {"V.TESTS", "V.GUARD"}),
        ("# Registered units\n- V.TESTS--no\n- V.GUARD - no\n- V.VERDICT see -- no\n", set()),
        ("- V.TESTS\n", set()),
        ("# Registered units\nV.TESTS\n* V.TESTS\n+ V.TESTS\n", set()),
        ("# Registered units\n- V.TESTS: the tests\n- v.tests\n- V.tests\n- VV.TESTS\n", set()),
        ("# Registered units\n    - V.TESTS\n", set()),
        ("# Registered units\n~~~\n- V.TESTS\n~~~\n- X.DISPATCH\n", {"X.DISPATCH"}),
        ("# Registered units\n````\n```\n- V.TESTS\n````\n- X.DISPATCH\n", {"X.DISPATCH"}),
        ("# Registered units\n## V\n- V.TESTS\n# Notes\n- X.DISPATCH\n", {"V.TESTS"}),
        ("## Registered units\n# Notes\n- X.DISPATCH\n", set()),
        ("", set()),
    ],
)  # fmt: skip
def test_only_plain_items_of_the_section_count(text: str, units: set[str]) -> None:
    assert units == read_units(text)
