"""What a command finds inside, and what comes out, at each level."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from signoff.model import Isolation
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Ended, Limits
from signoff.sandbox.levels import Way
from tests.sandbox.confined import (
    CONFINING,
    LEVELS,
    PATIENCE,
    content,
    is_root,
    need,
    python,
    ran,
    said,
    sandbox,
    workspace,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the levels are Linux's")
leveled = pytest.mark.parametrize("level", LEVELS)
confining = pytest.mark.parametrize("level", CONFINING)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace."""
    return workspace(tmp_path)


# -- the workspace --


@leveled
def test_workspace_is_left_as_the_command_made_it(level: Isolation, work: Path) -> None:
    program = "rm file; echo new > made; mv inner/deep inner/moved; mkdir -p a/b; echo b > a/b/c"
    with ran(level, "sh", "-c", program, workspace=str(work)) as done:
        assert (Ended.EXITED, 0) == (done.ended, done.exit_code), said(done)
        assert done.workspace is not None
        left = content(Path(done.workspace))

    assert {"made": "new\n", "inner/moved": "deep", "a/b/c": "b\n"} == left
    assert {"file": "as it was", "inner/deep": "deep"} == content(work)


@leveled
def test_folders_are_replaced(level: Isolation, work: Path) -> None:
    program = "rm -r inner && mkdir inner && echo 1 > inner/other"
    with ran(level, "sh", "-c", program, workspace=str(work)) as done:
        assert 0 == done.exit_code, said(done)
        assert done.workspace
        assert {"file": "as it was", "inner/other": "1\n"} == content(Path(done.workspace))


def test_workspace_stands_at_its_own_path_at_the_highest_level(work: Path) -> None:
    assert f"{work}\n" == python("L3", "import os; print(os.getcwd())", workspace=str(work))


