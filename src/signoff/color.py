"""
How far apart two colours look: sRGB to CIELAB, and CIEDE2000 between two of those.

Our own, because libraries differ in the third decimal and a verdict may not.
Source of the formula: G. Sharma, W. Wu, E. N. Dalal, "The CIEDE2000 Color-Difference
Formula: Implementation Notes, Supplementary Test Data, and Mathematical
Observations", Color Research and Application 30 (2005).
"""

from __future__ import annotations

from math import atan2, cbrt, cos, degrees, exp, hypot, radians, sin, sqrt
from typing import Final, TypeAlias

__all__ = ["RGB", "Lab", "ciede2000", "lab"]

RGB: TypeAlias = tuple[int, int, int]
Lab: TypeAlias = tuple[float, float, float]

# Linear sRGB to CIE XYZ, and the white that CIELAB is relative to (D65).
_TO_XYZ: Final = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
_WHITE: Final = (0.95047, 1.0, 1.08883)
_KNEE: Final = 6 / 29
_25_TO_THE_7TH: Final = 25.0**7
# Opposite hues are where the formula jumps; a rounding error of the last bit decides nothing.
_OPPOSITE: Final = 180 + 1e-9


def lab(rgb: RGB) -> Lab:
    """The CIELAB coordinates of an sRGB colour of 8 bits a channel."""
    linear = tuple(map(_linear, rgb))
    x, y, z = (
        _compressed(
            sum(share * channel for share, channel in zip(row, linear, strict=True)) / white
        )
        for row, white in zip(_TO_XYZ, _WHITE, strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(one: Lab, other: Lab) -> float:
    """The CIEDE2000 difference of two colours, with all parametric factors 1; 0 for one colour."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    stretch = 1.5 - 0.5 * _saturation((hypot(a1, b1) + hypot(a2, b2)) / 2)
    chroma1, hue1 = _polar(a1 * stretch, b1)
    chroma2, hue2 = _polar(a2 * stretch, b2)
    arc, hue = _hues(hue1, hue2) if chroma1 and chroma2 else (0.0, hue1 + hue2)
    lightness, chroma = (l1 + l2) / 2, (chroma1 + chroma2) / 2
    off_grey = (lightness - 50) ** 2
    d_lightness = (l2 - l1) / (1 + 0.015 * off_grey / sqrt(20 + off_grey))
    d_chroma = (chroma2 - chroma1) / (1 + 0.045 * chroma)
    d_hue = 2 * sqrt(chroma1 * chroma2) * sin(radians(arc / 2))
    d_hue /= 1 + 0.015 * chroma * _hue_weight(hue)
    rotation = -2 * _saturation(chroma) * sin(radians(60 * exp(-(((hue - 275) / 25) ** 2))))
    return sqrt(d_lightness**2 + d_chroma**2 + d_hue**2 + rotation * d_chroma * d_hue)


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def _compressed(share: float) -> float:
    return cbrt(share) if share > _KNEE**3 else share / (3 * _KNEE**2) + 4 / 29


def _saturation(chroma: float) -> float:
    """From 0 for grey to nearly 1 for vivid colours."""
    seventh = chroma**7
    return sqrt(seventh / (seventh + _25_TO_THE_7TH))


def _polar(a: float, b: float) -> tuple[float, float]:
    """Chroma, and hue in degrees from 0 to 360; grey has hue 0."""
    return hypot(a, b), degrees(atan2(b, a)) % 360 if a or b else 0.0


def _hues(one: float, other: float) -> tuple[float, float]:
    """The way from one hue to the other, the shorter one round, and the hue half-way."""
    arc, both = other - one, one + other
    if abs(arc) <= _OPPOSITE:
        return arc, both / 2
    return arc - 360 if arc > 0 else arc + 360, (both + (360 if both < 360 else -360)) / 2


def _hue_weight(hue: float) -> float:
    return (
        1
        - 0.17 * cos(radians(hue - 30))
        + 0.24 * cos(radians(2 * hue))
        + 0.32 * cos(radians(3 * hue + 6))
        - 0.20 * cos(radians(4 * hue - 63))
    )
