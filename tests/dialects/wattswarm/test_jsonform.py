"""JSON as a kernel reads and writes it: the vectors, and what they cannot hold."""

from __future__ import annotations

import time

import pytest

from signoff.dialects.wattswarm.jsonform import (
    canonical,
    has_unsafe,
    is_safe,
    loads,
    loads_canonical,
    rounded,
)
from signoff.errors import JSONError
from signoff.jsonvalue import JSON
from tests.dialects.wattswarm.world import cases


@cases("canonical")
def test_a_text_has_its_canonical_bytes(case: dict[str, str]) -> None:
    """Acceptance row 1."""
    value, written = loads_canonical(case["json"].encode())
    assert written.decode() == case["canonical"]
    assert canonical(value) == written


@cases("not_json")
def test_a_text_that_is_no_json_is_refused(case: dict[str, str]) -> None:
    """Acceptance row 15."""
    data = case["text"].encode()
    with pytest.raises(JSONError):
        loads(data)
    with pytest.raises(JSONError):
        loads(b'{"a":[1,' + data + b"]}")


@pytest.mark.parametrize("data", [b"\xff", b'"\xc3"', b'{"\xed\xa0\x80":1}', b'"\xf5\x80\x80\x80"'])
def test_what_is_no_utf8_is_refused(data: bytes) -> None:
    """Acceptance row 15."""
    with pytest.raises(JSONError):
        loads(data)


@pytest.mark.parametrize("brackets", [b"[]", b"{}"])
def test_127_levels_are_read_and_128_are_not(brackets: bytes) -> None:
    """Acceptance row 15."""
    start, end = (b"[", b"]") if brackets == b"[]" else (b'{"a":', b"}")
    assert loads_canonical(start * 126 + brackets + end * 126)[1].count(start) == 127 - (
        brackets == b"{}"
    )
    with pytest.raises(JSONError, match="127 levels"):
        loads(start * 127 + brackets + end * 127)


@pytest.mark.parametrize("count", [100_000, 2_000_000])
@pytest.mark.parametrize("start", [b"[", b'{"a":', b"[" * 100 + b"{}" + b"]" * 100 + b"["])
def test_brackets_without_end_are_refused_soon(count: int, start: bytes) -> None:
    """Acceptance row 15."""
    text = start * (count // len(start))
    begin = time.process_time()
    with pytest.raises(JSONError):
        loads(text)
    assert time.process_time() - begin < 0.5


def test_many_brackets_side_by_side_are_no_depth() -> None:
    for text in (b"[" + b"[],{}," * 5_000 + b"1]", b'{"a":"' + b"[" * 9_000 + b'"}'):
        value, written = loads_canonical(text)
        assert written == text
        assert canonical(value) == text


def test_a_long_integer_is_the_nearest_double() -> None:
    assert loads(b"9" * 308) == 1e308
    with pytest.raises(JSONError, match="out of range"):
        loads(b"9" * 309)
    with pytest.raises(JSONError):
        loads(b"-" + b"9" * 5_000)


def test_integers_that_a_kernel_does_not_have_are_written_as_doubles() -> None:
    assert canonical([2**64, 2**64 - 1, -(2**63) - 1]) == (
        b"[1.8446744073709552e+19,18446744073709551615,-9.223372036854776e+18]"
    )
    with pytest.raises(ValueError, match="out of range"):
        canonical(10**400)


@pytest.mark.parametrize("value", [{1: 2}, object(), "\ud800"])
def test_what_is_no_json_has_no_canonical_bytes(value: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the text is the core's
        canonical(value)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    ("x", "safe"),
    [
        (0.0, True),
        (-0.0, True),
        (0.91, True),
        (1e-8, True),
        (9.9e-9, False),
        (999999999999999.0, True),
        (1e15, False),
        (123456789012345.0, True),
        (0.1234567890123456, False),
        (0.123456789012345, True),
        (0.1 + 0.2, False),
        (-1.5, True),
        (5e-324, False),
    ],
)
def test_a_double_of_15_digits_and_a_small_exponent_is_safe(x: float, safe: bool) -> None:
    assert is_safe(x) is safe
    assert has_unsafe({"a": [1, "x", None, x]}) is not safe


def test_rounding_leaves_all_but_doubles_alone() -> None:
    value: JSON = {"a": [0.1 + 0.2, 2**63, True, None, "0.30000000000000004"], "b": -0.0}
    assert canonical(rounded(value)) == (
        b'{"a":[0.3,9223372036854775808,true,null,"0.30000000000000004"],"b":-0.0}'
    )
    assert rounded(1.7976931348623157e308) == 1.7976931348623157e308
