"""Laws of the WattSwarm dialect: canonical JSON, hashes, and what no request can do."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import (
    canonical,
    has_unsafe,
    is_safe,
    loads,
    loads_canonical,
    rounded,
)
from signoff.dialects.wattswarm.minimal import compile_minimal
from signoff.errors import JSONError
from tests.dialects.wattswarm.world import asked, codes, compact, question, verifying

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1e16, 1e15, 1e-5, 9.99e-6, 5e-324, 2.0**63]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(TEXTS, below, max_size=4)),
    max_leaves=12,
)


def written(value: Any) -> str:
    """The canonical text by the letter of the rules, number by number."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode())
        return "{" + ",".join(f"{written(key)}:{written(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, str):
        return '"' + "".join(map(letter, value)) + '"'
    return json.dumps(value)


def letter(char: str) -> str:
    named = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", '"': '"', "\\": "\\"}
    if char in named:
        return "\\" + named[char]
    return f"\\u{ord(char):04x}" if char < " " else char


def decimal(x: float) -> str:
    sign = "-" if json.dumps(x).startswith("-") else ""
    if x == 0:
        return f"{sign}0.0"
    mantissa, _, exponent = f"{abs(x)!r}e0".partition("e")
    digits, _, fraction = mantissa.partition(".")
    power = int(exponent.split("e")[0]) + len(digits) - 1
    all_digits = digits + fraction
    stripped = all_digits.lstrip("0")
    power -= len(all_digits) - len(stripped)
    stripped = stripped.rstrip("0")
    if -5 <= power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{stripped}"
    if 0 <= power < 16:
        whole = stripped[: power + 1].ljust(power + 1, "0")
        return f"{sign}{whole}.{stripped[power + 1 :] or '0'}"
    point = f".{stripped[1:]}" if stripped[1:] else ""
    return f"{sign}{stripped[0]}{point}e{power:+d}"


@given(VALUES)
def test_the_canonical_text_is_that_of_the_rules(value: Any) -> None:
    assert canonical(value).decode() == written(value)


@given(VALUES)
def test_reading_the_canonical_text_changes_nothing(value: Any) -> None:
    once = canonical(value)
    again, twice = loads_canonical(once)
    assert once == twice == canonical(again)
    assert repr(again) == repr(json.loads(once))


@given(VALUES, st.integers(0, 4), st.randoms(use_true_random=False))
def test_a_digest_does_not_depend_on_order_or_spaces(
    value: Any, indent: int, shuffle: random.Random
) -> None:
    def shuffled(item: Any) -> Any:
        if isinstance(item, dict):
            names = list(item)
            shuffle.shuffle(names)
            return {name: shuffled(item[name]) for name in names}
        return [shuffled(one) for one in item] if isinstance(item, list) else item

    text = json.dumps(shuffled(value), indent=indent or None, ensure_ascii=indent % 2 == 0)
    assert digest_of(loads_canonical(text.encode())[1]) == digest_of(canonical(value))


@given(st.binary(max_size=12))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = loads(data)
    except JSONError:
        return
    assert json.loads(data) == value


@given(st.text(alphabet='{}[]":,0123456789.eE-+ \\untrfalsd', max_size=16))
def test_any_text_is_read_as_the_standard_library_reads_it_or_refused(text: str) -> None:
    try:
        value, once = loads_canonical(text.encode())
    except JSONError:
        return
    assert json.loads(text) == value
    assert loads_canonical(once)[1] == once


@given(VALUES)
def test_what_was_rounded_is_safe_but_for_its_magnitude(value: Any) -> None:
    near = rounded(value)
    assert rounded(near) == near
    if not has_unsafe(value):
        assert canonical(near) == canonical(value)


@given(st.floats(1e-8, 1e15, exclude_max=True), st.sampled_from([1, -1]))
def test_a_rounded_double_is_safe(x: float, sign: int) -> None:
    near = rounded(sign * x)
    assert isinstance(near, float)
    assert is_safe(near) or abs(near) == 1e15
    assert abs(near - sign * x) <= abs(x) * 1e-14


SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.one_of(st.sampled_from(["object", "string", "any"]), SCALARS),
        "required": st.one_of(st.lists(st.one_of(TEXTS, SCALARS), max_size=3), SCALARS),
        "properties": st.one_of(
            st.dictionaries(TEXTS, st.fixed_dictionaries({"type": SCALARS}), max_size=3), SCALARS
        ),
    },
)


@given(SCHEMAS, VALUES)
def test_a_pass_is_never_laxer_than_the_kernels_own_reading(schema: Any, output: Any) -> None:
    reply = asked(verifying("off"), question(schema=schema, output=output))
    if compile_minimal(schema)(output) is not None:
        assert codes(reply) == [101]
    assert reply["passed"] is (codes(reply) == [100])
    assert (reply["verification_status"] == "passed") is reply["passed"]


@given(
    st.dictionaries(st.sampled_from(["min_a", "max_a", "max_len", "min_confidence", "z"]), SCALARS),
    st.dictionaries(st.sampled_from(["a", "confidence", "b"]), SCALARS),
    st.sampled_from(["kernel", "doc"]),
)
def test_a_verdict_agrees_with_itself(params: Any, output: Any, form: str) -> None:
    asking = question(
        policy="schema_thresholds", params=params, output=output, schema={}, form=form
    )
    reply = asked(verifying(), asking)
    found = codes(reply)
    assert found == sorted(set(found))
    assert (100 in found) is (form == "kernel")
    failing = [code for code in found if code != 100]
    assert reply["passed"] is not bool(failing)
    assert 0.0 <= reply["score"] <= 1.0
    assert asked(verifying(), json.dumps(asking, sort_keys=True).encode()) == reply
    assert len(compact(reply)) < 65_536
