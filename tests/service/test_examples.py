"""The unit for systemd and the file for containers name what there is."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import click
import pytest

from signoff.cli.serve import command

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "service"
UNIT = FOLDER / "signoff.service"


def unit() -> RawConfigParser:
    parser = RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # names keep their case
    parser.read_string(UNIT.read_text("utf-8"))
    return parser


def containerfile(name: str) -> list[str]:
    """The last instruction of that name, which is an array."""
    text = (FOLDER / "Containerfile").read_text("utf-8")
    found = re.findall(rf"^{name} (\[.*\])$", text, re.MULTILINE)
    return [*map(str, json.loads(found[-1]))]


def parsed(arguments: list[str]) -> click.Context:
    """What the options come to; nothing is served."""
    assert "serve" == arguments[0]
    return command.make_context("serve", arguments[1:])


def test_unit_starts_what_there_is() -> None:
    program, *arguments = shlex.split(unit()["Service"]["ExecStart"])
    asked = parsed(arguments).params

    assert "/opt/signoff/bin/signoff" == program
    assert (asked["state_dir"], asked["listen"]) == ("/var/lib/signoff", "127.0.0.1:8787")


def test_unit_lets_it_finish() -> None:
    service = unit()["Service"]

    assert int(service["TimeoutStopSec"]) > 25
    assert "mixed" == service["KillMode"], "the parent tells its workers, and nobody else"


def test_unit_is_accepted_by_systemd(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / UNIT.name
    copy.write_text(
        UNIT.read_text("utf-8").replace("/opt/signoff/bin/signoff", "/bin/true"), "utf-8"
    )
    done = subprocess.run(
        [program, "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if UNIT.name in line]

    assert (0, []) == (done.returncode, said), done.stderr


def test_container_starts_what_there_is_and_asks_for_a_token() -> None:
    program, *arguments = [*containerfile("ENTRYPOINT"), *containerfile("CMD")]
    asked = parsed(arguments).params

    assert "/opt/signoff/bin/signoff" == program
    assert ("0.0.0.0:8787", "/run/secrets/tokens") == (asked["listen"], asked["token_file"])
    assert not asked["insecure"]
