"""How plain commands run, and how those end that cannot."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Ended, Limits
from tests.sandbox.attacks import Marked, eventually

ECHO = "import sys; sys.stdout.write(sys.stdin.read()); sys.stderr.write('e')"


def test_output_input_and_exit_code(marked: Marked) -> None:
    done = marked.run(f"{ECHO}; sys.exit(7)", stdin="grüße\n".encode())

    assert (Ended.EXITED, 7, None) == (done.ended, done.exit_code, done.signal)
    assert "grüße\n".encode() == done.stdout.head
    assert b"e" == done.stderr.head
    assert marked.sandbox._level == done.isolation


def test_input_larger_than_any_buffer(marked: Marked) -> None:
    done = marked.run("import sys; print(len(sys.stdin.buffer.read()))", stdin=bytes(5_000_000))

    assert b"5000000\n" == done.stdout.head


def test_input_that_nobody_reads(marked: Marked) -> None:
    assert 0 == marked.run("pass", stdin=bytes(5_000_000)).exit_code


def test_arguments_and_environment_larger_than_a_socket_buffer(marked: Marked) -> None:
    program = "import os, sys; print(sum(map(len, sys.argv)), len(os.environ['BIG']))"
    done = marked.run(program, *["a" * 100_000] * 8, env={"BIG": "b" * 100_000})

    assert b"800002 100000\n" == done.stdout.head


def test_arguments_beyond_what_the_system_takes_are_refused(plain: Marked) -> None:
    done = plain.run("pass", *["a" * 100_000] * 40)

    assert (Ended.DENIED, None) == (done.ended, done.exit_code)
    assert "too long" in done.reason


def test_bytes_that_are_no_text_pass_through(marked: Marked) -> None:
    program = "import os, sys; os.write(1, os.fsencode(sys.argv[1]) + b'\\xff\\xfe')"
    done = marked.run(program, "\udcff")

    assert b"\xff\xff\xfe" == done.stdout.head


def test_a_signal_is_named(marked: Marked) -> None:
    done = marked.run("import os; os.kill(os.getpid(), 11)")

    assert (Ended.SIGNALED, None, "SIGSEGV") == (done.ended, done.exit_code, done.signal)


def test_signals_are_as_a_shell_would_have_them(marked: Marked) -> None:
    """Python ignores two by itself; two are the C library's own, which nobody else can send."""
    program = """for line in open('/proc/self/status'):
        if line[:6] in ('SigIgn', 'SigBlk'):
            print(int(line.split()[1], 16) & ~(1 << 12 | 1 << 24 | 1 << 31 | 1 << 32))"""

    assert b"0\n0\n" == marked.run(program).stdout.head


def test_only_a_few_variables_are_there(plain: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s")
    done = plain.run("import os; print(sorted(os.environ))")

    assert b"['HOME', 'LANG', 'PATH', 'SIGNOFF_TEST_MARK', 'TMPDIR']\n" == done.stdout.head


def test_variables_are_passed_by_name_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIVEN", "g")
    monkeypatch.setenv("SECRET", "s")
    argv = (sys.executable, "-c", "import os; print(*map(os.environ.get, ('GIVEN', 'SECRET')))")
    with Sandbox(level="L1", pass_env=["GIVEN"]) as sandbox:
        cleared = sandbox.run(Command(argv=argv))
        inherited = sandbox.run(Command(argv=argv, inherit_env=True))

    assert b"g None\n" == cleared.stdout.head
    assert b"g s\n" == inherited.stdout.head


def test_the_search_path_has_no_relative_folder(
    plain: Marked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", f".::bin:{os.environ['PATH']}")
    done = plain.sandbox.run(Command(argv=("tool",), workspace=str(tmp_path)))

    assert Ended.NOT_FOUND is done.ended


def test_no_handle_of_ours_is_inherited(plain: Marked, tmp_path: Path) -> None:
    handles = [os.open(tmp_path, os.O_RDONLY) for _ in range(3)]
    for handle in handles:
        os.set_inheritable(handle, True)
    done = plain.run("import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))")
    for handle in handles:
        os.close(handle)

    assert b"[0, 1, 2, 3]\n" == done.stdout.head  # the last is that of the listing


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (Command(argv=()), "argv is empty"),
        (Command(argv=("",)), r"argv\[0\] is empty"),
        (Command(argv=("a", "b\0")), r"argv\[1\] has a NUL"),
        (Command(argv=("a",), env={"A=B": ""}), "'A=B'"),
        (Command(argv=("a",), env={"A": "\0"}), "'A'"),
        (Command(argv=("a",), workspace="here"), "'here' is not absolute"),
        (Command(argv=("a",), readable=("here",)), "'here' is not absolute"),
        (Command(argv=("a",), writable=("here",)), "'here' is not absolute"),
        (Command(argv=("a",), cwd="\0"), "cwd has a NUL"),
        (Command(argv="ls -l"), "argv is a text"),  # type: ignore[arg-type]  # what is refused
        (Command(argv=("a", 3)), r"argv\[1\] must be a text"),  # type: ignore[arg-type]  # what is refused
        (Command(argv=("a",), limits=Limits(timeout_s=float("nan"))), "timeout_s is nan"),
        (Command(argv=("a",), limits=Limits(timeout_s=-1.0)), "timeout_s is -1.0"),
        (Command(argv=("a",), limits=Limits(memory_bytes=-1)), "memory_bytes is -1"),
        (Command(argv=("a",), limits=Limits(head_bytes=-1)), "head_bytes is -1"),
    ],
)
def test_what_can_be_no_command_is_refused(command: Command, says: str) -> None:
    with Sandbox(level="L1") as sandbox, pytest.raises(ValueError, match=says):
        sandbox.run(command)


