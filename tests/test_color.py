"""Colours are as far apart as those who published the formula say."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from signoff.color import RGB, Lab, ciede2000, lab
from signoff.strictjson import loads

PUBLISHED: Any = loads(
    (Path(__file__).parent.parent / "conformance" / "color" / "ciede2000.json").read_bytes()
)
PAIRS = [(tuple(p["one"]), tuple(p["other"]), p["difference"]) for p in PUBLISHED["pairs"]]


def test_all_published_pairs_are_there() -> None:
    assert 34 == len(PAIRS)


@pytest.mark.parametrize(("one", "other", "difference"), PAIRS)
def test_published_pair_agrees_both_ways(one: Lab, other: Lab, difference: float) -> None:
    assert difference == pytest.approx(ciede2000(one, other), abs=PUBLISHED["tolerance"])
    assert difference == pytest.approx(ciede2000(other, one), abs=PUBLISHED["tolerance"])


@pytest.mark.parametrize(
    ("rgb", "expected"),
    [
        ((0, 0, 0), (0, 0, 0)),
        ((255, 255, 255), (100, 0, 0)),
        ((119, 119, 119), (50.0344, 0, 0)),
        ((255, 0, 0), (53.2408, 80.0925, 67.2032)),
        ((0, 255, 0), (87.7347, -86.1827, 83.1793)),
        ((0, 0, 255), (32.2970, 79.1875, -107.8602)),
    ],
)
def test_corners_of_srgb_have_their_known_coordinates(rgb: RGB, expected: Lab) -> None:
    assert expected == pytest.approx(lab(rgb), abs=2e-4)


def test_dark_colours_take_the_straight_part_of_both_curves() -> None:
    lightness, _, _ = lab((10, 10, 10))

    assert 903.2963 * 10 / 255 / 12.92 == pytest.approx(lightness, abs=1e-4)


def test_greys_grow_lighter_without_a_leap() -> None:
    lightness = [lab((value, value, value))[0] for value in range(256)]

    assert all(0 < after - before < 0.6 for before, after in pairwise(lightness))


def test_white_and_black_are_a_hundred_apart() -> None:
    assert 100.0 == round(ciede2000(lab((255, 255, 255)), lab((0, 0, 0))), 4)


def test_colour_is_at_no_distance_from_itself() -> None:
    steps = range(0, 256, 51)

    assert {0.0} == {
        ciede2000(lab((r, g, b)), lab((r, g, b))) for r in steps for g in steps for b in steps
    }


def test_last_bit_of_an_opposite_hue_decides_nothing() -> None:
    # One way round the hues is 1 % longer than the other, though both are half of it.
    beyond = ciede2000((50, 2.49, -0.001), (50, -2.49, 0.001 + 1e-14))

    assert ciede2000((50, 2.49, -0.001), (50, -2.49, 0.001)) == pytest.approx(beyond, abs=1e-9)
