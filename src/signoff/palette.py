"""
Median cut: the few colours that stand for many pixels.

Our own, in whole numbers, because what a library's quantizer gives differs between
its releases, and a verdict may not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate, compress
from typing import TypeAlias

from msgspec import Struct

from signoff.color import RGB

__all__ = ["Planes", "Swatch", "median_cut"]

Planes: TypeAlias = tuple[bytes, bytes, bytes]


class Swatch(Struct, frozen=True, kw_only=True):
    """
    A colour that stands for pixels.

    Args:
        color: The mean of the pixels, each channel rounded, halves up.
        pixels: How many there are.
    """

    color: RGB
    pixels: int


def median_cut(planes: Planes, most: int) -> tuple[Swatch, ...]:
    """
    At most ``most`` colours for the pixels, the largest first, ties by lowest RGB value.

    All pixels begin in one box.  While there are fewer boxes than ``most``, the box of
    the most pixels among those of several colours (ties: of the lowest mean) is cut
    across its longest channel (ties: red, then green), between two values, such that
    the pixels below are as near as can be to half (ties: the lower cut).

    Args:
        planes: The red, green and blue values of the pixels, at least one.
        most: Number of colours, at least 1.
    """
    boxes = [_Box(planes)]
    while len(boxes) < most:
        largest = min(filter(_Box.is_mixed, boxes), key=_Box.rank, default=None)
        if largest is None:
            break
        boxes.remove(largest)
        boxes += largest.cut()
    return tuple(box.swatch for box in sorted(boxes, key=_Box.rank))


class _Box:
    """Pixels, and how often each value occurs in each of their channels."""

    def __init__(self, planes: Planes) -> None:
        self._planes = planes
        self._counts = tuple(map(Counter, planes))

    def is_mixed(self) -> bool:
        """There is more than one colour."""
        return any(len(counts) > 1 for counts in self._counts)

    @cached_property
    def swatch(self) -> Swatch:
        """The mean colour and the number of pixels."""
        pixels = len(self._planes[0])
        red, green, blue = (_mean(counts, pixels) for counts in self._counts)
        return Swatch(color=(red, green, blue), pixels=pixels)

    def rank(self) -> tuple[int, RGB]:
        """The largest first, ties by lowest RGB value."""
        return -self.swatch.pixels, self.swatch.color

    def cut(self) -> tuple[_Box, _Box]:
        """Two boxes that share the pixels; each has some."""
        longest = max(range(3), key=lambda channel: _length(self._counts[channel]))
        last = _last_below(self._counts[longest])
        is_above = self._planes[longest].translate(bytes(value > last for value in range(256)))
        is_below = is_above.translate(b"\1\0" + bytes(254))
        return self._where(is_below), self._where(is_above)

    def _where(self, mask: bytes) -> _Box:
        red, green, blue = (bytes(compress(plane, mask)) for plane in self._planes)
        return _Box((red, green, blue))


def _mean(counts: Mapping[int, int], pixels: int) -> int:
    total = sum(value * count for value, count in counts.items())
    return (2 * total + pixels) // (2 * pixels)


def _length(counts: Mapping[int, int]) -> int:
    return max(counts) - min(counts)


def _last_below(counts: Mapping[int, int]) -> int:
    """The value after which the cut falls: never the highest, so that some are above."""
    values = sorted(counts)
    whole = sum(counts.values())
    below = accumulate(counts[value] for value in values[:-1])
    return min(zip(below, values, strict=False), key=lambda cut: abs(2 * cut[0] - whole))[1]
