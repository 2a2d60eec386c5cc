"""The laws of median cut."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from signoff.color import RGB
from signoff.palette import Planes, median_cut

COLORS = st.tuples(*[st.sampled_from([0, 1, 2, 3, 100, 127, 128, 254, 255])] * 3)
PIXELS = st.lists(COLORS, min_size=1, max_size=60)


def planes(colors: list[RGB]) -> Planes:
    red, green, blue = (bytes(channel) for channel in zip(*colors, strict=True))
    return red, green, blue


class TestPalette:
    """A palette is no larger than asked, has no colour twice, and stands for every pixel."""

    @given(PIXELS, st.integers(1, 64))
    def test_holds(self, colors: list[RGB], most: int) -> None:
        swatches = median_cut(planes(colors), most)

        assert len(swatches) <= most
        assert len(swatches) == len({swatch.color for swatch in swatches})
        assert len(colors) == sum(swatch.pixels for swatch in swatches)
        assert all(swatch.pixels > 0 for swatch in swatches)


class TestOrder:
    """The order of the pixels decides nothing."""

    @given(PIXELS, st.integers(1, 64), st.randoms(use_true_random=False))
    def test_holds(self, colors: list[RGB], most: int, random: object) -> None:
        shuffled = sorted(colors, key=lambda _: random.random())  # type: ignore[attr-defined]  # a Random

        assert median_cut(planes(colors), most) == median_cut(planes(shuffled), most)


class TestFewColours:
    """Colours that fit into the palette come out as they are, with their exact counts."""

    @given(PIXELS)
    def test_holds(self, colors: list[RGB]) -> None:
        counts = Counter(colors)
        swatches = median_cut(planes(colors), len(counts))

        assert counts == {swatch.color: swatch.pixels for swatch in swatches}
