"""Bytes become the same pixels everywhere, or one sentence, at a bounded price."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
import threading
import time
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import PIL.GifImagePlugin
import PIL.Image
import PIL.ImageFile
import pytest
from PIL import Image

from signoff.errors import NotInstalled
from signoff.palette import Planes
from signoff.pixels import MODES, Refused, opaque_pixels, require_formats
from tests.images import BLUE, GREEN, RED, animated, chunk, encoded, flat, noise, png

BAD = "Image cannot be decoded."
LARGE = "Image is larger than 40000000 pixels."
FILES = {
    "png": encoded(noise()),
    "jpeg": encoded(noise(), "JPEG"),
    "progressive jpeg": encoded(noise(), "JPEG", progressive=True),
    "webp": encoded(noise(), "WEBP"),
    "lossless webp": encoded(noise(), "WEBP", lossless=True),
    "gif": encoded(noise(), "GIF"),
    "bmp": encoded(noise(), "BMP"),
}
EACH_FILE = pytest.mark.parametrize("name", FILES)


def judged(data: bytes, **options: Any) -> Planes | str:
    found = opaque_pixels(data, **({"max_pixels": 40_000_000} | options))
    return found.text if isinstance(found, Refused) else found


def pixels(data: bytes, **options: Any) -> Planes:
    found = judged(data, **options)
    assert not isinstance(found, str), found
    return found


def colors(data: bytes, **options: Any) -> set[tuple[int, ...]]:
    return set(zip(*pixels(data, **options), strict=True))


def refused(data: bytes, **options: Any) -> str:
    found = judged(data, **options)
    assert isinstance(found, str)
    return found


def webp(kind: bytes, width: int, height: int) -> bytes:
    """A WebP file of that kind of header and nothing else."""
    sides: int = (width - 1) | (height - 1) << 14
    bodies = {
        b"VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8L": b"\x2f" + sides.to_bytes(4, "little"),
        b"VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
    }
    body = bodies[kind]
    content = b"WEBP" + kind + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)
    return b"RIFF" + struct.pack("<I", len(content)) + content


def rle_bitmap(width: int, height: int, commands: bytes) -> bytes:
    """A bitmap of 8 bits, run-length coded."""
    palette = bytes(1024)
    offset = 14 + 40 + len(palette)
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, len(commands), 0, 0, 256, 0)
    return (
        b"BM"
        + struct.pack("<IHHI", offset + len(commands), 0, 0, offset)
        + info
        + palette
        + commands
    )


class TestFormatsAndModes:
    @pytest.mark.parametrize("format_", ["PNG", "GIF", "BMP"])
    def test_lossless_formats_give_the_colour_itself(self, format_: str) -> None:
        assert {RED} == colors(encoded(flat(), format_))

    def test_lossless_webp_gives_the_colour_itself(self) -> None:
        assert {RED} == colors(encoded(flat(), "WEBP", lossless=True))

    @pytest.mark.parametrize("format_", ["JPEG", "WEBP"])
    def test_lossy_formats_come_near(self, format_: str) -> None:
        (found,) = colors(encoded(flat(), format_, quality=95))

        assert all(abs(got - meant) <= 4 for got, meant in zip(found, RED, strict=True))

    @pytest.mark.parametrize(
        "format_", ["TIFF", "ICO", "PPM", "TGA", "PDF", "DIB", "JPEG2000", "PCX"]
    )
    def test_other_formats_are_no_images(self, format_: str) -> None:
        assert BAD == refused(encoded(flat(size=(16, 16)), format_))

    @pytest.mark.parametrize(
        "data", [b"", b"\0", b"just a text", b"BM", b"GIF89a", b"\xff\xd8\xff"]
    )
    def test_other_bytes_are_no_images(self, data: bytes) -> None:
        assert BAD == refused(data)

    @pytest.mark.parametrize(
        ("image", "format_", "expected"),
        [
            (flat(1, mode="1"), "PNG", (255, 255, 255)),
            (flat(0, mode="1"), "BMP", (0, 0, 0)),
            (flat(77, mode="L"), "PNG", (77, 77, 77)),
            (flat((77, 200), mode="LA"), "PNG", (77, 77, 77)),
            (flat().quantize(2), "PNG", RED),
            (flat((*RED, 128), mode="RGBA"), "PNG", RED),
        ],
        ids=["1", "1 in BMP", "L", "LA", "P", "RGBA"],
    )
    def test_mode_is_read_as_its_colour(
        self, image: Image.Image, format_: str, expected: tuple[int, ...]
    ) -> None:
        assert {expected} == colors(encoded(image, format_))

    def test_cmyk_is_read_as_its_colour(self) -> None:
        (found,) = colors(encoded(flat((0, 255, 255, 0), mode="CMYK"), "JPEG", quality=100))

        assert all(abs(a - b) <= 3 for a, b in zip(found, (255, 0, 0), strict=True))

    def test_sixteen_bits_of_grey_are_refused_by_name(self) -> None:
        assert "Image mode I;16 is not supported." == refused(encoded(flat(9, mode="I;16")))

    def test_sixteen_bits_of_three_channels_are_read_by_their_upper_half(self) -> None:
        row = b"\0" + bytes([200, 255, 30, 255, 40, 255])

        assert {RED} == colors(png(1, 1, rows=row, depth=16))

    def test_modes_are_those_of_the_specification(self) -> None:
        assert "1 L LA P PA RGB RGBA CMYK YCbCr" == " ".join(MODES)

    def test_profile_of_colours_changes_nothing(self) -> None:
        from PIL import ImageCms

        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()

        assert {RED} == colors(encoded(flat(), icc_profile=profile))

    def test_one_pixel_is_an_image(self) -> None:
        assert (bytes([200]), bytes([30]), bytes([40])) == judged(encoded(flat(size=(1, 1))))

    def test_pillow_without_a_format_is_not_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("signoff.pixels.has", lambda name: name != "webp")

        with pytest.raises(NotInstalled, match=r"it needs Pillow with PNG, JPEG and WebP"):
            require_formats("it")


class TestAlpha:
    def test_pixels_below_128_are_dropped(self) -> None:
        image = flat((*RED, 127), mode="RGBA")
        image.putpixel((3, 4), (*BLUE, 128))

        assert tuple(bytes([value]) for value in BLUE) == judged(encoded(image))

    def test_nothing_opaque_is_nothing_to_judge(self) -> None:
        assert "Image has no opaque pixels." == refused(encoded(flat((*RED, 127), mode="RGBA")))

    def test_colour_that_stands_for_transparency_is_dropped(self) -> None:
        image = flat()
        image.paste(BLUE, (0, 0, 4, 8))

        assert {BLUE} == colors(encoded(image, transparency=RED))

    @pytest.mark.parametrize("format_", ["PNG", "GIF"])
    def test_palette_entry_that_is_transparent_is_dropped(self, format_: str) -> None:
        image = flat()
        image.paste(BLUE, (0, 0, 4, 8))
        small = image.quantize(2)
        red = small.getpixel((7, 0))

        assert {BLUE} == colors(encoded(small, format_, transparency=red))

    def test_alpha_of_a_webp_is_seen(self) -> None:
        image = flat((*RED, 0), mode="RGBA")
        image.paste((*BLUE, 255), (0, 0, 4, 8))

        assert {BLUE} == colors(encoded(image, "WEBP", lossless=True))


class TestAnimation:
    @pytest.mark.parametrize("format_", ["GIF", "PNG", "WEBP"])
    @pytest.mark.parametrize("frames", [2, 24])
    def test_animated_image_is_refused_with_its_number_of_frames(
        self, format_: str, frames: int
    ) -> None:
        assert f"Image has {frames} frames." == refused(animated(format_, frames))

    @pytest.mark.parametrize("format_", ["GIF", "PNG", "WEBP"])
    def test_first_frame_is_judged_where_it_is_asked_for(self, format_: str) -> None:
        options = {"lossless": True} if format_ == "WEBP" else {}

        assert {RED} == colors(animated(format_, **options), first_frame=True)

    @pytest.mark.parametrize("format_", ["GIF", "PNG", "WEBP", "JPEG", "BMP"])
    def test_still_image_has_a_first_frame(self, format_: str) -> None:
        assert 64 == len(pixels(encoded(flat(), format_), first_frame=True)[0])

    def test_second_picture_of_a_photograph_is_no_frame(self) -> None:
        photo = encoded(flat(), "MPO", save_all=True, append_images=[flat(BLUE)])

        assert 64 == len(pixels(photo)[0])


class TestShrinking:
    @pytest.mark.parametrize(
        ("size", "smaller"),
        [
            ((512, 512), (512, 512)),
            ((513, 1), (512, 1)),
            ((1, 513), (1, 512)),
            ((1024, 513), (512, 256)),
            ((1000, 999), (512, 511)),
            ((40_000, 3), (512, 1)),
            ((3, 40_000), (1, 512)),
            ((512, 300), (512, 300)),
        ],
    )
    def test_size_is_as_documented(self, size: tuple[int, int], smaller: tuple[int, int]) -> None:
        assert smaller[0] * smaller[1] == len(pixels(encoded(flat(size=size)))[0])

    @pytest.mark.parametrize("size", [(513, 2), (1024, 7), (1999, 30), (30, 1999), (9_001, 21)])
    def test_each_pixel_is_one_of_the_old_ones(self, size: tuple[int, int]) -> None:
        width, height = size
        image = Image.frombytes(
            "RGB", size, b"".join(bytes([x % 251, y % 241, x // 251]) for y in range(height) for x in range(width))
        )  # fmt: skip
        least = [max(1, side * 512 // max(size)) for side in size]
        columns = [(2 * at + 1) * width // (2 * least[0]) for at in range(least[0])]
        rows = [(2 * at + 1) * height // (2 * least[1]) for at in range(least[1])]
        red, green, blue = pixels(encoded(image, compress_level=0))

        assert bytes(x % 251 for _ in rows for x in columns) == red
        assert bytes(y % 241 for y in rows for _ in columns) == green
        assert bytes(x // 251 for _ in rows for x in columns) == blue

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA"])
    def test_every_mode_is_shrunk(self, mode: str) -> None:
        image = flat("black", size=(600, 600)).convert("RGBA").convert(mode)

        assert {(0, 0, 0)} == colors(encoded(image))
        assert 512 * 512 == len(pixels(encoded(image))[0])

    def test_transparency_survives_it(self) -> None:
        image = flat(size=(600, 600))
        image.paste(BLUE, (0, 0, 600, 300))

        assert {BLUE} == colors(encoded(image, transparency=RED))
        small = image.quantize(2)
        red = small.getpixel((0, 599))

        assert {BLUE} == colors(encoded(small, transparency=red))

    def test_no_colour_is_invented(self) -> None:
        image = flat(size=(700, 700))
        image.paste(BLUE, (0, 0, 333, 700))

        assert {RED, BLUE} == colors(encoded(image))


class TestCaps:
    @pytest.mark.parametrize(
        ("width", "height"), [(40_000, 1_001), (10_000, 10_000), (2**31 - 1, 2)]
    )
    def test_pixels_are_counted_by_the_header(self, width: int, height: int) -> None:
        assert LARGE == refused(png(width, height))

    def test_as_many_pixels_as_may_be_are_decoded(self) -> None:
        assert {RED} == colors(encoded(flat(size=(10, 4))), max_pixels=40)
        assert "Image is larger than 39 pixels." == refused(
            encoded(flat(size=(10, 4))), max_pixels=39
        )

    @pytest.mark.parametrize("format_", ["JPEG", "WEBP", "GIF", "BMP"])
    def test_cap_holds_for_every_format(self, format_: str) -> None:
        assert "Image is larger than 63 pixels." == refused(encoded(flat(), format_), max_pixels=63)

    @pytest.mark.parametrize("kind", [b"VP8X", b"VP8L", b"VP8 "])
    def test_header_of_a_webp_is_read_before_pillow_makes_room(self, kind: bytes) -> None:
        assert LARGE == refused(webp(kind, 10_000, 10_000))
        assert BAD == refused(webp(kind, 100, 100))

    def test_frame_beyond_the_screen_counts(self) -> None:
        data = bytearray(encoded(flat(), "GIF"))
        at = data.index(b",")
        data[at + 5 : at + 9] = struct.pack("<HH", 65_535, 65_535)

        assert LARGE == refused(bytes(data))

    def test_image_that_promises_more_than_it_has_is_cut_off(self) -> None:
        assert BAD == refused(png(6_000, 6_000, rows=b"\0" * 1_000))

    def test_image_that_holds_more_than_it_promises_stays_small(self) -> None:
        data = png(2, 2, rows=b"\0\xff\0\0\xff\0\0" * 2 + bytes(50_000_000))

        assert {(255, 0, 0)} == colors(data)

    @pytest.mark.parametrize(
        "head", [b"zTXta\0\0", b"iTXta\0\1\0\0\0", b"iCCPa\0\0"], ids=["zTXt", "iTXt", "iCCP"]
    )
    def test_compressed_text_or_profile_does_not_burst(self, head: bytes) -> None:
        bomb = head[4:] + zlib.compress(bytes(60_000_000), 9)

        assert BAD == refused(png(1, 1, chunk(head[:4], bomb), rows=b"\0\xff\0\0"))

    def test_passes_over_a_progressive_image_are_few(self) -> None:
        data = encoded(noise(), "JPEG", progressive=True)
        last = data.rindex(b"\xff\xda")
        scans = data.count(b"\xff\xda")

        assert scans < 20
        for more, expected in ((64 - scans, 64 * 64), (65 - scans, None)):
            bomb = data[:-2] + data[last:-2] * more + data[-2:]
            found = judged(bomb)
            assert BAD == found if expected is None else len(found[0]) == expected

    def test_skipping_over_a_wide_bitmap_costs_nothing(self) -> None:
        skips = b"\0\x02\xff\xff" * 4 + b"\0\1"

        assert BAD == refused(rle_bitmap(39_000_000, 1, skips))

    def test_bitmap_in_runs_is_decoded(self) -> None:
        assert {(0, 0, 0)} == colors(rle_bitmap(8, 2, b"\x08\0\0\0\x08\0\0\0\0\1"))

    def test_memory_stays_bounded(self) -> None:
        script = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1_200_000_000,) * 2)
from signoff.pixels import opaque_pixels
for data in map(bytes.fromhex, sys.stdin.read().split()):
    found = opaque_pixels(data, max_pixels=40_000_000)
    print(len(found[0]) if isinstance(found, tuple) else found.text)
"""
        files = [
            encoded(flat((*RED, 255), size=(8_000, 5_000), mode="RGBA"), compress_level=1),
            encoded(flat((0, 9, 9, 0), size=(8_000, 5_000), mode="CMYK"), "JPEG"),
            png(100_000, 1_000),
            png(30_000, 30_000, rows=bytes(5_000_000)),
            rle_bitmap(39_000_000, 1, b"\0\x02\xff\xff" * 1_000),
        ]
        done = subprocess.run(
            [sys.executable, "-c", script],
            input="\n".join(file.hex() for file in files),
            capture_output=True,
            text=True,
            check=True,
        )

        assert ["163840", "163840", LARGE, LARGE, BAD] == done.stdout.splitlines()
        assert "" == done.stderr


