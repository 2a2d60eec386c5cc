"""Files that a run of tests may not change: which they are, and what became of them."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from signoff.suite import protected
from signoff.suite.protected import ABSENT, PROTECTED, UNREADABLE

DIGEST = f"sha256:{sha256(b'text').hexdigest()}"


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        "a",
        [""],
        [1],
        ["a\0b"],
        ["a" * 100_000],
        ["/etc/passwd"],
        ["../a"],
        ["a/../../b"],
        ["."],
        [{"path": "a"}],
        [{"path": "a", "digest": "x"}],
        [{"path": "a", "digest": None, "more": 1}],
        ["a"] * 100_000,
    ],
)
def test_what_names_no_file_of_the_workspace_is_refused(value: Any) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  whoever reads says what is wanted
        PROTECTED.read(value)

    assert () == caught.value.args


def test_names_are_read_with_the_digest_that_is_expected() -> None:
    found = PROTECTED.read(["a//b", {"path": "c", "digest": DIGEST}, {"path": "d", "digest": None}])

    assert [("a/b", None), ("c", DIGEST), ("d", ABSENT)] == [
        (one.path, one.expected) for one in found
    ]


@pytest.mark.parametrize(
    ("path", "state"),
    [
        ("file", DIGEST),
        ("no", ABSENT),
        ("no/file", ABSENT),
        ("file/no", ABSENT),
        ("a\ud800b", ABSENT),
        ("folder", UNREADABLE),
        ("pipe", UNREADABLE),
        ("link", DIGEST),
        ("out", UNREADABLE),
    ],
)
def test_a_file_has_the_state_of_its_bytes_and_what_is_none_has_another(
    tmp_path: Path, path: str, state: str
) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "out").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")

    assert state == protected._state(path, str(tmp_path))


def test_a_disk_that_fails_is_no_state_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("text")

    def failing(*_: int) -> bytes:
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(os, "read", failing)

    assert UNREADABLE == protected._state("file", str(tmp_path))
