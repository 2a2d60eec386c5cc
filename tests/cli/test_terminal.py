"""What a screen shows on which stream, and what it makes of a stream that ends."""

from __future__ import annotations

import errno
import sys
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest

from signoff import cli
from signoff.cli import progress, run
from signoff.cli.exits import Exit, Refusal
from signoff.cli.progress import Progress
from signoff.cli.terminal import Screen, Terminal
from tests.cli.calling import call

LOCK = "contract.lock.json"


class Window(StringIO):
    """A stream that a person looks at."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Ended(StringIO):
    """A stream that cannot be written."""

    def __init__(self, exc: Exception) -> None:
        super().__init__()
        self.exc = exc

    def write(self, _: str) -> int:
        raise self.exc


class Full(BytesIO):
    """A disk without room."""

    def write(self, _: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("env", "colours"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, True),
    ],
)
def test_colours_on_a_terminal(env: dict[str, str], *, colours: bool) -> None:
    assert colours is Screen(Window(), env).colours


@pytest.mark.parametrize(("force", "colours"), [("", False), ("0", False), ("1", True)])
def test_colours_in_a_pipe(force: str, *, colours: bool) -> None:
    assert colours is Screen(StringIO(), {"CLICOLOR_FORCE": force}).colours


def test_nothing_is_painted_where_there_are_no_colours_or_no_text() -> None:
    assert "x" == Screen(StringIO(), {}).paint("x", "bad")
    assert "" == Screen(Window(), {}).paint("", "bad")
    assert "\x1b[1;31mx\x1b[0m" == Screen(Window(), {}).paint("x", "bad")


def test_closed_stream_is_no_terminal_and_takes_anything() -> None:
    stream = StringIO()
    stream.close()
    for screen in (Screen(stream, {}), Screen(None, {})):
        screen.line("x")
        screen.json(b"{}")
        screen.flush()

        assert (False, False) == (screen.is_terminal, screen.colours)
        assert screen.is_lost


@pytest.mark.parametrize(
    "exc", [BrokenPipeError(), ValueError("closed"), OSError(errno.EPIPE, "Broken pipe")]
)
def test_reader_that_left_is_no_error(exc: Exception) -> None:
    screen = Screen(Ended(exc), {}, must_arrive=True)
    screen.line("x")

    assert screen.is_lost


def test_full_disk_is_an_error_where_the_answer_goes() -> None:
    exc = OSError(errno.ENOSPC, "No space left on device")
    Screen(Ended(exc), {}).line("a note may be lost")

    with pytest.raises(Refusal, match="no space left on device") as caught:
        Screen(Ended(exc), {}, must_arrive=True).line("x")
    assert Exit.UNWRITTEN is caught.value.code


@pytest.mark.parametrize("option", ["-q", "--json"])
def test_answer_that_does_not_arrive_is_code_4(folder: Path, option: str) -> None:
    err = StringIO()
    out = TextIOWrapper(Full(), encoding="utf-8", write_through=True)

    assert 4 == run(["verify", LOCK, "bad.json", option], None, out, err)
    assert err.getvalue().startswith("signoff: standard output: cannot be written")


def test_pass_that_does_not_arrive_is_not_left_behind(folder: Path) -> None:
    out = TextIOWrapper(Full(), encoding="utf-8")
    argv = ["verify", LOCK, "good.json", "--out", "run", "--junit", "j.xml"]

    assert 4 == run(argv, None, out, StringIO())
    assert not (folder / "run" / "verdict.json").exists()
    assert (folder / "run" / "output.json").exists()
    assert not (folder / "j.xml").exists()
    assert 1 == call("gate", "run", "--contract", LOCK).code


def test_refusal_that_does_not_arrive_is_code_4_too(folder: Path) -> None:
    out = TextIOWrapper(Full(), encoding="utf-8", write_through=True)

    assert 4 == run(["lock", "absent.json", "--json"], None, out, StringIO())


def test_progress_is_silent_where_nobody_looks() -> None:
    for stream, env in ((StringIO(), {}), (Window(), {"TERM": "dumb"})):
        with Progress(Screen(stream, env), "x"):
            pass
        assert "" == stream.getvalue()


def test_progress_is_silent_about_what_is_quick() -> None:
    window = Window()
    with Progress(Screen(window, {}), "x"):
        pass

    assert "" == window.getvalue()


def test_progress_tells_what_is_done_and_wipes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0)
    monkeypatch.setattr(progress, "TICK_S", 0.001)
    window = Window()
    with Progress(Screen(window, {"NO_COLOR": "1"}), "first\n") as telling:
        while "first\\u000a (0 s)" not in window.getvalue():
            pass
        telling.text = "second"
        while "second (0 s)" not in window.getvalue():
            pass

    assert window.getvalue().endswith("\r\x1b[K")


def test_standard_input_may_be_absent() -> None:
    assert Terminal(None, None, None, {}).stdin is None


def test_main_ends_the_process_with_the_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["signoff", "verify", LOCK, "bad.json"])
    with pytest.raises(SystemExit) as caught:
        cli.main()

    assert 1 == caught.value.code
    assert "fail  best-first" in capsys.readouterr().out


def test_main_answers_a_shell_that_completes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_SIGNOFF_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "signoff gate run --contract ")
    monkeypatch.setenv("COMP_CWORD", "4")
    with pytest.raises(SystemExit) as caught:
        cli.main()

    assert (0, "file,\n") == (caught.value.code, capsys.readouterr().out)


def test_second_interrupt_still_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run", interrupted)
    with pytest.raises(SystemExit) as caught:
        cli.main()

    assert 130 == caught.value.code


def test_interrupt_is_told_in_one_sentence(folder: Path) -> None:
    class Waiting:
        def read(self, size: int = -1) -> bytes:
            raise KeyboardInterrupt

    out, err = StringIO(), StringIO()
    assert 130 == run(["verify", LOCK, "-"], Waiting(), out, err)
    assert ("", "signoff: interrupted, so there is no verdict\n") == (
        out.getvalue(),
        err.getvalue(),
    )


def test_unexpected_exception_is_told_in_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd:
        def read(self, size: int = -1) -> bytes:
            raise LookupError("half\nway")

    for debug in ("", "1"):
        monkeypatch.setenv("SIGNOFF_DEBUG", debug)
        out, err = StringIO(), StringIO()
        assert 2 == run(["verify", LOCK, "-"], Odd(), out, err)
        assert "" == out.getvalue()
        assert "stopped by an unexpected LookupError (half\\u000away)\n" in err.getvalue()
        assert bool(debug) is ("Traceback" in err.getvalue())


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["\udcff\x1b[2J"], 2),
        (["lock", "contract.yaml", "-o", "\udcff.lock.json"], 0),
        (["lock", "contract.yaml", "-o", "\udcff.lock.json", "--check"], 1),
        (["init", "\udcff"], 0),
    ],
)
def test_name_that_is_no_text_is_told_in_a_document(
    folder: Path, argv: list[str], code: int
) -> None:
    called = call(*argv, "--json")

    assert (code, "") == (called.code, called.err)
    assert "\\udcff" in str(called.json)
