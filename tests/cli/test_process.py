"""The real process: entry point, terminal, pipes that break, streams that are closed, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.calling import GOOD, wrote
from tests.cli.streams import ENTRY, environment, on_terminal

LOCK = "contract.lock.json"


def started(*argv: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    """The finished process."""
    options: dict[str, object] = {"capture_output": True, "env": environment(), "timeout": 60}
    return subprocess.run([*ENTRY, *argv], check=False, **(options | more))  # type: ignore[call-overload,no-any-return]  # options by name


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    """A shell command, with ``signoff`` for the entry point."""
    text = command.replace("signoff ", f"{sys.executable} -m signoff ")
    return subprocess.run(["bash", "-c", text], capture_output=True, env=environment(), check=False)


def test_entry_point_prints_and_exits(folder: Path) -> None:
    done = started("verify", LOCK, "bad.json", "--json")

    assert (1, b"") == (done.returncode, done.stderr)
    assert b'"outcome": "failed"' in done.stdout


def test_variable_for_completion_judges_nothing_away(folder: Path) -> None:
    for instruction in ("bash_source", "bash_complete"):
        shown = started(
            "verify", "absent.json", "absent.json",
            env=environment(_SIGNOFF_COMPLETE=instruction),
        )  # fmt: skip

        assert 2 == shown.returncode
        assert b"no such file" in shown.stderr


def test_pipe_has_no_colours(folder: Path) -> None:
    done = started("verify", LOCK, "bad.json")

    assert b"\x1b" not in done.stdout + done.stderr
    assert b"fail  best-first" in done.stdout


def test_terminal_has_colours_and_symbols(folder: Path) -> None:
    seen = on_terminal("verify", LOCK, "bad.json")

    assert "\x1b[32m✓\x1b[0m enough      length=2, min=2, max=3\n" in seen
    assert "\x1b[1;31m✗\x1b[0m best-first  Order violation at index 1\n" in seen
    assert "\x1b[1;31mfailed\x1b[0m: 1 of 2 required criteria not met: best-first\n" in seen


@pytest.mark.parametrize(
    ("env", "colours", "symbols"),
    [
        ({"NO_COLOR": "1"}, False, True),
        ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False, True),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, False, True),
        ({"PYTHONIOENCODING": "ascii"}, True, False),
        ({"PYTHONIOENCODING": "latin-1"}, True, False),
    ],
)
def test_terminal_is_respected(
    folder: Path, env: dict[str, str], *, colours: bool, symbols: bool
) -> None:
    seen = on_terminal("verify", LOCK, "good.json", env=environment(**env))

    assert colours is ("\x1b[32m" in seen)
    assert symbols is ("✓" in seen)
    assert symbols is not ("pass" in seen.partition("passed")[0])


def test_colours_can_be_forced_into_a_pipe(folder: Path) -> None:
    done = started("verify", LOCK, "good.json", env=environment(CLICOLOR_FORCE="1"))

    assert "\x1b[32m✓\x1b[0m enough" in done.stdout.decode()


def test_text_that_the_encoding_has_not_is_escaped(folder: Path) -> None:
    wrote(folder, "é.json", '["ü"]')
    done = started("verify", LOCK, "é.json", env=environment(PYTHONIOENCODING="ascii"))

    assert 1 == done.returncode
    assert b'got       ["\\xfc"]' in done.stdout


def test_progress_is_shown_on_a_terminal_once_it_takes_long(folder: Path) -> None:
    seen = on_terminal("verify", LOCK, "-", until="(1 s)")

    assert "reading standard input (1 s)" in seen


def test_no_progress_for_what_is_quick(folder: Path) -> None:
    assert "judging" not in on_terminal("verify", LOCK, "good.json")


def test_standard_input_comes_from_a_pipe(folder: Path) -> None:
    done = shell(f"cat good.json | signoff verify {LOCK} -")

    assert (0, b"") == (done.returncode, done.stderr)


def test_reader_that_leaves_is_no_error(folder: Path) -> None:
    done = shell(f"signoff verify {LOCK} bad.json | true; echo ${{PIPESTATUS[0]}}")
    long = shell("signoff verifiers --json | head -c 1; echo; echo ${PIPESTATUS[0]}")

    assert (b"1\n", b"") == (done.stdout, done.stderr)
    assert (b"{\n0\n", b"") == (long.stdout, long.stderr)


@pytest.mark.parametrize(
    ("closed", "code"), [(">&-", 0), ("2>&-", 0), ("<&-", 0), (">&- 2>&- <&-", 0)]
)
def test_closed_streams_do_no_harm(folder: Path, closed: str, code: int) -> None:
    done = shell(f"signoff verify {LOCK} good.json --out run {closed}")
    gate = shell(f"signoff gate run --contract {LOCK} {closed}")

    assert (code, code) == (done.returncode, gate.returncode)
    assert GOOD == (folder / "run" / "output.json").read_bytes()


def test_closed_streams_lend_their_numbers_to_no_file(folder: Path) -> None:
    program = (
        "import os, stat, signoff.cli.choosing as c\n"
        "def look(): os._exit(not all(stat.S_ISCHR(os.fstat(n).st_mode) for n in range(3)))\n"
        "c.own_registry = look\n"
        "from signoff.cli import main; main()"
    )
    wrote(folder, "program.py", program)
    done = shell(f"{sys.executable} program.py verify {LOCK} good.json --out run <&- >&- 2>&-")

    assert 0 == done.returncode


def test_closed_standard_input_is_an_unusable_request(folder: Path) -> None:
    done = shell(f"signoff verify {LOCK} - <&-")

    assert (2, b"") == (done.returncode, done.stdout)
    assert done.stderr.startswith(b"signoff: standard input: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("option", ["", "--json"])
def test_full_disk_below_standard_output_is_code_4(folder: Path, option: str) -> None:
    done = shell(f"signoff verify {LOCK} good.json {option} > /dev/full")

    assert 4 == done.returncode
    assert done.stderr.startswith(b"signoff: standard output: cannot be written (no space left")
    assert b"Traceback" not in done.stderr


def test_interrupt_leaves_no_verdict(folder: Path) -> None:
    assert 0 == started("verify", LOCK, "good.json", "--out", "run", "--junit", "j.xml").returncode
    with subprocess.Popen(
        [*ENTRY, "verify", LOCK, "-", "--out", "run", "--junit", "j.xml"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        # The old verdict is gone before the output is read, so this is when it waits for it.
        while (folder / "run" / "verdict.json").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()

    assert (130, b"") == (process.returncode, out)
    assert b"signoff: interrupted, so there is no verdict\n" == err
    assert not (folder / "run" / "verdict.json").exists()
    assert not (folder / "j.xml").exists()
    assert 1 == started("gate", "run", "--contract", LOCK).returncode


# The superuser may read and write everything, so the child becomes somebody else; what
# it will import is imported before, because that user may not read the interpreter.
AS_NOBODY = """
import os, sys
from signoff.cli import run
lock = "contract.lock.json"
assert 0 == run(["verify", lock, "good.json", "--out", "warm", "--junit", "warm.xml"], None, None, None)
assert 2 == run(["verify", lock, "absent.json"], None, None, None)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(run(sys.argv[1:], None, sys.stdout, sys.stderr))
"""


def as_nobody(*argv: str) -> subprocess.CompletedProcess[bytes]:
    """The finished process of a user without rights."""
    program = [sys.executable, "-c", AS_NOBODY, *argv]
    return subprocess.run(program, capture_output=True, env=environment(), check=False)


@pytest.mark.parametrize("place", [1, 2, 4])
def test_file_that_may_not_be_read_is_an_unusable_request(folder: Path, place: int) -> None:
    folder.chmod(0o755)
    wrote(folder, "secret.json", GOOD).chmod(0)
    argv = ["verify", LOCK, "good.json", "--facts", "facts.json"]
    argv[place] = "secret.json"
    wrote(folder, "facts.json", "{}")
    done = as_nobody(*argv)

    assert (2, b"") == (done.returncode, done.stdout)
    assert b"signoff: secret.json: permission denied\nnext: let this user read it\n" == done.stderr


@pytest.mark.parametrize("option", ["--out", "--junit"])
def test_folder_that_may_not_be_written_is_code_4(folder: Path, option: str) -> None:
    (folder / "closed").mkdir(mode=0o755)
    folder.chmod(0o755)
    done = as_nobody("verify", LOCK, "good.json", option, "closed/it")

    assert (4, b"") == (done.returncode, done.stdout)
    assert b"permission denied" in done.stderr
    assert [] == [*(folder / "closed").iterdir()]


def test_unexpected_exception_is_one_sentence(folder: Path) -> None:
    program = (
        "import sys, signoff.cli.choosing as c\n"
        "def broken(*_, **__): raise LookupError('half\\nway')\n"
        "c.own_registry = broken\n"
        "from signoff.cli import main; main()"
    )
    argv = [sys.executable, "-c", program, "verify", LOCK, "good.json"]
    plain = subprocess.run(argv, capture_output=True, env=environment(), check=False)
    debug = subprocess.run(
        argv, capture_output=True, env=environment(SIGNOFF_DEBUG="1"), check=False
    )

    assert (2, b"") == (plain.returncode, plain.stdout)
    assert plain.stderr.startswith(
        b"signoff: stopped by an unexpected LookupError (half\\u000away)"
    )
    assert (2, True) == (debug.returncode, b"Traceback (most recent call last)" in debug.stderr)


def test_module_of_the_current_folder_is_not_taken_for_an_installed_one(folder: Path) -> None:
    for name in ("click", "msgspec"):
        wrote(folder, f"{name}.py", "raise SystemExit(0)")
    path = [str(Path(one).resolve()) for one in os.environ.get("PYTHONPATH", "").split(":") if one]
    done = subprocess.run(
        [sys.executable, "-m", "signoff", "verify", "contract.lock.json", "bad.json", "-q"],
        cwd=folder,
        env=environment(PYTHONPATH=":".join(path)),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (1, "", True) == (done.returncode, done.stderr, "best-first" in done.stdout)