class TestDamage:
    @EACH_FILE
    @pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9])
    def test_file_that_is_cut_off_cannot_be_decoded(self, name: str, share: float) -> None:
        data = FILES[name]

        assert BAD == refused(data[: int(len(data) * share)])

    @EACH_FILE
    def test_changed_bytes_are_judged_or_refused_in_words(self, name: str) -> None:
        chance = random.Random(name)
        for _ in range(60):
            data = bytearray(FILES[name])
            for _ in range(chance.randint(1, 6)):
                at = chance.randrange(min(len(data), chance.choice([40, 700, len(data)])))
                data[at] = chance.randrange(256)
            found = judged(bytes(data))

            assert not isinstance(found, str) or found.startswith("Image ")
            assert isinstance(found, str) or len({len(plane) for plane in found}) == 1

    @EACH_FILE
    def test_same_bytes_are_the_same_pixels(self, name: str) -> None:
        assert pixels(FILES[name]) == pixels(FILES[name])

    def test_fault_of_memory_is_no_fault_of_the_image(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def exhausted(_: object) -> None:
            raise MemoryError

        monkeypatch.setattr(PIL.PngImagePlugin.PngImageFile, "load", exhausted)

        with pytest.raises(MemoryError):
            judged(FILES["png"])


class TestSwitchesOfTheProcess:
    """What else runs in the process sets Pillow's switches; none of them decides anything."""

    @pytest.fixture
    def lenient(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setattr(PIL.ImageFile, "LOAD_TRUNCATED_IMAGES", True)
        yield
        assert PIL.ImageFile.LOAD_TRUNCATED_IMAGES

    @pytest.mark.usefixtures("lenient")
    @EACH_FILE
    def test_cut_off_files_are_not_forgiven(self, name: str) -> None:
        assert BAD == refused(FILES[name][: len(FILES[name]) // 2])

    @pytest.mark.usefixtures("lenient")
    def test_bytes_that_do_not_have_their_checksum_are_not_forgiven(self) -> None:
        text = chunk(b"tEXt", b"a\0b")

        assert BAD == refused(png(1, 1, text[:-1] + b"?", rows=b"\0\xff\0\0"))

    @pytest.mark.parametrize("limit", [None, 1, 100])
    def test_pillows_own_limit_of_pixels_decides_nothing(
        self, limit: int | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", limit)
        large = encoded(flat(size=(600, 600)), "GIF")

        assert 512 * 512 == len(pixels(large)[0])
        assert LARGE == refused(png(10_000, 10_000))
        assert LARGE == refused(webp(b"VP8X", 16_000, 16_000))
        assert limit is PIL.Image.MAX_IMAGE_PIXELS

    def test_pillows_way_with_frames_decides_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        always = PIL.GifImagePlugin.LoadingStrategy.RGB_ALWAYS
        monkeypatch.setattr(PIL.GifImagePlugin, "LOADING_STRATEGY", always)

        assert {RED} == colors(animated("GIF"), first_frame=True)

    def test_another_reader_of_a_format_decides_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(Image.OPEN, "PNG", (lambda *_: flat(BLUE), None))

        assert {RED} == colors(encoded(flat()))

    @pytest.mark.parametrize("action", ["error", "always"])
    def test_warnings_are_neither_heard_nor_decide(self, action: Any) -> None:
        broken_animation = png(1, 1, chunk(b"acTL", bytes(8)), rows=b"\0\xff\0\0")
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter(action)
            filters = [*warnings.filters]

            assert {(255, 0, 0)} == colors(broken_animation)
            assert LARGE == refused(png(10_000, 10_000))
            assert filters == warnings.filters
        assert [] == heard

    @pytest.mark.usefixtures("lenient")
    def test_threads_do_not_forgive_for_one_another(self) -> None:
        cut = FILES["jpeg"][: len(FILES["jpeg"]) // 2]
        answers: list[str] = []

        def judge_many() -> None:
            answers.extend(refused(cut) for _ in range(30))

        threads = [threading.Thread(target=judge_many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert [BAD] * 120 == answers


def test_full_size_takes_less_than_a_second() -> None:
    data = encoded(noise((512, 512)), compress_level=1)
    begin = time.process_time()
    pixels(data)

    # A fiftieth of that on the machine this was written on; the bound is for slow ones.
    assert 1.0 > time.process_time() - begin


def test_green_is_told_from_blue() -> None:
    image = flat(GREEN, size=(2, 1))
    image.putpixel((1, 0), BLUE)

    assert (bytes([30, 20]), bytes([160, 40]), bytes([60, 200])) == judged(encoded(image))
