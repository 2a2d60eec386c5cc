"""``signoff sandbox``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from signoff.model import Isolation
from tests.cli.calling import call
from tests.sandbox.confined import lacks


def test_check_says_what_each_level_is() -> None:
    done = call("sandbox", "check")

    assert 0 == done.code
    assert ["L3", "L2", "L1"] == [line[:2] for line in done.out.splitlines() if line[0] == "L"]
    assert 1 == done.out.count("used")


def test_check_is_a_document_too() -> None:
    document = call("sandbox", "check", "--json").json

    assert ["L3", "L2", "L1"] == [one["level"] for one in document["levels"]]
    assert document["used"] == next(one["level"] for one in document["levels"] if one["available"])


@pytest.mark.parametrize("level", ["L1", "L2", "L3"])
def test_check_fails_where_a_level_is_lacking(level: Isolation) -> None:
    expected = 1 if lacks(level) else 0

    assert expected == call("sandbox", "check", "--min-isolation", level).code


def test_absent_bubblewrap_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signoff.sandbox.confinement.find_bubblewrap", lambda _: None)
    checked = call("sandbox", "check")
    run = call("sandbox", "run", "--min-isolation", "L3", "--", "true")

    if sys.platform == "linux":
        assert "lacks: bubblewrap is not installed" in checked.out
        assert "to get it: install it: apt install bubblewrap" in checked.out
        assert "isolation L3 is required" in run.err
        assert "apt install bubblewrap" in run.err
    assert 1 == run.code


def test_run_prints_what_the_command_prints_and_ends_as_it_ends() -> None:
    done = call("sandbox", "run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")

    assert (7, "out\n", "err\n") == done


def test_run_works_on_a_copy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("as it was")
    done = call(
        *("sandbox", "run", "--workspace", tmp_path),
        *("--", "sh", "-c", "cat file; echo x > file; cat file"),
    )

    assert (0, "as it wasx\n", "") == done
    assert "as it was" == (tmp_path / "file").read_text()


def test_options_of_the_command_are_its_own() -> None:
    assert "--json -h\n" == call("sandbox", "run", "--", "echo", "--json", "-h").out


def test_run_is_a_document_too() -> None:
    document = call("sandbox", "run", "--json", "--", "sh", "-c", "echo 1; kill -9 $$").json

    assert ("signaled", None, "SIGKILL") == (
        document["ended"],
        document["exit_code"],
        document["signal"],
    )
    assert ("1\n", 2) == (document["stdout"]["text"], document["stdout"]["size"])
    assert document["isolation"]


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["no-such-program"], "there is no program 'no-such-program'"),
        (["sh", "-c", "kill -9 $$"], "the command was ended by SIGKILL"),
        (["sleep", "60"], "the command was ended: its time was up"),
    ],
)
def test_what_did_not_end_by_itself_is_one_sentence(argv: list[str], told: str) -> None:
    done = call("sandbox", "run", "--timeout", "0.3", "--", *argv)

    assert (1, "", f"signoff: {told}\n") == done


@pytest.mark.parametrize(
    "argv",
    [
        ["run"],
        ["check", "--", "true"],
        ["run", "--workspace", "/no/such/folder", "--", "true"],
        ["run", "--timeout", "0", "--", "true"],
        ["run", "--timeout", "nan", "--", "true"],
        ["run", "--min-isolation", "L0", "--", "true"],
        ["walk"],
    ],
)
def test_slips_are_refused(argv: list[str]) -> None:
    done = call("sandbox", *argv)

    assert 2 == done.code
    assert done.err


def test_environment_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNOFF_TEST_SECRET", "9f1c")

    assert "9f1c" not in call("sandbox", "run", "--", "env").out
    assert os.environ["SIGNOFF_TEST_SECRET"]


def test_run_obeys_the_commands_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKEN_OF_TEST", "seen")
    (tmp_path / "signoff.toml").write_text('[commands]\npass_env = ["TOKEN_OF_TEST"]\n')
    shows = ("--", sys.executable, "-c", "import os; print(os.environ.get('TOKEN_OF_TEST'))")

    assert "seen\n" == call("sandbox", "run", *shows).out
    assert "None\n" == call("sandbox", "run", "--no-config", *shows).out


def test_configuration_that_the_work_could_have_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "signoff.toml").write_text('[commands]\npass_env = ["HOME"]\n')
    done = call("sandbox", "run", "--workspace", ".", "--", "true")

    assert 2 == done.code
    assert "lies in the workspace" in done.err
