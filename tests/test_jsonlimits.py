"""Depth and digits, read off the bytes of a text."""

from __future__ import annotations

import pytest

from signoff.jsonlimits import Limits, deepest, depth_within, has_long_digits, long_integer


@pytest.mark.parametrize("field", [{"max_depth": 0}, {"max_depth": 129}, {"max_digits": 4001}])
def test_limits_out_of_bounds_are_refused(field: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be 1 to"):
        Limits(**field)  # type: ignore[arg-type]  # each value is an integer


@pytest.mark.parametrize("copies", [1, 5000])
@pytest.mark.parametrize(
    ("item", "depth"),
    [
        (b"1", 1),
        (b"[]", 2),
        (b'{"a":[{}]}', 4),
        (b'"[[["', 1),
        (b'["]",{"[":"{"}]', 3),
        (b'"\\"[["', 1),
        (b'["\\\\",[]]', 3),
    ],
)
def test_brackets_in_strings_are_not_depth(item: bytes, depth: int, copies: int) -> None:
    text = b"[%b]" % b",".join([item] * copies)

    assert depth == deepest(text)
    assert depth_within(text, depth)
    assert not depth_within(text, depth - 1)


def test_depth_of_what_is_never_closed_is_known() -> None:
    assert 200_000 == deepest(b"[" * 200_000)
    assert 3 == deepest(b'[[],{"a":["[[[[[[')


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (b"1234", 0),
        (b"[1,-1234]", 3),
        (b'{"a": 1234}', 6),
        (b'["1234",",1234",1234]', 16),
        (b'["\\",1234"]', None),
        (b'["\\\\",1234]', 6),
        (b"[123,1234.5,1234e1,1234E1,0.1234,1e-1234,-123]", None),
        (b"[1234.5,1234]", 8),
    ],
)
def test_first_long_integer_is_found(text: bytes, offset: int | None) -> None:
    assert offset == long_integer(text, 3)
    assert has_long_digits(text, 3)
