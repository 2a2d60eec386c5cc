"""Whatever ends a run, what is left is a FAIL or nothing, and the next run is as good as new."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.scc.verdict import FailClass
from signoff.ledger import open_ledger
from signoff.scc.reader import read_verdict
from signoff.scc.run import LockHeld, RunRefused
from signoff.scc.written import LEDGER_FILE
from tests.scc import killed_runs
from tests.scc.run_world import AREA, World, check

STEPS = (
    "remove", "contract", "work", "view", "check 1", "phase4", "oids", "stage", "guard", "seal",
    "publish", "announce", "place run", "place mirror", "place report", "verdict run",
    "verdict mirror", "pointer", "verdict pointer", "gate report", "events", "ledger", "done",
)  # fmt: skip
UNTIL_PUBLISHED = STEPS[: STEPS.index("publish")]
FAILING = check(code="raise SystemExit(1)")


@pytest.fixture
def passed(repo: World) -> World:
    """A workspace with a PASS, whose next run would be a FAIL."""
    repo.agree(check())
    assert "PASS" == repo.run().verdict
    repo.agree(FAILING)
    return repo


def told(root: Path, how: str, number: int) -> tuple[int, dict[str, Any]]:
    """How a run ended in a process of its own, and what that said."""
    done = subprocess.run(
        [sys.executable, killed_runs.__file__, root, how, str(number)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else {"stderr": done.stderr}


def test_steps_are_those_that_are_tested(passed: World) -> None:
    passed.steps.clear()
    passed.run()

    assert [*STEPS] == [step for step in passed.steps if step != "supersede"]


@pytest.mark.parametrize("step", STEPS)
def test_row_5_exception_at_any_step(passed: World, step: str) -> None:
    def fail(name: str) -> None:
        if name == step:
            raise RuntimeError("a fault")

    if step == "done":
        assert "FAIL" == passed.run().verdict
        return
    if step in UNTIL_PUBLISHED:
        ended = passed.run(on_step=fail)
        assert ("verifier_error", 125) == (ended.fail_class, ended.exit_code)
        assert "a fault" in ended.reason
    else:
        with pytest.raises(RuntimeError):
            passed.run(on_step=fail)
    assert not passed.passes()
    assert_good_as_new(passed)


@pytest.mark.parametrize("step", UNTIL_PUBLISHED)
def test_row_5_interrupt_is_a_fail(passed: World, step: str) -> None:
    pending = [step]

    def interrupt(name: str) -> None:
        if pending == [name]:
            pending.clear()
            raise KeyboardInterrupt

    ended = passed.run(on_step=interrupt)

    assert ("verifier_error", 125, 1) == (ended.fail_class, ended.exit_code, ended.code)
    assert "verifier_error" == passed.verdict()["fail_class"]
    assert_good_as_new(passed)


@pytest.mark.parametrize("number", range(1, len(STEPS) + 1))
def test_row_5_kill_at_every_step(passed: World, number: int) -> None:
    code, _ = told(passed.root, "step", number)

    assert -signal.SIGKILL == code
    if STEPS[number - 1] != "remove":
        assert not passed.passes()
    assert_good_as_new(passed)


@pytest.mark.parametrize("number", range(STEPS.index("guard") + 1, len(STEPS) + 1))
def test_kill_while_a_pass_is_published_leaves_a_whole_pass_or_none(
    repo: World, number: int
) -> None:
    repo.agree(check())
    told(repo.root, "step", number)

    mirror = read_verdict(repo.artifacts() / "verdict.json")
    assert mirror.passed is (number > STEPS.index("pointer") - 0)
    assert_good_as_new(repo)


@pytest.mark.long
def test_row_5_kill_at_calls_that_change_the_disk(passed: World, tmp_path: Path) -> None:
    shutil.copytree(passed.root, tmp_path / "counted", symlinks=True)
    count = told(tmp_path / "counted", "call", 0)[1]["count"]
    chosen = sorted(random.Random(5).sample(range(1, count + 1), min(40, count)))
    for number in chosen:
        root = tmp_path / f"killed-{number}"
        shutil.copytree(passed.root, root, symlinks=True)
        one = World(root, passed.sandbox)
        assert -signal.SIGKILL == told(root, "call", number)[0]
        if number > chosen[0] and one.verdict() is not None:
            assert one.verdict()["verdict"] == "FAIL" or number < count // 4
        assert_good_as_new(one)
        shutil.rmtree(root)


@pytest.mark.long
def test_row_5_kill_at_random_moments(passed: World, tmp_path: Path) -> None:
    chance = random.Random(7)
    for number in range(25):
        root = tmp_path / f"moment-{number}"
        shutil.copytree(passed.root, root, symlinks=True)
        one = World(root, passed.sandbox)
        running = subprocess.Popen(
            [sys.executable, killed_runs.__file__, root, "whole", "0"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(0.2, 1.6))  # the moment is what is tested
        running.kill()
        running.wait()
        assert_good_as_new(one)
        shutil.rmtree(root)


@pytest.mark.parametrize("size", [0, 300, 1_500, 5_000, 20_000, 60_000])
def test_row_5_full_disk(passed: World, size: int) -> None:
    told(passed.root, "size", size)

    assert not passed.passes()
    assert_good_as_new(passed)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("call", ["replace", "fsync", "mkdir"])
def test_row_5_disk_that_fails_from_some_moment_on(
    passed: World, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    state = {"fails": False}
    original: Callable[..., Any] = getattr(os, call)

    def failing(*args: Any, **more: Any) -> Any:
        if state["fails"]:
            raise OSError(number, os.strerror(number))
        return original(*args, **more)

    monkeypatch.setattr(os, call, failing)
    for step in ("view", "oids", "announce", "verdict mirror"):
        state["fails"] = False

        def begin(name: str, at: str = step) -> None:
            state["fails"] = state["fails"] or name == at

        with suppress(OSError):
            passed.run(on_step=begin)
        assert not passed.passes()
    monkeypatch.undo()
    assert_good_as_new(passed)


def test_row_5_read_only_folder_of_reports(passed: World) -> None:
    locked(passed, "docs/REPORT")
    try:
        with pytest.raises(OSError, match="ermi"):
            passed.run()
        assert not passed.passes()
    finally:
        unlocked(passed, "docs/REPORT")
    assert_good_as_new(passed)


def test_row_7_old_verdict_that_cannot_go_is_emptied_or_told(passed: World) -> None:
    locked(passed, "docs/REPORT")
    try:
        with pytest.raises(OSError, match="ermi"):
            passed.run()
    finally:
        unlocked(passed, "docs/REPORT")
    read = read_verdict(passed.artifacts() / "verdict.json")

    assert not read.passed


@pytest.mark.parametrize("step", STEPS[STEPS.index("verdict mirror") : -1])
def test_row_7_pass_that_cannot_be_wholly_published_is_withdrawn(repo: World, step: str) -> None:
    def fail(name: str) -> None:
        if name == step:
            raise OSError(errno.ENOSPC, "no space left on device")

    repo.agree(check())
    with pytest.raises(OSError, match="no space"):
        repo.run(on_step=fail)

    assert [] == repo.passes()
    assert [] == [*repo.root.glob("artifacts/scc_runs/*/evidence/verdict.json")]
    assert_good_as_new(repo)


def locked(world: World, path: str) -> None:
    """Nothing below a folder may be made or removed, not even by root; its files can be written."""
    for place in folders(world, path):
        if not changed(place, "+i"):
            unlocked(world, path)
            if os.geteuid() == 0:
                pytest.skip("folders cannot be made immutable here, and root may write all others")
            place.chmod(0o555)


def unlocked(world: World, path: str) -> None:
    for place in folders(world, path):
        changed(place, "-i")
        place.chmod(0o755)


def folders(world: World, path: str) -> list[Path]:
    places = [world.root / path, *(world.root / path).rglob("*")]
    return [place for place in places if place.is_dir()]


def changed(place: Path, how: str) -> bool:
    """The attribute of a folder was set."""
    done = subprocess.run(["chattr", how, place], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("text", ["", "{", '{"task_id": "T1", "task_id": "T2"}', "\ufeff{}", "[]"])
def test_row_6_contract_that_cannot_be_read(passed: World, text: str) -> None:
    passed.write("c.json", text)
    ended = passed.run(task_code="T1")

    assert ("verifier_error", 2, 2) == (ended.fail_class, ended.exit_code, ended.code)
    assert "FAIL" == passed.verdict()["verdict"]
    assert not passed.passes()


def test_row_6_absent_contract_fails_every_verdict_that_was_under_it(repo: World) -> None:
    repo.agree(check())
    repo.run(task_code="A")
    repo.run(task_code="B")
    (repo.root / "c.json").unlink()
    ended = repo.run(task_code="B")

    assert 2 == ended.code
    assert not repo.passes()
    assert ("FAIL", "FAIL", None) == (
        repo.verdict("B")["verdict"],
        repo.verdict("T1")["verdict"],
        repo.verdict("A"),
    )


def test_row_6_contract_without_a_name_goes_by_what_the_ledger_knows(passed: World) -> None:
    passed.write("c.json", "{")
    ended = passed.run()

    assert ("T1", 2) == (ended.task_code, ended.code)
    with pytest.raises(RunRefused):
        passed.run("never.json")


@pytest.mark.parametrize(
    "given",
    [
        check(code="import time; time.sleep(60)", timeout_s=1),
        {"name": "one", "command": "sudo true"},
        check(code="import os; os.abort()"),
    ],
    ids=["timeout", "denied", "crash"],
)
def test_row_6_old_pass_and_a_run_that_fails(passed: World, given: dict[str, Any]) -> None:
    passed.agree(given)
    passed.run()

    assert "FAIL" == passed.verdict()["verdict"]
    assert not passed.passes()


def test_row_8_second_run_of_a_task_code_is_refused_and_writes_nothing(repo: World) -> None:
    repo.agree(check())
    refused: list[Exception] = []

    def meanwhile(step: str) -> None:
        if step == "check 1":
            for name in (None, "other"):  # the TaskCode, and another one of the task
                before = sorted(map(str, repo.root.rglob("*")))
                try:
                    repo.run(task_code=name)
                except LockHeld as exc:
                    refused.append(exc)
                now = sorted(map(str, repo.root.rglob("*")))
                assert before == [path for path in now if not path.endswith(".lock")] or {
                    path for path in now if path not in before
                } <= {path for path in now if path.endswith(".lock")}

    assert "PASS" == repo.run(on_step=meanwhile).verdict
    assert 2 == len(refused)
    assert "PASS" == repo.verdict()["verdict"]


def test_row_8_runs_of_two_task_codes_do_not_disturb_each_other(repo: World) -> None:
    for name in "AB":
        code = f"import time; time.sleep(0.3); open('out.txt', 'w').write('{name}')"
        one = check(code=code, expects={"evidence_paths": ["out.txt"]})
        repo.agree(one, path=f"{name}.json", task_id=name)
    ended: dict[str, Any] = {}

    def go(name: str) -> None:
        ended[name] = World(repo.root, repo.sandbox).run(f"{name}.json")

    threads = [threading.Thread(target=go, args=(name,)) for name in "AB"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for name in "AB":
        assert "PASS" == ended[name].verdict == repo.verdict(name)["verdict"], ended[name].reason
        assert name == (repo.artifacts(name) / "collected/001/out.txt").read_text()
        assert read_verdict(repo.artifacts(name) / "verdict.json").passed


def test_lock_of_a_killed_run_is_free(passed: World) -> None:
    told(passed.root, "step", STEPS.index("check 1") + 1)

    assert "FAIL" == passed.run().verdict


def test_ledger_that_cannot_be_used_leaves_no_pass(passed: World) -> None:
    (passed.root / LEDGER_FILE).write_bytes(b"no database" * 1_000)

    with pytest.raises(Exception, match="ledger"):
        passed.run()
    assert not passed.passes()


def test_registry_that_cannot_be_used_is_a_fail(passed: World) -> None:
    (passed.root / ".signoff/oids.sqlite3").write_bytes(b"no database" * 1_000)
    ended = passed.run()

    assert ("verifier_error", 125) == (ended.fail_class, ended.exit_code)
    assert "FAIL" == passed.verdict()["verdict"]
    assert not passed.passes()


def assert_good_as_new(world: World) -> None:
    """The next run comes to PASS, and nothing that an earlier one has left is held against it."""
    world.agree(check())
    ended = world.run()
    assert "PASS" == ended.verdict, ended.reason
    assert read_verdict(world.artifacts() / "verdict.json").passed
    assert [] == [*world.root.rglob(".unfinished-*")]
    assert [] == [*(world.root / ".signoff/staging").iterdir()]
    with open_ledger(world.root / LEDGER_FILE, clock=lambda: datetime.now(UTC)) as ledger:
        assert () == ledger.verify().faults


def test_signal_ends_a_run_as_a_fail(passed: World) -> None:
    passed.agree(check(code="import time; time.sleep(60)"))
    ready = passed.root.parent / "ready"
    for number in (signal.SIGTERM, signal.SIGINT):
        running = subprocess.Popen(
            [sys.executable, "-m", "signoff", "scc", "run", "--contract", "c.json"],
            cwd=passed.root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        await_check(passed, running)
        running.send_signal(number)
        out, _ = running.communicate(timeout=60)

        assert 1 == running.returncode
        assert {"verdict": "FAIL", "fail_class": "verifier_error", "exit_code": 125} == {
            name: json.loads(out.splitlines()[-1])[name]
            for name in ("verdict", "fail_class", "exit_code")
        }
        assert FailClass.VERIFIER_ERROR.value == passed.verdict()["fail_class"]
    assert not ready.exists()


def await_check(world: World, running: subprocess.Popen[str]) -> None:
    """Until the check of a run has begun: until then its verdict is removed."""
    staging = world.root / ".signoff/staging"
    until = time.monotonic() + 30
    while time.monotonic() < until and running.poll() is None:
        if staging.is_dir() and any(staging.iterdir()):
            time.sleep(0.5)  # from staging to the check
            return
        time.sleep(0.01)
    pytest.fail("the run did not begin")


def test_area_is_that_of_the_settings(repo: World) -> None:
    repo.settle('area = "platform"')
    repo.agree(check())
    repo.run()

    assert "PASS" == repo.verdict(area="platform")["verdict"]
    assert AREA == repo.run(area=AREA).artifacts_dir.split("/")[2]