@pytest.mark.parametrize("options", [{"level": "L9"}, {"min_isolation": "L4"}])
def test_level_that_is_none_is_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="must be L1, L2 or L3"):
        Sandbox(**options)


def test_a_missing_program(marked: Marked) -> None:
    for name in ("no-such-program", "/no/such/program", "./no-such-program"):
        done = marked.sandbox.run(Command(argv=(name,)))

        assert Ended.NOT_FOUND is done.ended
        assert repr(name) in done.reason
        assert (None, None) == (done.exit_code, done.isolation)


def test_a_program_without_permission(marked: Marked, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "text").chmod(0o644)
    for name in ("./text", "/etc"):
        done = marked.sandbox.run(Command(argv=(name,), workspace=str(tmp_path)))

        assert Ended.DENIED is done.ended
        assert repr(name) in done.reason


def test_a_missing_interpreter_is_said(plain: Marked, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/no/such/shell\n")
    (tmp_path / "tool").chmod(0o755)
    done = plain.sandbox.run(Command(argv=("./tool",), workspace=str(tmp_path)))

    assert (Ended.NOT_FOUND, "the interpreter of './tool' is missing") == (done.ended, done.reason)


@pytest.mark.parametrize("cwd", ["no-such", "file", "/etc", "..", "out"])
def test_a_folder_to_start_in_must_lie_in_the_workspace(
    marked: Marked, tmp_path: Path, cwd: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "file").touch()
    (work / "out").symlink_to(tmp_path)
    done = marked.run("pass", workspace=str(work), cwd=cwd)

    assert Ended.CWD_MISSING is done.ended
    assert "folder" in done.reason


def test_a_missing_workspace(marked: Marked, tmp_path: Path) -> None:
    done = marked.run("pass", workspace=str(tmp_path / "no"))

    assert Ended.CWD_MISSING is done.ended
    assert "there is no workspace" in done.reason


def test_commands_of_many_threads_do_not_mix(plain: Marked) -> None:
    def one(number: int) -> tuple[bytes, int | None]:
        done = plain.run("import sys; print(sys.argv[1]); sys.exit(int(sys.argv[1]))", str(number))
        return done.stdout.head, done.exit_code

    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(one, range(24)))

    assert [(b"%d\n" % number, number) for number in range(24)] == got


def test_the_pipes_of_one_command_are_not_held_by_another(plain: Marked) -> None:
    """A command that runs for long keeps no other from seeing the end of its input and output."""
    begun = threading.Event()

    def long() -> None:
        begun.set()
        plain.run("import time; time.sleep(60)", timeout_s=60)

    thread = threading.Thread(target=long)
    thread.start()
    begun.wait()
    done = plain.run("import os; print([os.readlink(f'/proc/self/fd/{n}')[:4] for n in range(3)])")
    plain.sandbox.close()
    thread.join()

    assert b"['/dev', 'pipe', 'pipe']\n" == done.stdout.head


def test_closing_ends_what_runs_and_removes_everything(marked: Marked) -> None:
    got = []
    thread = threading.Thread(
        target=lambda: got.append(marked.run("import time; time.sleep(60)", timeout_s=60))
    )
    scratch = Path(marked.sandbox.scratch)
    thread.start()

    assert eventually(lambda: bool(marked.left()))

    marked.sandbox.close()
    thread.join()

    assert [Ended.CANCELLED] == [done.ended for done in got]
    assert not marked.left()
    assert not scratch.exists()
    assert "closed" in marked.run("pass").reason


def test_no_more_than_the_sandbox_allows() -> None:
    argv = (sys.executable, "-c", "import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE)[0])")
    with Sandbox(level="L1", limits=Limits(open_files=64)) as sandbox:
        high = sandbox.run(Command(argv=argv, limits=Limits(open_files=100)))
        low = sandbox.run(Command(argv=argv, limits=Limits(open_files=32)))

    assert (b"64\n", b"32\n") == (high.stdout.head, low.stdout.head)


def test_a_fork_of_signoff_has_a_keeper_of_its_own(plain: Marked) -> None:
    plain.run("pass")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            done = plain.run("print('from the fork')")
            os.write(writer, done.stdout.head)
            plain.sandbox.close()
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)

    assert b"from the fork\n" == said
    assert 0 == plain.run("pass").exit_code
