"""The image's dominant colour is near a given one."""

from __future__ import annotations

import os
import re
import stat
from binascii import a2b_base64, b2a_base64
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal, NoReturn

from msgspec import Struct

from signoff.canonical import digest_bytes, is_digest
from signoff.color import RGB, ciede2000, lab
from signoff.errors import EvidenceCorrupt, EvidenceMissing, NotInstalled, NotJudged, ParamsError
from signoff.jsonvalue import JSON, number_text, parse_pointer
from signoff.model import Evidence, Finding, Subject, failed, inconclusive, passed
from signoff.palette import Planes, Swatch, median_cut
from signoff.params import Kind, Pointer, integer, number, text
from signoff.registry import Check, Powers, reads, verifier
from signoff.status import Cause
from signoff.workspace import NO_FILE, OPENING, workspace_of

_DATA_URI: Final = re.compile(r"data:image/[^;,\s]+(?:;[^;,\s]+)*;base64", re.IGNORECASE)
_LONGEST_HEAD: Final = 256
_NO_LINK: Final = OPENING | os.O_NOFOLLOW


def _read_color(value: JSON) -> RGB:
    if type(value) is not str or not re.fullmatch(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})", value):
        raise ValueError
    digits = value[1:] if len(value) == 7 else "".join(2 * digit for digit in value[1:])
    red, green, blue = bytes.fromhex(digits)
    return red, green, blue


Color = Annotated[
    RGB,
    Kind(
        says='"#rgb" or "#rrggbb", any case',
        read=_read_color,
        schema={"type": "string", "pattern": "^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$"},
    ),
]
Distance = Annotated[float, number("number, 0 to 100, CIEDE2000", ge=0, le=100)]
Share = Annotated[float, number(ge=0, le=1)]
PaletteSize = Annotated[int, integer(ge=2, le=64)]
EvidenceName = Annotated[str, text("name of a recorded evidence", least=1)]


@lru_cache(maxsize=1)
def _version() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version  # slow, and only reports need it

    try:
        return {"Pillow": version("pillow")}
    except PackageNotFoundError:
        return {}


