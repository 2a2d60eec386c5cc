"""dominant_color on real files, from every place that an image comes from."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError, EvidenceCorrupt, EvidenceMissing, NotInstalled
from signoff.evidence import DirectoryStore, MemoryStore
from signoff.lockfile import seal
from signoff.manual import manual, tried
from signoff.model import Contract, Criterion, Evidence, Finding, Subject
from signoff.probes.dominant_color import dominant_color
from signoff.registry import Powers, Registry
from signoff.status import Cause, Outcome, Status
from tests.images import BLUE, RED, animated, data_uri, encoded, flat, noise

PARAMS: dict[str, Any] = {"color": "#c81e28", "max_distance": 1}
RED_FILE = encoded(flat())
ALL_RED = "dominant=#c81e28, distance=0, share=1, max_distance=1, min_share=0"
NO_IMAGE = "Output is not an image."
UNREADABLE = (Status.INCONCLUSIVE, "Evidence cannot be read.", None, Cause.EVIDENCE_UNREACHABLE)


def contract(**params: Any) -> Contract:
    criterion = Criterion(id="it", verifier="dominant_color", params=PARAMS | params)
    return Contract(id="shot", criteria=(criterion,))


def found(subject: Subject, powers: Powers = Powers(), **params: Any) -> Finding:  # noqa: B008  frozen
    registry = Registry([dominant_color], powers=powers)
    return Engine(registry).verify(lock(contract(**params), registry), subject).results[0].finding


def answer(subject: Subject, powers: Powers = Powers(), **params: Any) -> tuple[Any, ...]:  # noqa: B008  frozen
    finding = found(subject, powers, **params)
    return finding.status, finding.detail, finding.at, finding.cause


class TestFiles:
    """A relative path names a file of the workspace, and says nothing of any other."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        work = tmp_path / "work"
        (work / "shots").mkdir(parents=True)
        (work / "shots" / "red.png").write_bytes(RED_FILE)
        (tmp_path / "outside.png").write_bytes(RED_FILE)
        return work

    def judged(self, folder: Path, name: str, **powers: Any) -> tuple[Any, ...]:
        subject = Subject(output=name, workspace=str(folder))
        return answer(subject, Powers(**powers))

    @pytest.mark.parametrize("name", ["shots/red.png", "./shots/red.png", "shots//red.png"])
    def test_file_of_the_workspace_is_judged(self, folder: Path, name: str) -> None:
        assert (Status.PASS, ALL_RED, None, None) == self.judged(folder, name)

    def test_folder_that_the_operator_gave_is_read_where_the_subject_names_none(
        self, folder: Path
    ) -> None:
        subject = Subject(output="shots/red.png")

        assert Status.PASS is found(subject, Powers(workspace=folder)).status
        assert NO_IMAGE == found(subject).detail

    def test_folder_beyond_what_the_operator_gave_is_not_read(self, folder: Path) -> None:
        subject = Subject(output="outside.png", workspace=str(folder.parent))

        assert Status.INCONCLUSIVE is found(subject, Powers(workspace=folder)).status

    @pytest.mark.parametrize("format_", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
    def test_name_of_the_file_says_nothing_of_its_format(self, folder: Path, format_: str) -> None:
        (folder / "image.txt").write_bytes(encoded(flat(), format_))

        assert (
            Status.PASS
            is found(Subject(output="image.txt", workspace=str(folder)), max_distance=3).status
        )

    def test_text_that_is_called_png_cannot_be_decoded(self, folder: Path) -> None:
        (folder / "text.png").write_text("no image at all")

        assert (Status.FAIL, "Image cannot be decoded.", "", None) == self.judged(
            folder, "text.png"
        )

    @pytest.mark.parametrize(
        "name",
        [
            "no.png",
            "shots",
            ".",
            "",
            "/",
            "../outside.png",
            "shots/../shots/red.png",
            "shots/red.png/",
            "shots/red.png/x",
            "/etc/hostname",
            "/dev/zero",
            "file:shots/red.png",
            "shots/red.png\0",
            "shots\0/red.png",
            "\udcff.png",
            "x" * 300,
            "x/" * 3_000,
            " shots/red.png",
            "SHOTS/red.png\n",
        ],
    )
    def test_any_other_name_is_no_image(self, folder: Path, name: str) -> None:
        subject = Subject(output=name, workspace=str(folder), output_digest="sha256:" + "0" * 64)

        assert (Status.FAIL, NO_IMAGE, "", None) == answer(subject)

    def test_absolute_path_of_a_file_in_the_workspace_is_no_image(self, folder: Path) -> None:
        assert NO_IMAGE == self.judged(folder, str(folder / "shots" / "red.png"))[1]

    @pytest.mark.parametrize(
        ("link", "target", "name"),
        [
            ("out.png", "../outside.png", "out.png"),
            ("in.png", "shots/red.png", "in.png"),
            ("in", "shots", "in/red.png"),
            ("out", "..", "out/outside.png"),
            ("round", "round", "round"),
            ("void.png", "nothing", "void.png"),
            ("zero.png", "/dev/zero", "zero.png"),
        ],
    )
    def test_links_are_not_followed(self, folder: Path, link: str, target: str, name: str) -> None:
        (folder / link).symlink_to(target)

        assert (Status.FAIL, NO_IMAGE, "", None) == self.judged(folder, name)

    def test_workspace_itself_may_be_a_link(self, folder: Path) -> None:
        (folder.parent / "linked").symlink_to(folder)

        assert Status.PASS is self.judged(folder.parent / "linked", "shots/red.png")[0]

    def test_pipe_without_a_writer_is_no_image_and_does_not_wait(self, folder: Path) -> None:
        os.mkfifo(folder / "pipe.png")
        begin = time.monotonic()

        assert (Status.FAIL, NO_IMAGE, "", None) == self.judged(folder, "pipe.png")
        assert 60 > time.monotonic() - begin

    def test_socket_is_no_image(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)  # the name of a socket is short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("s.png")

            assert (Status.FAIL, NO_IMAGE, "", None) == self.judged(folder, "s.png")

    def test_device_is_no_image(self) -> None:
        assert (Status.FAIL, NO_IMAGE, "", None) == self.judged(Path("/dev"), "zero")

    def test_workspace_that_is_gone_has_no_image(self, tmp_path: Path) -> None:
        assert NO_IMAGE == self.judged(tmp_path / "gone", "red.png")[1]

    @pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every file")
    def test_file_that_may_not_be_read_is_unreachable(self, folder: Path) -> None:
        (folder / "shots" / "red.png").chmod(0)

        assert UNREADABLE == self.judged(folder, "shots/red.png")

    def test_fault_of_the_machine_is_no_fault_of_the_image(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> int:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr("signoff.document.beneath.open_beneath", broken)

        assert UNREADABLE == self.judged(folder, "shots/red.png")

    def test_large_file_is_refused_by_its_size(self, folder: Path) -> None:
        with (folder / "large.png").open("wb") as file:
            file.truncate(16_777_217)

        assert "Image is larger than 16777216 bytes." == self.judged(folder, "large.png")[1]

    def test_as_many_bytes_as_may_be_are_read(self, folder: Path) -> None:
        size = len(RED_FILE)

        assert Status.PASS is self.judged(folder, "shots/red.png", max_image_bytes=size)[0]
        assert (Status.FAIL, f"Image is larger than {size - 1} bytes.", "", None) == self.judged(
            folder, "shots/red.png", max_image_bytes=size - 1
        )

    def test_no_handle_is_left_open(self, folder: Path) -> None:
        (folder / "link.png").symlink_to("shots/red.png")
        before = len([*Path("/dev/fd").iterdir()])
        for name in ("shots/red.png", "shots", "no.png", "link.png", "shots/x/y.png"):
            self.judged(folder, name)

        assert before == len([*Path("/dev/fd").iterdir()])


class TestEvidence:
    """Recorded evidence, by its digest in the output or by the name in the parameters."""

    @pytest.fixture(params=["memory", "folder"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore | DirectoryStore:
        return MemoryStore() if request.param == "memory" else DirectoryStore(tmp_path / "kept")

    def test_digest_in_the_output_is_judged(self, store: MemoryStore | DirectoryStore) -> None:
        kept = store.put(RED_FILE)
        subject = Subject(output={"shot": kept.digest}, evidence=(kept,))

        assert (Status.PASS, ALL_RED, None, None) == answer(
            subject, Powers(store=store), path="/shot"
        )

    def test_name_in_the_parameters_is_judged_whatever_the_output(
        self, store: MemoryStore | DirectoryStore
    ) -> None:
        kept = store.put(RED_FILE, name="shot")
        other = store.put(encoded(flat(BLUE)), name="other")
        powers = Powers(store=store)

        assert (Status.PASS, ALL_RED, None, None) == answer(
            Subject(output=5, evidence=(other, kept)), powers, evidence="shot"
        )
        assert Status.PASS is found(Subject(evidence=(kept,)), powers, evidence="shot").status
        assert (Status.FAIL, None) == answer(Subject(evidence=(other,)), powers, evidence="other")[
            ::2
        ]

    def test_bytes_that_were_not_recorded_are_missing_though_the_store_has_them(
        self, store: MemoryStore | DirectoryStore
    ) -> None:
        kept = store.put(RED_FILE)

        for recorded in (None, ()):
            subject = Subject(output=kept.digest, evidence=recorded)
            assert (Status.FAIL, "Evidence is missing.", "", None) == answer(
                subject, Powers(store=store)
            )

    def test_recorded_bytes_that_are_gone_are_missing(
        self, store: MemoryStore | DirectoryStore
    ) -> None:
        entry = Evidence(digest="sha256:" + "a" * 64, size=5, name="shot")

        assert (Status.FAIL, "Evidence is missing.", "", None) == answer(
            Subject(output=entry.digest, evidence=(entry,)), Powers(store=store)
        )
        assert (Status.FAIL, "Evidence is missing.", None, None) == answer(
            Subject(evidence=(entry,)), Powers(store=store), evidence="shot"
        )

    def test_altered_bytes_do_not_have_their_digest(self, tmp_path: Path) -> None:
        store = DirectoryStore(tmp_path / "kept")
        kept = store.put(RED_FILE)
        (tmp_path / "kept" / kept.digest.removeprefix("sha256:")).write_bytes(encoded(flat(BLUE)))

        assert (Status.FAIL, "Evidence does not have its digest.", "", None) == answer(
            Subject(output=kept.digest, evidence=(kept,)), Powers(store=store)
        )

    @pytest.mark.parametrize(
        ("raised", "expected"),
        [
            (EvidenceMissing("x"), (Status.FAIL, "Evidence is missing.", "", None)),
            (EvidenceCorrupt("x"), (Status.FAIL, "Evidence does not have its digest.", "", None)),
            (OSError("x"), UNREADABLE),
            (TimeoutError("x"), UNREADABLE),
        ],
    )
    def test_what_a_store_raises_has_its_text(
        self, raised: Exception, expected: tuple[Any, ...]
    ) -> None:
        class Broken:
            def read(self, digest: str) -> bytes:
                raise raised

        kept = MemoryStore().put(RED_FILE)

        assert expected == answer(
            Subject(output=kept.digest, evidence=(kept,)), Powers(store=Broken())
        )

    def test_store_is_not_taken_at_its_word(self) -> None:
        class Lying:
            def read(self, digest: str) -> bytes:
                return encoded(flat(BLUE))

        kept = MemoryStore().put(RED_FILE)

        assert (
            "Evidence does not have its digest."
            == found(Subject(output=kept.digest, evidence=(kept,)), Powers(store=Lying())).detail
        )

    def test_without_a_store_the_bytes_are_unreachable(self) -> None:
        kept = MemoryStore().put(RED_FILE)

        assert UNREADABLE == answer(Subject(output=kept.digest, evidence=(kept,)))

    def test_of_two_images_by_one_name_neither_is_judged(
        self, store: MemoryStore | DirectoryStore
    ) -> None:
        kept = [store.put(encoded(flat(color)), name="shot") for color in (RED, BLUE)]
        powers = Powers(store=store)

        assert UNREADABLE == answer(Subject(evidence=tuple(kept)), powers, evidence="shot")
        assert (
            Status.PASS
            is found(Subject(evidence=(kept[0], kept[0])), powers, evidence="shot").status
        )

    def test_large_evidence_is_not_read(self) -> None:
        class Unread:
            def read(self, digest: str) -> bytes:
                raise AssertionError(digest)

        entry = Evidence(digest="sha256:" + "a" * 64, size=16_777_217)

        assert (Status.FAIL, "Image is larger than 16777216 bytes.", "", None) == answer(
            Subject(output=entry.digest, evidence=(entry,)), Powers(store=Unread())
        )

    def test_evidence_larger_than_it_says_is_not_decoded(self) -> None:
        store = MemoryStore()
        kept = store.put(RED_FILE)
        entry = Evidence(digest=kept.digest, size=1)

        assert (
            f"Image is larger than {kept.size - 1} bytes."
            == found(
                Subject(output=kept.digest, evidence=(entry,)),
                Powers(store=store, max_image_bytes=kept.size - 1),
            ).detail
        )


class TestTexts:
    """Images that travel in the output as base64."""

    def test_large_text_is_refused_by_its_length(self) -> None:
        for text, size in (("A" * 22_369_624, 16_777_218), ("A" * 22_369_622 + "==", 16_777_216)):
            detail = found(Subject(output={"base64": text})).detail
            large = "Image is larger than 16777216 bytes."
            assert (large if size > 16_777_216 else "Image cannot be decoded.") == detail

    def test_one_image_has_one_text(self) -> None:
        whole = RED_FILE + bytes(-len(RED_FILE) % 3)  # what follows the image is not looked at
        text = base64.b64encode(whole + b"\0").decode()

        assert text.endswith("AA==")
        assert Status.PASS is found(Subject(output={"base64": text})).status
        for odd in (
            text.removesuffix("A==") + "B==",
            text.removesuffix("=="),
            text + "=",
            text + "AAAA",
            text[:40] + "\n" + text[40:],
            text[:40] + "!" + text[40:],
            text + " ",
            text + "\u00e9",
        ):
            assert "Image cannot be decoded." == found(Subject(output={"base64": odd})).detail

    def test_caps_are_those_of_the_powers(self) -> None:
        subject = Subject(output=data_uri(RED_FILE))
        size = len(RED_FILE)

        assert Status.PASS is found(subject, Powers(max_image_bytes=size)).status
        assert (
            f"Image is larger than {size - 1} bytes."
            == found(subject, Powers(max_image_bytes=size - 1)).detail
        )
        assert Status.PASS is found(subject, Powers(max_image_pixels=64)).status
        assert (
            "Image is larger than 63 pixels." == found(subject, Powers(max_image_pixels=63)).detail
        )

    def test_caps_are_forty_million_pixels_and_sixteen_mebibytes(self) -> None:
        assert (40_000_000, 2**24) == (Powers().max_image_pixels, Powers().max_image_bytes)

    def test_long_head_of_a_data_uri_is_a_name_of_a_file(self) -> None:
        uri = data_uri(RED_FILE)
        long = uri.replace(";", ";name=" + "x" * 300 + ";", 1)

        assert NO_IMAGE == found(Subject(output=long)).detail

    @pytest.mark.parametrize("format_", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
    def test_every_format_travels(self, format_: str) -> None:
        uri = data_uri(encoded(flat(), format_), f"image/{format_.lower()}")

        assert Status.PASS is found(Subject(output=uri), max_distance=3).status


class TestJudgement:
    def test_gradient_has_near_neighbours(self) -> None:
        image = flat(size=(200, 10))
        for x in range(200):
            image.paste((200, 30 + x // 8, 40), (x, 0, x + 1, 10))
        subject = Subject(output=data_uri(encoded(image)))

        narrow = found(subject, max_distance=2, min_share=0.5)
        wide = found(subject, max_distance=6, min_share=1)
        assert Status.FAIL is narrow.status
        assert Status.PASS is wide.status
        assert ", share=1, " in wide.detail

    def test_palette_decides_how_fine_colours_are_told_apart(self) -> None:
        image = flat((0, 0, 0), size=(64, 1))
        for x in range(64):
            image.putpixel((x, 0), (4 * x, 4 * x, 4 * x))
        subject = Subject(output=data_uri(encoded(image)))
        shares = [
            found(subject, color="#000", max_distance=0.5, palette=size).detail.split(", ")[0]
            for size in (2, 8, 64)
        ]

        assert ["dominant=#3e3e3e", "dominant=#0e0e0e", "dominant=#000000"] == shares

    def test_animated_image_fails_unless_its_first_frame_is_asked_for(self) -> None:
        subject = Subject(output=data_uri(animated("GIF", 24)))

        assert (Status.FAIL, "Image has 24 frames.", "", None) == answer(subject)
        assert (Status.PASS, ALL_RED, None, None) == answer(subject, frame="first")

    def test_same_image_gives_the_same_words_in_other_processes(self) -> None:
        uri = data_uri(encoded(noise((300, 300)), "JPEG"))
        script = (
            "import sys; from signoff.model import Subject; from signoff.registry import Powers; "
            "from signoff.probes.dominant_color import dominant_color as probe; "
            "check = probe.bind({'color': '#c81e28', 'max_distance': 1}, Powers()); "
            "print(check(Subject(output=sys.stdin.read())).detail)"
        )
        details = {
            subprocess.run(
                [sys.executable, "-c", script],
                input=uri,
                env=os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for seed, locale in (("1", "C"), ("2", "de_DE.UTF-8"))
        }

        assert {found(Subject(output=uri)).detail} == details

    def test_whole_judgement_of_a_full_picture_is_quick(self) -> None:
        subject = Subject(output=data_uri(encoded(noise((512, 512)), compress_level=1)))
        check = dominant_color.bind(PARAMS, Powers())
        begin = time.process_time()
        check(subject)

        # A quarter of that on the machine this was written on; the bound is for slow ones.
        assert 2 > time.process_time() - begin

    def test_check_says_what_it_reads(self) -> None:
        by_path = dominant_color.bind(PARAMS | {"path": "/a~1b/0"}, Powers())
        by_name = dominant_color.bind(PARAMS | {"evidence": "shot"}, Powers())

        assert (("a/b", "0"),) == by_path.reads  # type: ignore[attr-defined]  # functions carry it
        assert () == by_name.reads  # type: ignore[attr-defined]  # as above

    def test_report_names_pillow_and_its_version(self) -> None:
        registry = Registry([dominant_color])
        report = Engine(registry).verify(lock(contract(), registry), Subject(output="x"))

        assert {"signoff", "Pillow"} == set(report.engines)
        assert Outcome.FAILED is report.verdict.outcome

    def test_examples_of_the_manual_are_true(self) -> None:
        examples = manual(dominant_color).examples

        assert examples
        for example in examples:
            meets, misses = tried(dominant_color, example)
            assert Status.PASS is meets.status, meets.detail
            assert misses is not None
            assert Status.FAIL is misses.status, misses.detail


class TestWithoutPillow:
    ABSENT = "dominant_color needs Pillow (install signoff[image])"

    @pytest.fixture
    def _absent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # None in sys.modules is how Python itself says that a module cannot be imported.
        monkeypatch.setitem(sys.modules, "PIL", None)
        monkeypatch.delitem(sys.modules, "signoff.pixels", raising=False)

    @pytest.mark.usefixtures("_absent")
    def test_contract_is_not_locked(self) -> None:
        with pytest.raises(ContractError) as caught:
            lock(contract(), Registry([dominant_color]))

        assert [self.ABSENT] == [fault.message for fault in caught.value.faults]

    @pytest.mark.usefixtures("_absent")
    def test_contract_locked_elsewhere_is_an_error(self) -> None:
        locked = seal(contract(), {}, ())
        report = Engine(Registry([dominant_color])).verify(locked, Subject(output="x"))
        finding = report.results[0].finding

        assert (Status.ERROR, Cause.NOT_INSTALLED) == (finding.status, finding.cause)
        assert f"{self.ABSENT}." == finding.detail

    @pytest.mark.usefixtures("_absent")
    def test_faults_of_the_parameters_come_first(self) -> None:
        with pytest.raises(ContractError) as caught:
            lock(contract(evidence="a", path=""), Registry([dominant_color]))

        assert ["params.evidence excludes params.path"] == [f.message for f in caught.value.faults]
        assert ["/criteria/0/params/evidence"] == [fault.where for fault in caught.value.faults]

    def test_pillow_without_a_format_is_not_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("signoff.pixels.has", lambda name: name != "jpg")

        with pytest.raises(
            NotInstalled, match="dominant_color needs Pillow with PNG, JPEG and WebP"
        ):
            dominant_color.bind(PARAMS, Powers())

    def test_pillow_is_imported_only_when_a_check_is_bound(self) -> None:
        script = (
            "import sys, signoff.probes.dominant_color; "
            "sys.exit('PIL' in sys.modules or 'ctypes' in sys.modules)"
        )

        assert 0 == subprocess.run([sys.executable, "-c", script], check=False).returncode
