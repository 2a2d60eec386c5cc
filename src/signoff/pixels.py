"""
The pixels of an image, out of bytes that may be anything.

Pillow decodes; what a process can switch in Pillow, and what bytes could cost before
they are refused, is settled here.  Import this module only where there is an image to
read: Pillow is an optional package, and dear at start-up.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import compress
from operator import itemgetter
from threading import Lock
from typing import Final

import PIL.Image
import PIL.ImageFile
from msgspec import Struct
from PIL.BmpImagePlugin import BmpImageFile
from PIL.features import check as has
from PIL.GifImagePlugin import GifImageFile
from PIL.Image import DecompressionBombError, Image
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from signoff.errors import NotInstalled
from signoff.palette import Planes

__all__ = ["Refused", "opaque_pixels", "require_formats"]

LONGEST_SIDE: Final = 512
LEAST_ALPHA: Final = 128
MODES: Final = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
# A progressive JPEG may spend a few bytes on each of any number of passes over all its pixels.
MAX_JPEG_SCANS: Final = 64
# A run-length coded bitmap may skip 255 rows at once, whatever its height, and some releases do.
MAX_BMP_SKIP: Final = 255
_RLE: Final = (1, 2)
_BAD: Final = "Image cannot be decoded."
_ALONE: Final = Lock()


class Refused(Struct, frozen=True):
    """Why there are no pixels, as one sentence."""

    text: str


def require_formats(what: str) -> None:
    """
    Pillow was built with all the formats; otherwise the same bytes would be no image here.

    Raises:
        NotInstalled: It was not; ``what`` needs them.
    """
    if not all(map(has, ("zlib", "jpg", "webp"))):
        raise NotInstalled(what, "Pillow with PNG, JPEG and WebP", "image")


def opaque_pixels(data: bytes, *, max_pixels: int, first_frame: bool = False) -> Planes | Refused:
    """
    The red, green and blue values of an image's pixels whose alpha is at least 128.

    An image whose longer side has more than 512 pixels is shrunk by nearest neighbour:
    a side of ``n`` pixels becomes ``max(1, n * 512 // longer)`` of them, pixel ``i`` of
    ``m`` being the old pixel ``(2 * i + 1) * n // (2 * m)``.  Values are read as sRGB,
    whatever profile the image has.

    Args:
        data: PNG, JPEG, WebP, GIF or BMP.
        max_pixels: A larger image is refused by what its header says.
        first_frame: Takes the first frame of an animated image, instead of refusing it.
    """
    too_large = Refused(f"Image is larger than {max_pixels} pixels.")
    if _webp_pixels(data) > max_pixels:
        return too_large  # Pillow would have made room for two frames before it tells the size
    with _undisturbed(max_pixels):
        try:
            return _decoded(data, max_pixels, too_large, first_frame=first_frame)
        except DecompressionBombError:
            return too_large
        except MemoryError:
            raise  # nothing is known of the image
        except Exception:  # noqa: BLE001  nobody can list what Pillow raises about odd bytes
            return Refused(_BAD)


@contextmanager
def _undisturbed(max_pixels: int) -> Iterator[None]:
    """
    Pillow is strict, silent, and never content with less than ``max_pixels``.

    What it warns of and what it forgives are switches of the whole process, so that the
    same bytes could come out otherwise elsewhere; they are set for the time of one
    image, by one thread at a time, and put back.
    """
    with _ALONE, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = PIL.ImageFile.LOAD_TRUNCATED_IMAGES, PIL.Image.MAX_IMAGE_PIXELS
        PIL.ImageFile.LOAD_TRUNCATED_IMAGES = False
        PIL.Image.MAX_IMAGE_PIXELS = max(PIL.Image.MAX_IMAGE_PIXELS or 0, max_pixels)
        try:
            yield
        finally:
            PIL.ImageFile.LOAD_TRUNCATED_IMAGES, PIL.Image.MAX_IMAGE_PIXELS = before


def _decoded(
    data: bytes, max_pixels: int, too_large: Refused, *, first_frame: bool
) -> Planes | Refused:
    image = _opened(data)
    if image is None:
        return Refused(_BAD)
    width, height = image.size
    if width * height > max_pixels:
        return too_large
    if image.mode not in MODES:
        return Refused(f"Image mode {image.mode} is not supported.")
    frames = getattr(image, "n_frames", 1)
    if frames != 1 and not first_frame:
        return Refused(f"Image has {frames} frames.")
    if image.info.get("compression") in _RLE and width * MAX_BMP_SKIP > max_pixels:
        return Refused(_BAD)
    image.load()
    pixels = _shrunk(image)
    alpha = pixels[3::4]
    red, green, blue = pixels[0::4], pixels[1::4], pixels[2::4]
    if min(alpha) >= LEAST_ALPHA:
        return red, green, blue
    kept = alpha.translate(bytes(value >= LEAST_ALPHA for value in range(256)))
    red, green, blue = (bytes(compress(plane, kept)) for plane in (red, green, blue))
    return (red, green, blue) if red else Refused("Image has no opaque pixels.")


def _opened(data: bytes) -> ImageFile | None:
    """The image with its header read; None for bytes of another format."""
    # The five readers themselves: Image.open looks them up where any other may be put.
    file = BytesIO(data)
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return PngImageFile(file)
    if data.startswith(b"\xff\xd8\xff"):
        return JpegImageFile(file) if data.count(b"\xff\xda") <= MAX_JPEG_SCANS else None
    if data.startswith((b"GIF87a", b"GIF89a")):
        return GifImageFile(file)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return WebPImageFile(file)
    return BmpImageFile(file) if data.startswith(b"BM") else None


def _webp_pixels(data: bytes) -> int:
    """The pixels of a WebP image by its header; 0 for anything else."""
    if not data.startswith(b"RIFF") or data[8:12] != b"WEBP":
        return 0
    little = int.from_bytes
    match data[12:16]:
        case b"VP8X":
            return (little(data[24:27], "little") + 1) * (little(data[27:30], "little") + 1)
        case b"VP8L":
            sides = little(data[21:25], "little")
            return ((sides & 0x3FFF) + 1) * ((sides >> 14 & 0x3FFF) + 1)
        case b"VP8 ":
            sides = little(data[26:30], "little")
            return (sides & 0x3FFF) * (sides >> 16 & 0x3FFF)
    return 0


def _shrunk(image: ImageFile) -> bytes:
    """Red, green, blue and alpha of each pixel, in rows, of at most 512 x 512 of them."""
    if max(image.size) <= LONGEST_SIDE:
        return _rgba(image)
    columns, rows = (_chosen(side, max(image.size)) for side in image.size)
    # The first column twice, so that a single one is a tuple too.
    pick = itemgetter(columns[0], *columns)
    width = image.size[0]
    lines = []
    for row in rows:
        line = memoryview(_rgba(image.crop((0, row, width, row + 1)))).cast("I")
        lines.append(array("I", pick(line)[1:]).tobytes())
    return b"".join(lines)


def _chosen(side: int, longest: int) -> list[int]:
    less = max(1, side * LONGEST_SIDE // longest)
    return [(2 * at + 1) * side // (2 * less) for at in range(less)]


def _rgba(image: Image) -> bytes:
    plain = image.convert("RGB") if image.mode in {"CMYK", "YCbCr"} else image
    return plain.convert("RGBA").tobytes()