@verifier(engines=_version)
def dominant_color(
    *,
    color: Color,
    max_distance: Distance,
    min_share: Share = 0,
    palette: PaletteSize = 8,
    frame: Literal["first"] | None = None,
    evidence: EvidenceName | None = None,
    path: Pointer | None = None,
    powers: Powers,
) -> Check:
    """
    The image's dominant colour lies within ``max_distance`` of ``color``.

    The image is a data URI, an object ``{"base64": "..."}``, the digest of recorded
    evidence, or a file of the subject's workspace, named by its relative path without
    any link; PNG, JPEG, WebP, GIF or BMP.  Its opaque pixels, at most 512 x 512 of
    them, are put into the colours of a palette by median cut, and the one that stands
    for most pixels is dominant.  A shaded surface falls into several palette colours;
    ``min_share`` then says how much of the image all the near ones must cover.

    Args:
        color: What the dominant colour must be near.
        max_distance: Largest CIEDE2000 difference, itself included; 1 is just visible.
        min_share: Smallest share of the opaque pixels whose palette colour is that near.
        palette: Most colours that the image is put into.
        frame: Which frame of an animated image is judged; without it such an image fails.
        evidence: Name of the recorded evidence that is the image, instead of the output.
        path: RFC 6901 pointer to the image; the whole output when absent or empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    if evidence is not None and path is not None:
        raise ParamsError("params.evidence excludes params.path", where="/evidence")
    try:
        from signoff.pixels import Refused, opaque_pixels, require_formats  # the extra "image"
    except ImportError as exc:
        raise NotInstalled("dominant_color", "Pillow", "image") from exc
    require_formats("dominant_color")
    near = _Near(color=color, max_distance=max_distance, min_share=min_share)
    at = None if evidence is not None else path or ""
    source = _Source(powers=powers, at=at, evidence=evidence)

    def check(subject: Subject) -> Finding:
        pixels = opaque_pixels(
            source.image_of(subject),
            max_pixels=powers.max_image_pixels,
            first_frame=frame is not None,
        )
        if isinstance(pixels, Refused):
            return failed(pixels.text, at=at)
        return near.finding(pixels, palette, at)

    return reads(check) if at is None else reads(check, parse_pointer(at))


class _Near(Struct, frozen=True, kw_only=True):
    """What the colours of an image are held to."""

    color: RGB
    max_distance: float
    min_share: float

    def finding(self, pixels: Planes, most: int, at: str | None) -> Finding:
        """What is found of an image with these pixels."""
        swatches = median_cut(pixels, most)
        distances = [self._distance(swatch) for swatch in swatches]
        near = sum(
            swatch.pixels
            for swatch, distance in zip(swatches, distances, strict=True)
            if distance <= self.max_distance
        )
        share = round(near / sum(swatch.pixels for swatch in swatches), 4)
        detail = (
            f"dominant=#{bytes(swatches[0].color).hex()}, "
            f"distance={number_text(distances[0])}, share={number_text(share)}, "
            f"max_distance={number_text(self.max_distance)}, "
            f"min_share={number_text(self.min_share)}"
        )
        holds = distances[0] <= self.max_distance and share >= self.min_share
        return passed(detail) if holds else failed(detail, at=at)

    def _distance(self, swatch: Swatch) -> float:
        return round(ciede2000(lab(self.color), lab(swatch.color)), 4)


class _Source(Struct, frozen=True, kw_only=True):
    """
    Where the bytes of an image come from.

    Args:
        powers: The store of recorded evidence, and the caps.
        at: Pointer to the image in the output; None when it is not there.
        evidence: Name of the recorded evidence that is the image, or None.
    """

    powers: Powers
    at: str | None
    evidence: str | None

    def image_of(self, subject: Subject) -> bytes:
        """
        The bytes of the subject's image.

        Raises:
            NotJudged: There are none.
        """
        recorded = subject.evidence or ()
        if self.at is None:
            return self._recorded([one for one in recorded if one.name == self.evidence])
        value = subject.value(self.at)
        if type(value) is dict and value.keys() == {"base64"} and type(value["base64"]) is str:
            return self._base64(value["base64"])
        if type(value) is not str:
            self._no_image()
        if is_digest(value):
            return self._recorded([one for one in recorded if one.digest == value])
        comma = value.find(",", 0, _LONGEST_HEAD)
        if comma > 0 and _DATA_URI.fullmatch(value, 0, comma):
            return self._base64(value[comma + 1 :])
        if subject.workspace is None and self.powers.workspace is None:
            self._no_image()  # a text, and nowhere to look for a file of that name
        return self._file(value, workspace_of(subject, self.powers))

    def _base64(self, text: str) -> bytes:
        self._cap(len(text) // 4 * 3 - text[-2:].count("="))
        try:
            data = a2b_base64(text)
        except ValueError:
            self._fail("Image cannot be decoded.")
        # The decoder passes over what is no base64, and over bits that belong to no byte.
        if b2a_base64(data, newline=False) != text.encode("ascii"):
            self._fail("Image cannot be decoded.")
        return data

    def _recorded(self, entries: list[Evidence]) -> bytes:
        if not entries:
            self._fail("Evidence is missing.")
        if len({entry.digest for entry in entries}) > 1 or self.powers.store is None:
            _unreachable()  # of several by one name, none is the one that is meant
        digest = entries[0].digest
        self._cap(max(entry.size for entry in entries))
        try:
            data = self.powers.store.read(digest)
        except EvidenceMissing:
            self._fail("Evidence is missing.")
        except EvidenceCorrupt:
            self._fail("Evidence does not have its digest.")
        except OSError:
            _unreachable()
        if digest_bytes(data) != digest:
            self._fail("Evidence does not have its digest.")
        self._cap(len(data))
        return data

    def _file(self, name: str, folder: str) -> bytes:
        try:
            handle = _opened(folder, name)
            try:
                return self._content(handle)
            finally:
                os.close(handle)
        except OSError as exc:
            if exc.errno in NO_FILE:
                self._no_image()
            _unreachable()
        except ValueError:  # a character that no file name can have
            self._no_image()

    def _content(self, handle: int) -> bytes:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            self._no_image()
        with open(handle, "rb", closefd=False) as file:
            data = file.read(self.powers.max_image_bytes + 1)
        self._cap(len(data))
        return data

    def _cap(self, size: int) -> None:
        if size > self.powers.max_image_bytes:
            self._fail(f"Image is larger than {self.powers.max_image_bytes} bytes.")

    def _no_image(self) -> NoReturn:
        self._fail("Output is not an image.")

    def _fail(self, text: str) -> NoReturn:
        raise NotJudged(failed(text, at=self.at))


def _unreachable() -> NoReturn:
    raise NotJudged(inconclusive("Evidence cannot be read.", Cause.EVIDENCE_UNREACHABLE))


def _opened(folder: str, name: str) -> int:
    """
    A handle of what has that name below the folder; no part of the name may be a link.

    Raises:
        OSError: There is no such thing, or it is elsewhere.
        ValueError: No file can have this name.
    """
    # Only here, because it brings ctypes, which most images do without.
    from signoff.document.beneath import open_beneath

    for above in PurePosixPath(name).parents:
        os.close(open_beneath(folder, str(above), _NO_LINK | os.O_DIRECTORY))
    return open_beneath(folder, name, _NO_LINK)
