"""The kinds of parameters: what annotations mean, and which are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from signoff.params import Count, kind_of


@pytest.mark.parametrize(
    ("hint", "says", "good", "bad"),
    [
        (bool, "boolean", [True, False], [1, 0, "true", None]),
        (int, "integer", [0, -3, 3.0], [True, 1.5, "1", None, float("inf")]),
        (float, "number", [0, 1.5], [True, "1", None, float("nan")]),
        (str, "string", ["", "a"], [1, None, "a" * 4_097]),
        (int | None, "integer", [1], [None]),
        (Count, "integer >= 0", [0, 2.0], [-1, True]),
        (Annotated[int, Meta(ge=1, le=3)], "integer, 1 to 3", [1, 3], [0, 4]),
        (Annotated[int, Meta(gt=0.5, lt=3)], "integer, 1 to 2", [1, 2], [0, 3]),
        (Annotated[float, Meta(ge=0.5)], "number >= 0.5", [0.5], [0.4]),
        (Annotated[str, Meta(min_length=1)], "non-empty string", ["a"], [""]),
        (Literal["a", "b", "c"], '"a", "b" or "c"', ["a"], ["d", None, 1]),
        (list[int], "array", [[], [1, 2.0]], [[1.5], "12", {}]),
        (dict[str, Any], "object", [{}], [[], None]),
        (Any, "JSON value", [None, 1, []], []),
    ],
)
def test_annotation_means_this(hint: Any, says: str, good: list[Any], bad: list[Any]) -> None:
    kind = kind_of(hint)

    assert says == kind.says
    for value in good:
        kind.read(value)
    for value in bad:
        with pytest.raises(ValueError):  # noqa: PT011  it says no more
            kind.read(value)


@pytest.mark.parametrize(
    "hint",
    [
        set,
        int | str,
        Annotated[float, Meta(gt=0)],
        Annotated[float, Meta(lt=0)],
        Annotated[int, Meta(multiple_of=2)],
        Annotated[str, Meta(pattern="a")],
        Annotated[list[int], Meta(min_length=1)],
    ],
    ids=str,
)
def test_annotation_that_would_be_ignored_in_part_is_refused(hint: Any) -> None:
    with pytest.raises(TypeError):
        kind_of(hint)
