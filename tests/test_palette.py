"""Few colours stand for many pixels, always the same ones."""

from __future__ import annotations

import random
import time

import pytest

from signoff.color import RGB
from signoff.palette import Planes, Swatch, median_cut


def planes(*colors: RGB) -> Planes:
    red, green, blue = (bytes(channel) for channel in zip(*colors, strict=True))
    return red, green, blue


def greys(*values: int) -> Planes:
    return planes(*((value, value, value) for value in values))


def found(pixels: Planes, most: int) -> list[tuple[RGB, int]]:
    return [(swatch.color, swatch.pixels) for swatch in median_cut(pixels, most)]


def test_no_more_colours_than_the_palette_are_kept_as_they_are() -> None:
    red, blue = (200, 30, 40), (20, 40, 200)

    assert [(red, 3), (blue, 2)] == found(planes(red, blue, red, blue, red), 2)


def test_one_colour_stays_one_however_large_the_palette() -> None:
    assert [((1, 2, 3), 5)] == found(planes(*[(1, 2, 3)] * 5), 64)


def test_largest_share_comes_first_and_ties_by_lowest_value() -> None:
    pixels = planes((9, 0, 0), (0, 9, 0), (0, 0, 9), (5, 5, 5), (5, 5, 5))

    assert [(5, 5, 5), (0, 0, 9), (0, 9, 0), (9, 0, 0)] == [c for c, _ in found(pixels, 4)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0, 10, 20, 30), [5, 25]),
        ((0, 1, 1, 1), [1, 0]),
        ((0, 0, 0, 1), [0, 1]),
        ((0, 1, 9), [5, 0]),
        ((3, 200, 201), [201, 3]),
    ],
)
def test_cut_falls_where_halves_are_most_equal(
    values: tuple[int, ...], expected: list[int]
) -> None:
    assert expected == [color[0] for color, _ in found(greys(*values), 2)]


def test_mean_is_rounded_halves_up() -> None:
    assert [Swatch(color=(3, 3, 3), pixels=2)] == [*median_cut(greys(2, 3), 1)]
    assert [Swatch(color=(2, 2, 2), pixels=3)] == [*median_cut(greys(2, 2, 3), 1)]


@pytest.mark.parametrize("channel", range(3))
def test_longest_channel_is_cut(channel: int) -> None:
    def color(*values: int) -> RGB:
        values = values[-channel:] + values[:-channel]
        return values[0], values[1], values[2]

    pixels = planes(color(0, 0, 90), color(0, 90, 0), color(100, 0, 0), color(100, 90, 90))

    assert {color(0, 45, 45), color(100, 45, 45)} == {found_ for found_, _ in found(pixels, 2)}


def test_red_is_cut_before_green_and_green_before_blue_where_they_are_as_long() -> None:
    cube = [(r, g, b) for r in (0, 9) for g in (0, 9) for b in (0, 9)]

    assert [(0, 5, 5), (9, 5, 5)] == [color for color, _ in found(planes(*cube), 2)]
    assert [(0, 0, 5), (0, 9, 5), (9, 5, 5)] == sorted(c for c, _ in found(planes(*cube), 3))


def test_box_of_most_pixels_is_cut_first() -> None:
    pixels = greys(*[0] * 2, 100, *[200] * 3, 201, 202)

    # The upper box has five of eight pixels, though the lower one is longer.
    assert [33, 200, 202] == [color[0] for color, _ in found(pixels, 3)]


def test_box_of_one_colour_is_never_cut() -> None:
    assert [(0, 900), (1, 1), (2, 1), (3, 1)] == [
        (color[0], n) for color, n in found(greys(*[0] * 900, 1, 2, 3), 4)
    ]


def test_most_pixels_of_most_colours_take_a_second_at_most() -> None:
    noise = random.Random(5)
    pixels = (noise.randbytes(2**18), noise.randbytes(2**18), noise.randbytes(2**18))
    begin = time.process_time()
    swatches = median_cut(pixels, 8)

    # A third of that on the machine this was written on; the bound is for slow ones.
    assert 1.5 > time.process_time() - begin
    assert (8, 2**18) == (len(swatches), sum(swatch.pixels for swatch in swatches))
