"""The table of commands is true, help costs little, and nonsense is answered in one sentence."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

import pytest

import signoff.cli
from signoff._version import __version__
from signoff.cli.commands import COMMANDS, Command
from tests.cli.calling import call

FOLDER = Path(signoff.cli.__file__).parent
EACH = pytest.mark.parametrize("name", COMMANDS)


def test_every_command_stands_in_the_table() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py") if "\n@click.command(" in path.read_text()}

    assert modules == {*COMMANDS}


@EACH
def test_table_says_what_the_command_says(name: str) -> None:
    command = import_module(f"signoff.cli.{name}").command

    assert isinstance(command, Command)
    assert name == command.name
    assert COMMANDS[name] == cleandoc(command.help or "").split("\n\n")[0]


@EACH
def test_help_shows_examples_and_options(name: str) -> None:
    called = call(name, "--help")

    assert (0, "") == (called.code, called.err)
    assert called.out.startswith(f"Usage: signoff {name} ")
    assert f"Examples:\n    signoff {name}" in called.out or f"| signoff {name}" in called.out
    assert "--json" in called.out
    assert max(map(len, called.out.splitlines())) <= 88


def test_help_lists_every_command() -> None:
    called = call("--help")

    assert 0 == called.code
    assert all(f"  {name} " in called.out and text in called.out for name, text in COMMANDS.items())


def test_help_imports_no_command_and_nothing_heavy() -> None:
    code = (
        "import sys; from signoff.cli import run\n"
        "assert 0 == run(['--help'], None, sys.stdout, sys.stderr)\n"
        "print([name for name in sys.modules if name.startswith('signoff') or name in "
        "('msgspec', 'dataclasses', 'difflib', 'asyncio', 'importlib.metadata')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = [
        "signoff",
        "signoff._version",
        "signoff.cli",
        "signoff.cli.commands",
        "signoff.cli.exits",
        "signoff.cli.suggestion",
        "signoff.cli.terminal",
    ]

    assert expected == sorted(eval(done.stderr))


def test_verify_imports_only_what_it_needs(folder: Path) -> None:
    code = (
        "import sys; from signoff.cli import run\n"
        "assert 0 == run(['verify', 'contract.lock.json', 'good.json'], None, sys.stdout, sys.stderr)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unwanted = {
        "asyncio",
        "ctypes",
        "dataclasses",
        "difflib",
        "importlib.metadata",
        "json",
        "jsonschema_rs",
        "re2",
        "rich",
        "ruamel.yaml",
        "signoff.cli.junit",
        "signoff.cli.lock",
        "signoff.cli.outfile",
        "signoff.exactjson",
        "signoff.rundir",
        "traceback",
        "xml",
    }

    assert set() == unwanted & {*done.stderr.split()}


def test_version_is_the_package_s() -> None:
    assert (0, f"signoff {__version__}\n", "") == call("--version")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["verfy", "a", "b"], 'signoff: no command "verfy"; did you mean "verify"?'),
        (["\x1b[31mred"], 'signoff: no command "\\u001b[31mred"'),
        (["--nonsense"], "signoff: no such option"),
        (["verify"], "signoff: missing argument 'CONTRACT'"),
        (["sandbox"], "signoff: missing argument 'check|run'. Choose from: check, run\n"),
        (["verify", "a", "b", "--strct"], "--strict"),
        (
            ["verify", "a", "b", "--out", ""],
            "signoff: invalid value for '--out': the name is empty",
        ),
        (["verify", "a", "b", "--max-depth", "129"], "129 is not in the range"),
        (["verify", "a", "b", "--duplicate-keys", "first"], "'first' is not"),
        (["gate", "run"], "signoff: missing option '--contract'"),
        (["verifiers", "sortedby"], 'signoff: no verifier "sortedby"; did you mean "sorted_by"?'),
    ],
)
def test_nonsense_is_one_sentence_and_a_next_step(argv: list[str], says: str) -> None:
    called = call(*argv)

    assert (2, "") == (called.code, called.out)
    assert says in called.err
    assert ["signoff:", "next:"] == [line.split(" ")[0] for line in called.err.splitlines()]


def test_no_command_shows_the_help_and_is_no_success() -> None:
    called = call()

    assert (2, "") == (called.code, called.out)
    assert "Commands:" in called.err


def test_nonsense_is_json_where_json_was_asked_for() -> None:
    called = call("verify", "--json")

    assert (2, "") == (called.code, called.err)
    assert {
        "kind": "unusable_request",
        "exit_code": 2,
        "message": "missing argument 'CONTRACT'",
        "next_step": "signoff verify --help shows what can be asked",
        "source": None,
        "faults": [],
    } == called.json["error"]