def test_workspace_is_found_through_a_link_too(work: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(work)
    program = f"print(open({str(link)!r} + '/file').read(), open({str(work)!r} + '/file').read())"

    assert "as it was as it was\n" == python("L3", program, workspace=str(link))


@leveled
@pytest.mark.parametrize("name", ["with space", "a,b:c", "line\nbreak", "back\\slash", "\udcff"])
def test_workspace_may_have_any_name(level: Isolation, tmp_path: Path, name: str) -> None:
    work = workspace(tmp_path / name)
    with ran(level, "cat", "file", workspace=str(work)) as done:
        assert (0, b"as it was") == (done.exit_code, done.stdout.head), said(done)


@leveled
def test_command_starts_in_a_folder_of_the_workspace(level: Isolation, work: Path) -> None:
    with ran(level, "cat", "deep", workspace=str(work), cwd="inner") as done:
        assert b"deep" == done.stdout.head


@pytest.mark.skipif(not is_root(), reason="only root can give files away")
@leveled
def test_workspace_of_another_user_is_copied(level: Isolation, work: Path) -> None:
    for path in (work, *work.rglob("*")):
        os.chown(path, 12_345, 12_345)
    with ran(level, "sh", "-c", "echo x > file && rm -r inner", workspace=str(work)) as done:
        assert 0 == done.exit_code, said(done)
        assert done.workspace
        assert {"file": "x\n"} == content(Path(done.workspace))


def test_live_workspace_is_changed(work: Path) -> None:
    with ran("L3", "sh", "-c", "echo x > file", workspace=str(work), live=True) as done:
        assert str(work) == done.workspace
        assert "the command worked in the workspace itself" in done.missing

    assert "x\n" == (work / "file").read_text()


def test_workspace_is_copied_where_signoff_may_not_mount(work: Path) -> None:
    need("L3")
    command = Command(argv=("sh", "-c", "pwd; echo x > file"), workspace=str(work), limits=PATIENCE)
    with sandbox("L3")._run(command, Way(level="L3", namespace=False)) as done:
        assert (0, f"{work}\n".encode()) == (done.exit_code, done.stdout.head), said(done)
        assert done.workspace
        assert "x\n" == (Path(done.workspace) / "file").read_text()

    assert "as it was" == (work / "file").read_text()


def test_what_is_written_is_bounded_at_the_highest_level(work: Path) -> None:
    limits = Limits(timeout_s=30.0, disk_bytes=8 * 2**20)
    for place in ("/tmp/fill", "fill", "/dev/shm/fill"):
        program = f"head -c 64M /dev/zero > {place}"
        with ran("L3", "sh", "-c", program, workspace=str(work), limits=limits) as done:
            assert Ended.DISK_LIMIT is done.ended


def test_nothing_stays_behind(work: Path) -> None:
    with Sandbox(level=None) as one:
        scratch = Path(one.scratch)
        before = Path("/proc/self/mountinfo").read_text()
        handles = len([*Path("/proc/self/fd").iterdir()])
        for _ in range(3):
            command = Command(argv=("touch", "x"), workspace=str(work), limits=PATIENCE)
            one.run(command).close()

        assert handles == len([*Path("/proc/self/fd").iterdir()])
        assert before == Path("/proc/self/mountinfo").read_text()
        files = [path for path in scratch.rglob("*") if path.is_file()]
        assert [] == [path for path in files if not path.is_relative_to(scratch / "etc")]
    assert not scratch.exists()


# -- how it ends --


@leveled
def test_exit_codes_and_signals_are_told(level: Isolation) -> None:
    with ran(level, "sh", "-c", "exit 7") as done:
        assert (Ended.EXITED, 7) == (done.ended, done.exit_code)
    with ran(level, sys.executable, "-c", "import os; os.kill(os.getpid(), 11)") as done:
        assert (Ended.SIGNALED, "SIGSEGV", None) == (done.ended, done.signal, done.exit_code)


@leveled
def test_what_cannot_be_started_is_told_alike(level: Isolation, work: Path) -> None:
    (work / "plain").write_text("x")
    (work / "lost").write_text("#!/nowhere/at/all\n")
    (work / "lost").chmod(0o755)
    (work / "odd").write_text("#! ./plain -x\n")
    (work / "odd").chmod(0o755)
    endings = {
        ("no-such-program",): Ended.NOT_FOUND,
        ("./none",): Ended.NOT_FOUND,
        ("/none/at/all",): Ended.NOT_FOUND,
        (f"{work}/none",): Ended.NOT_FOUND,
        ("./plain",): Ended.DENIED,
        ("./inner",): Ended.DENIED,
        ("./odd",): Ended.DENIED,
    }
    for argv, ending in endings.items():
        with ran(level, *argv, workspace=str(work)) as done:
            assert (argv, ending, None) == (argv, done.ended, done.isolation), done.reason
            assert done.reason
    with ran(level, "true", workspace=str(work), cwd="nowhere") as done:
        assert Ended.CWD_MISSING is done.ended
    with ran(level, "true", workspace=f"{work}/nowhere") as done:
        assert Ended.CWD_MISSING is done.ended
    with ran(level, "./lost", workspace=str(work)) as done:
        missing = "the interpreter of './lost' is missing"
        assert (Ended.NOT_FOUND, missing) == (done.ended, done.reason)


@leveled
def test_deadline_ends_everything(level: Isolation) -> None:
    def took_s() -> float:
        program = "setsid sleep 60 & sleep 60"
        with ran(level, "sh", "-c", program, limits=Limits(timeout_s=0.5)) as done:
            assert Ended.TIMED_OUT is done.ended
            return done.elapsed_s

    assert any(took_s() <= 1.0 for _ in range(3))  # others may keep one waiting


@leveled
def test_no_handle_is_passed_on(level: Isolation) -> None:
    printed = python(level, "import os; print(sorted(os.listdir('/proc/self/fd')))")

    assert "['0', '1', '2', '3']\n" == printed


@leveled
def test_signals_are_as_a_shell_has_them(level: Isolation) -> None:
    printed = python(level, "import signal; print(signal.getsignal(signal.SIGINT).__name__)")

    assert "default_int_handler\n" == printed
    assert signal.SIGINT


# -- the view --


@leveled
def test_programs_are_found_in_the_order_of_the_path(
    level: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(level)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        tool = tmp_path / name / "tool"
        tool.write_text(f"#!/bin/sh\necho {name}\n")
        tool.chmod(0o755)
    path = f"{tmp_path / 'first'}:{tmp_path / 'second'}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    command = Command(argv=("sh", "-c", "tool; echo $PATH"), limits=PATIENCE)
    with Sandbox(level=level) as one, one.run(command) as done:
        assert f"first\n{path}\n" == done.stdout.head.decode()


@leveled
def test_virtual_environment_of_the_workspace_starts(level: Isolation, work: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(work / ".venv")], check=True)
    program = "import sys, json; print(sys.prefix != sys.base_prefix)"
    with ran(level, ".venv/bin/python", "-c", program, workspace=str(work)) as done:
        assert b"True\n" == done.stdout.head, said(done)


@confining
def test_named_paths_are_read_and_written(level: Isolation, tmp_path: Path) -> None:
    for name in ("readable", "writable"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)
    program = f"cd {tmp_path}; cat readable/x; echo new > writable/y; echo no > readable/y"
    with ran(
        level,
        *("sh", "-c", program),
        readable=(str(tmp_path / "readable"),),
        writable=(str(tmp_path / "writable"), str(tmp_path / "absent")),
    ) as done:
        assert b"readable" == done.stdout.head

    assert {"readable/x": "readable", "writable/x": "writable", "writable/y": "new\n"} == content(
        tmp_path
    )


@confining
def test_settings_of_the_system_can_be_named(level: Isolation) -> None:
    with ran(level, "cat", "/etc/login.defs") as done:
        assert 0 != done.exit_code
    if Path("/etc/login.defs").exists():
        with ran(level, "cat", "/etc/login.defs", readable=("/etc/login.defs",)) as done:
            assert Path("/etc/login.defs").read_bytes() == done.stdout.head


@leveled
def test_home_and_temporary_folder_are_its_own(level: Isolation) -> None:
    program = (
        "import os, tempfile; home = os.path.expanduser('~'); print(os.listdir(home));"
        "open(home + '/x', 'w').close(); tempfile.NamedTemporaryFile(); print(os.getuid())"
    )

    assert f"[]\n{os.getuid()}\n" == python(level, program)


def test_a_terminal_and_shared_memory_are_its_own_at_the_highest_level() -> None:
    python(
        "L3", "import os, multiprocessing as m; os.openpty(); m.Lock(); m.Queue().put(1); m.Pool(2)"
    )


@leveled
def test_threads_and_children_run(level: Isolation) -> None:
    program = (
        "import threading, subprocess, asyncio; t = threading.Thread(target=print, args=(1,));"
        "t.start(); t.join(); subprocess.run(['true'], check=True);"
        "asyncio.run(asyncio.create_subprocess_exec('true'))"
    )

    assert "1\n" == python(level, program)


@leveled
def test_many_run_at_the_same_time(level: Isolation, work: Path) -> None:
    need(level)

    def one(number: int) -> str:
        program = f"echo {number} > file; sleep 0.05; cat file"
        with ran(level, "sh", "-c", program, workspace=str(work)) as done:
            return done.stdout.head.decode().strip()

    with ThreadPoolExecutor(4) as pool:
        assert [*map(str, range(12))] == [*pool.map(one, range(12))]


# -- refusals --


def test_less_than_what_is_required_runs_nothing(work: Path) -> None:
    command = Command(argv=("touch", "x"), workspace=str(work), live=True)
    with Sandbox(level="L1", min_isolation="L2") as one, one.run(command) as done:
        assert (Ended.ISOLATION_UNAVAILABLE, None) == (done.ended, done.isolation)
        assert done.reason.startswith("isolation L2 is required")
    with Sandbox(level="L1") as one, one.requiring("L3").run(command) as done:
        assert Ended.ISOLATION_UNAVAILABLE is done.ended

    assert not (work / "x").exists()


@leveled
def test_level_is_recorded(level: Isolation) -> None:
    with ran(level, "true") as done:
        assert level == done.isolation
