"""What an operator says of commands holds, and costs nothing before there is one."""

from __future__ import annotations

from pathlib import Path
from threading import Thread, get_ident

import pytest

from signoff.command_settings import CommandSettings
from signoff.contract import lock
from signoff.engine import Engine
from signoff.model import Finding, Isolation, Subject
from signoff.probes import PROBES
from signoff.registry import Powers
from signoff.sandbox.command import Command, Ended
from signoff.status import Status
from signoff.verifiers import STDLIB

TRUE = Command(argv=("true",))


def test_command_runs_and_nothing_is_left(tmp_path: Path) -> None:
    with CommandSettings().sandbox() as sandbox:
        with sandbox.run(TRUE) as done:
            assert (Ended.EXITED, 0) == (done.ended, done.exit_code)
        scratch = Path(sandbox.scratch)
        assert scratch.is_dir()

    assert not scratch.exists()


def test_closed_sandbox_runs_nothing() -> None:
    sandbox = CommandSettings().sandbox()
    sandbox.close()
    sandbox.close()

    assert sandbox.run(TRUE).isolation is None


@pytest.mark.parametrize(
    ("configured", "asked", "lowest"),
    [("L1", None, "L1"), ("L1", "L3", "L3"), ("L2", "L1", "L2"), ("L3", None, "L3")],
)
def test_stricter_level_counts(
    configured: Isolation, asked: Isolation | None, lowest: Isolation
) -> None:
    sandbox = CommandSettings(min_isolation=configured).sandbox(min_isolation=asked)

    assert lowest == sandbox._min_isolation


def test_limits_are_the_operators() -> None:
    with CommandSettings(limits={"memory_bytes": 2**40, "output_bytes": 5}).sandbox() as sandbox:
        assert (2**40, 5) == (sandbox.limits.memory_bytes, sandbox.limits.output_bytes)


def test_level_can_be_required() -> None:
    with CommandSettings().sandbox() as sandbox, sandbox.requiring("L1").run(TRUE) as done:
        assert done.ended is Ended.EXITED


def test_cancelling_nothing_does_nothing() -> None:
    with CommandSettings().sandbox() as sandbox:
        sandbox.cancel(get_ident())
        sandbox.run(TRUE).close()
        sandbox.cancel(get_ident())


def test_command_is_cancelled_by_its_thread() -> None:
    ended = list[Ended]()

    def run() -> None:
        with sandbox.run(Command(argv=("sleep", "60"))) as done:
            ended.append(done.ended)

    with CommandSettings().sandbox() as sandbox:
        sandbox.run(TRUE).close()  # what the machine gives is found out with the first one
        thread = Thread(target=run)
        thread.start()
        while thread.is_alive():
            assert thread.ident is not None
            sandbox.cancel(thread.ident)
            thread.join(0.01)

    assert [Ended.CANCELLED] == ended


def found(settings: CommandSettings, folder: Path, *argv: str) -> Finding:
    params = {"argv": list(argv), "stdout": [{"verifier": "not_empty"}]}
    contract = {"id": "c", "criteria": [{"id": "it", "verifier": "command", "params": params}]}
    with settings.sandbox() as sandbox:
        powers = Powers(sandbox=sandbox, workspace=folder)
        engine = Engine((STDLIB | PROBES).with_powers(powers))
        return engine.verify(lock(contract, engine.registry), Subject()).results[0].finding


def test_more_than_is_usually_kept_can_be_judged(tmp_path: Path) -> None:
    long = ("head", "-c", "5000000", "/dev/zero")
    settings = CommandSettings(limits={"processes": 100})

    assert Status.PASS is found(settings, tmp_path, *long).status


def test_operators_limit_is_the_one_that_is_told(tmp_path: Path) -> None:
    settings = CommandSettings(limits={"output_bytes": 2**20})

    assert "killed: output over 1 MiB" == found(settings, tmp_path, "yes").detail
