"""Which level is used, and what is said where one is missing."""

from __future__ import annotations

import sys

import pytest

from signoff.model import Isolation
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Captured, Command, Completed, Ended
from signoff.sandbox.levels import Levels, Undecided, Way

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the levels are Linux's")

FINE = Completed(ended=Ended.EXITED, exit_code=0)


class Machine:
    """A machine on which some ways work; it keeps what was tried."""

    def __init__(
        self, *ways: tuple[Isolation, bool], stderr: bytes = b"", reason: str = ""
    ) -> None:
        self.ways = ways
        self.failed = Completed(
            ended=Ended.BROKEN, stderr=Captured(head=stderr, size=len(stderr)), reason=reason
        )
        self.tried = list[tuple[Isolation, bool]]()

    def __call__(self, command: Command, way: Way) -> Completed:
        self.tried.append((way.level, way.namespace))
        return FINE if self.tried[-1] in self.ways else self.failed


def test_highest_is_used_and_lower_ones_are_not_tried() -> None:
    machine = Machine(("L3", True), ("L2", False), ("L1", False))
    levels = Levels(machine, "/usr/bin/bwrap")

    assert Way(level="L3", namespace=True) == levels.highest()
    assert levels.highest() == levels.highest()
    assert [("L3", True)] == machine.tried


def test_bubblewrap_alone_will_do() -> None:
    levels = Levels(Machine(("L3", False)), "/usr/bin/bwrap")

    assert Way(level="L3", namespace=False) == levels.highest()


def test_lower_level_says_what_is_missing() -> None:
    levels = Levels(Machine(("L2", False), ("L1", False)), None)
    way = levels.highest()

    assert way is not None
    assert "L2" == way.level
    assert ("L3: bubblewrap is not installed: there is no program bwrap",) == way.missing
    assert "apt install bubblewrap" in levels.refusal("L3", "L2")


def test_named_level_is_used_or_none() -> None:
    levels = Levels(Machine(("L1", False)), "/usr/bin/bwrap")

    assert Way(level="L1") == levels.highest("L1")
    assert None is levels.highest("L2")


def test_nothing_works() -> None:
    assert None is Levels(Machine(), None).highest()


@pytest.mark.parametrize(
    ("said", "named", "remedy"),
    [
        (b"bwrap: No permissions to create new namespace\n", "No permissions", "seccomp"),
        (b"bwrap: Can't mount proc on /newroot/proc: x\n", "parts of /proc", "systempaths"),
    ],
)
def test_bubblewrap_is_quoted(said: bytes, named: str, remedy: str) -> None:
    report = Levels(Machine(stderr=said), "/usr/bin/bwrap").report("L3")

    assert not report.available
    assert named in report.missing[0]
    assert remedy in report.remedy


def test_absent_landlock_is_named() -> None:
    report = Levels(Machine(reason="landlock: Function not implemented"), None).report("L2")

    assert ("L2: landlock: Function not implemented",) == report.missing
    assert "Linux 5.13" in report.remedy


def test_failing_program_is_no_level() -> None:
    machine = Machine()
    machine.failed = Completed(ended=Ended.EXITED, exit_code=1)

    assert None is Levels(machine, "/usr/bin/bwrap").highest()


def test_switches_of_the_kernel_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signoff.sandbox.levels._holds", lambda file, _: "apparmor" in file)
    report = Levels(Machine(stderr=b"bwrap: x"), "/usr/bin/bwrap").report("L3")

    assert "AppArmor" in report.missing[0]
    assert "profile" in report.remedy


def test_survey_has_every_level() -> None:
    reports = Levels(Machine(("L1", False)), None).survey()

    assert [("L3", False), ("L2", False), ("L1", True)] == [
        (one.level, one.available) for one in reports
    ]


PASSING = [
    Completed(ended=Ended.CANCELLED),
    Completed(ended=Ended.TIMED_OUT),
    Completed(ended=Ended.SIGNALED, signal="SIGKILL"),
    Completed(ended=Ended.BROKEN, reason="its guardian was killed", passing=True),
    Completed(
        ended=Ended.BROKEN,
        stderr=Captured(head=b"bwrap: Creating new namespace failed: Cannot allocate memory\n"),
    ),
]


@pytest.mark.parametrize("tried", PASSING)
def test_attempt_that_was_disturbed_says_nothing_of_the_machine(tried: Completed) -> None:
    """The command is not run at a lower level because of it; the next one may find the level."""
    machine = Machine(("L2", False), ("L1", False))
    machine.failed = tried
    levels = Levels(machine, "/usr/bin/bwrap")

    with pytest.raises(Undecided) as found:
        levels.highest()

    assert tried.ended is Ended.CANCELLED or found.value.completed.ended is Ended.BROKEN
    assert not levels.report("L3").available

    machine.ways = (("L3", True),)

    assert Way(level="L3", namespace=True) == levels.highest()
    assert levels.report("L3").available


def test_attempt_that_broke_is_made_again_at_once() -> None:
    machine = Machine(("L3", True))
    broken = [PASSING[3]]
    levels = Levels(lambda *tried: broken.pop() if broken else machine(*tried), "/usr/bin/bwrap")

    assert Way(level="L3", namespace=True) == levels.highest()


def test_command_that_is_cancelled_while_the_level_is_found_out_is_not_run() -> None:
    with Sandbox(level="L1") as sandbox:
        levels = sandbox._levels()
        levels._attempt = lambda *_: PASSING[0]  # as if it came at that moment
        done = sandbox.run(Command(argv=("true",)))

    assert (Ended.CANCELLED, None) == (done.ended, done.isolation)
