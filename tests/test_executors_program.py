"""Executors that are programs, in the real sandbox."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.wattswarm import jsonform
from signoff.errors import NotGiven
from signoff.executors import (
    ExecutorFailed,
    ExecutorOutputInvalid,
    ExecutorTimedOut,
    Form,
)
from signoff.executors.program import ProgramExecutor
from signoff.sandbox.command import Completed, Ended
from tests.leftovers import SLEEPER, gone, new_marker

LONG_S = 60.0
PYTHON = shlex.quote(sys.executable)


@contextmanager
def program(source: str, folder: Path, *arguments: str, **more: Any) -> Iterator[ProgramExecutor]:
    """A Python program in a file of its own."""
    (folder / "agent.py").write_text(source)
    made = ProgramExecutor(f"{PYTHON} agent.py {shlex.join(arguments)}", folder=folder, **more)
    try:
        made.prepare()
        yield made
    finally:
        made.close()


ECHO = "import json, sys\nprint(json.dumps({'output': json.load(sys.stdin)}))\n"


def test_request_stands_on_stdin_and_the_reply_is_what_is_printed(tmp_path: Path) -> None:
    with program(ECHO, tmp_path) as made:
        found = made.run({"b": [1, 2.5], "a": "é"}, LONG_S)

    assert {"b": [1, 2.5], "a": "é"} == found.output
    assert f"cmd:{Path(sys.executable).name}" == made.name


def test_request_is_written_in_the_form_that_was_handed_in(tmp_path: Path) -> None:
    source = "import json, sys\nprint(json.dumps({'output': sys.stdin.read()}))\n"
    form = Form(dumps=jsonform.canonical, loads=jsonform.loads)
    with program(source, tmp_path, form=form) as made:
        found = made.run({"b": 1e16, "a": 1.0}, LONG_S)

    assert '{"a":1.0,"b":1e+16}' == found.output


def test_no_shell_reads_the_line(tmp_path: Path) -> None:
    source = "import json, sys\nprint(json.dumps({'output': sys.argv[1:]}))\n"
    (tmp_path / "agent.py").write_text(source)
    made = ProgramExecutor(
        f"""{PYTHON} agent.py 'one two' $HOME "*" a\\;b > out '' `id`""", folder=tmp_path
    )
    found = made.run({}, LONG_S)
    made.close()

    assert ["one two", "$HOME", "*", "a;b", ">", "out", "", "`id`"] == found.output
    assert not (tmp_path / "out").exists()


def test_environment_is_cleared_but_for_what_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_KEY", "abc")
    monkeypatch.setenv("OTHER_SECRET", "hidden")
    source = "import json, os\nprint(json.dumps({'output': dict(os.environ)}))\n"
    with program(source, tmp_path, env=("AGENT_KEY",)) as made:
        found = made.run({}, LONG_S).output

    assert isinstance(found, dict)
    assert "abc" == found["AGENT_KEY"]
    assert "hidden" not in json.dumps(found)


def test_named_variable_without_a_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_KEY", raising=False)
    with pytest.raises(NotGiven, match="AGENT_KEY has no value"):
        ProgramExecutor("true", env=("AGENT_KEY",))


@pytest.mark.parametrize(
    ("source", "failure", "told"),
    [
        ("raise SystemExit(1)", ExecutorFailed, "exit code 1"),
        ("import os; os.kill(os.getpid(), 11)", ExecutorFailed, "SIGSEGV"),
        ("print('{\"output\": 1'); raise SystemExit(0)", ExecutorOutputInvalid, "no JSON"),
        ("print('garbage')", ExecutorOutputInvalid, "no JSON"),
        ("pass", ExecutorOutputInvalid, "nothing, expected JSON"),
        ("print('{}')", ExecutorOutputInvalid, "is missing at /output"),
        (
            'print(\'{"output": 1, "output": 2}\')',
            ExecutorOutputInvalid,
            "no JSON",
        ),
        ("print('x' * 2**21)", ExecutorOutputInvalid, "more than 1048576 bytes"),
        ("while True: print('x' * 2**16)", ExecutorOutputInvalid, "more than 1048576 bytes"),
    ],
)
def test_trouble_is_told_apart(
    source: str, failure: type[Exception], told: str, tmp_path: Path
) -> None:
    """Acceptance row 20: exits 1, prints garbage, prints 2 MiB."""
    with program(source, tmp_path) as made, pytest.raises(failure) as raised:
        made.run({}, LONG_S)

    assert told in str(raised.value)


def test_reply_of_one_mebibyte_is_read(tmp_path: Path) -> None:
    source = f"print('{{\"output\":\"' + 'x' * ({2**20} - 14) + '\"}}')\n"
    with program(source, tmp_path) as made:
        found = made.run({}, LONG_S).output

    assert isinstance(found, str)
    assert 2**20 - 14 == len(found)


def test_log_is_kept_up_to_its_limit(tmp_path: Path) -> None:
    source = "import sys\nprint('{\"output\": 1}')\nsys.stderr.write('said ' * 10**5)\n"
    with program(source, tmp_path) as made:
        found = made.run({}, LONG_S)

    assert found.log.startswith(b"said said")
    assert 2**16 == len(found.log)


def test_failure_brings_the_log(tmp_path: Path) -> None:
    with (
        program("raise RuntimeError('why')", tmp_path) as made,
        pytest.raises(ExecutorFailed) as failed,
    ):
        made.run({}, LONG_S)

    assert b"RuntimeError: why" in failed.value.log


HANGING = f"""
import subprocess, sys, time
argv = [sys.executable, "-c", {SLEEPER!r}, sys.argv[1]]
subprocess.Popen(argv)
subprocess.Popen(argv, start_new_session=True)
time.sleep(600)
"""


def test_late_program_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """Acceptance row 20: hangs, no process left."""
    marker = new_marker()
    with program(HANGING, tmp_path, marker) as made:
        with pytest.raises(ExecutorTimedOut, match="timed out after 3 s"):
            made.run({}, 3.0)

        assert gone(marker)


def test_program_that_is_not_there_is_found_out_beforehand(tmp_path: Path) -> None:
    made = ProgramExecutor("no-such-program", folder=tmp_path)
    with pytest.raises(ExecutorFailed, match="cmd:no-such-program is no program"):
        made.prepare()
    with pytest.raises(ExecutorFailed, match="not_found"):
        made.run({}, LONG_S)
    made.close()


def test_readable_path_that_is_not_there_is_found_out_beforehand(tmp_path: Path) -> None:
    made = ProgramExecutor("sh", readable=(str(tmp_path / "none"),))
    with pytest.raises(ExecutorFailed, match="which is not there"):
        made.prepare()


def test_readable_folders_may_be_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "word").write_text("sesame")
    source = f"import json\nprint(json.dumps({{'output': open({str(data / 'word')!r}).read()}}))\n"
    with program(source, tmp_path, readable=(str(data),)) as made:
        assert "sesame" == made.run({}, LONG_S).output


@pytest.mark.parametrize("line", ["", "  ", "''", "prog 'open"])
def test_lines_without_a_program_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match="a command must"):
        ProgramExecutor(line)


def test_example_adds_and_gives_its_evidence() -> None:
    folder = Path(__file__).resolve().parent.parent / "examples" / "wattswarm"
    made = ProgramExecutor(f"{PYTHON} agent.py", folder=folder)
    found = made.run({"inputs": {"prompt": "1, 2.50 and -0.25"}}, LONG_S)
    with pytest.raises(ExecutorFailed, match="exit code 1") as failed:
        made.run({"inputs": {"prompt": "nothing"}}, LONG_S)
    made.close()

    assert isinstance(found.output, dict)
    assert "3.25" == found.output["answer"]
    assert [b"number\n1\n2.50\n-0.25"] == [item.data for item in found.evidence]
    assert b"no numbers" in failed.value.log


@pytest.mark.parametrize(("elapsed_s", "failure"), [(3.3, ExecutorTimedOut), (2.9, ExecutorFailed)])
def test_program_that_could_not_be_killed_in_time_was_late_all_the_same(
    elapsed_s: float, failure: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Completed(ended=Ended.BROKEN, elapsed_s=elapsed_s, reason="cannot be killed")
    made = ProgramExecutor("sh")
    monkeypatch.setattr(made._sandbox, "run", lambda _: broken)
    with pytest.raises(failure):
        made.run({}, 3.0)
    made.close()
