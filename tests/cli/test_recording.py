"""Evidence and workspace are recorded with a run, and probes judge them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from signoff.canonical import digest_bytes
from tests.cli.calling import call, wrote

DATA = b"what was seen\n"
DIGEST = digest_bytes(DATA)
CONTRACT = """\
id: c
criteria:
- {id: seen, verifier: artifact_exists, params: {evidence: [{ref: "%s"}]}}
"""
FILE = """\
id: c
criteria:
- {id: built, verifier: artifact_exists, params: {evidence: [{ref: dist/r.txt, checksum: "%s"}]}}
"""


@pytest.fixture
def seen(folder: Path) -> Path:
    """The folder with a file, and a contract that wants it as evidence."""
    wrote(folder, "seen.txt", DATA)
    wrote(folder, "evidence.yaml", CONTRACT % DIGEST)
    assert 0 == call("lock", "evidence.yaml").code
    return folder


def test_evidence_is_found_by_its_digest(seen: Path) -> None:
    argv = ["verify", "evidence.lock.json", "good.json"]

    assert 3 == call(*argv).code
    assert 0 == call(*argv, "--evidence", "seen.txt").code
    assert 1 == call(*argv, "--evidence", "bad.json").code


def test_evidence_is_kept_in_the_run(seen: Path) -> None:
    called = call(
        "verify", "evidence.lock.json", "good.json", "--evidence", "seen.txt", "--out", "run"
    )
    recorded = {"digest": DIGEST, "size": len(DATA), "media_type": "text/plain", "name": "seen.txt"}

    assert 0 == called.code
    assert DATA == Path("run/evidence", DIGEST.removeprefix("sha256:")).read_bytes()
    assert {"evidence": [recorded]} == json.loads(Path("run/facts.json").read_bytes())
    assert {DIGEST: len(DATA)} == json.loads(Path("run/verdict.json").read_bytes())["evidence"]

    assert 1 == call("gate", "run", "--contract", "evidence.lock.json").code
    argv = ["gate", "run", "--contract", "evidence.lock.json", "--allow", "recorded"]
    gate = call(*argv, "--json")
    assert (0, ["seen"]) == (gate.code, gate.json["not_rechecked"])

    Path("run/evidence", DIGEST.removeprefix("sha256:")).write_bytes(DATA + b"!")
    assert 1 == call(*argv).code


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.png", "image/png"), ("a.JPG", "image/jpeg"), ("a.json", "application/json"), ("a", "application/octet-stream"), ("a.exe", "application/octet-stream")],
)  # fmt: skip
def test_media_type_follows_the_ending(seen: Path, name: str, media_type: str) -> None:
    wrote(seen, name, DATA)
    call("verify", "evidence.lock.json", "good.json", "--evidence", name, "--out", "run")
    facts = json.loads(Path("run/facts.json").read_bytes())

    assert [media_type] == [
        one.get("media_type", "application/octet-stream") for one in facts["evidence"]
    ]


def test_evidence_goes_by_its_bare_name(seen: Path) -> None:
    (seen / "deep").mkdir()
    wrote(seen, "deep/other.txt", b"x")
    wrote(seen, "deep/seen.txt", b"x")
    argv = ["verify", "evidence.lock.json", "good.json", "--out", "run", "--evidence", "seen.txt"]

    assert 0 == call(*argv, "--evidence", "deep/other.txt").code
    facts = json.loads(Path("run/facts.json").read_bytes())
    assert ["seen.txt", "other.txt"] == [one["name"] for one in facts["evidence"]]

    called = call(*argv, "--evidence", "deep/seen.txt")
    assert (2, True) == (called.code, 'two files of --evidence are called "seen.txt"' in called.err)
    assert not Path("run/verdict.json").exists()


@pytest.mark.parametrize("name", ["absent.txt", "."])
def test_evidence_must_be_a_file(seen: Path, name: str) -> None:
    assert 2 == call("verify", "evidence.lock.json", "good.json", "--evidence", name).code


def test_evidence_inside_the_run_is_refused(seen: Path) -> None:
    argv = ["verify", "evidence.lock.json", "good.json", "--out", "run"]
    assert 0 == call(*argv, "--evidence", "seen.txt").code
    kept = f"run/evidence/{DIGEST.removeprefix('sha256:')}"

    assert 2 == call(*argv, "--evidence", kept).code
    assert DATA == Path(kept).read_bytes()


def test_configuration_inside_the_run_is_refused(seen: Path) -> None:
    (seen / "run").mkdir()
    wrote(seen, "run/signoff.toml", "[limits]\nmax_depth = 3\n")

    assert (
        2
        == call(
            "verify",
            "evidence.lock.json",
            "good.json",
            "--out",
            "run",
            "--config",
            "run/signoff.toml",
        ).code
    )


def test_files_are_looked_for_in_the_workspace(folder: Path) -> None:
    (folder / "work" / "dist").mkdir(parents=True)
    wrote(folder, "work/dist/r.txt", DATA)
    wrote(folder, "built.yaml", FILE % DIGEST)
    assert 0 == call("lock", "built.yaml").code
    argv = ["verify", "built.lock.json", "good.json"]

    assert 3 == call(*argv).code
    assert 0 == call(*argv, "--workspace", "work").code
    assert 0 == call(*argv, "--workspace", "work", "--out", "run").code
    assert 1 == call(*argv, "--workspace", ".").code


def test_evidence_whose_name_is_no_text_is_refused(seen: Path) -> None:
    wrote(seen, "\udcff.txt", b"x")
    called = call("verify", "evidence.lock.json", "good.json", "--evidence", "\udcff.txt")

    assert (2, "") == (called.code, called.out)
    assert "--evidence \\udcff.txt: the name is not UTF-8" in called.err
