"""The completion scripts load in their shells, and completing knows commands, options and ids."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.cli.streams import environment

CHECKS = {
    "bash": 'source "$1" && complete -p signoff',
    "zsh": 'autoload -Uz compinit && compinit -D && source "$1" && print $_comps[signoff]',
    "fish": "source $argv[1]; complete -c signoff",
}


@pytest.mark.parametrize("shell", CHECKS)
def test_script_loads(tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    called = call("completion", shell)
    (tmp_path / "script").write_text(called.out)
    argv = [program, "-c", CHECKS[shell], *([] if shell == "fish" else [shell])]
    done = subprocess.run(
        [*argv, str(tmp_path / "script")], capture_output=True, text=True, check=False
    )

    assert (0, 0, "") == (called.code, done.returncode, done.stderr)
    assert "_signoff_completion" in done.stdout


@pytest.mark.parametrize("shell", CHECKS)
def test_script_is_json_where_asked(shell: str) -> None:
    called = call("completion", shell, "--json")

    assert (shell, True) == (called.json["shell"], "_SIGNOFF_COMPLETE" in called.json["script"])


def test_other_shell_is_an_unusable_request() -> None:
    assert 2 == call("completion", "tcsh").code


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("signoff ver", {"plain,verify", "plain,verifiers"}),
        ("signoff verify --stri", {"plain,--strict"}),
        ("signoff verifiers sorted", {"plain,sorted_by"}),
        ("signoff init --format y", {"plain,yaml"}),
    ],
)
def test_words_are_completed(words: str, expected: set[str]) -> None:
    completing = {"_SIGNOFF_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "signoff"],
        env=environment(**completing),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert expected == {*done.stdout.split()}
