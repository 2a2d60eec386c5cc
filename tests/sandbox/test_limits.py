"""Commands that take whatever they get: each ends in time, and nothing of it is left."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.sandbox.command import Ended
from tests.sandbox.attacks import LATEST_S, Marked, eventually
from tests.sandbox.ordinary_user import OrdinaryUser

MIB = 2**20
FORK_BOMBS = {
    "plain": "while True: fork()",
    "sessions": "while True:\n    fork()\n    try: os.setsid()\n    except OSError: pass",
    "orphans": "while True:\n    if fork() == 0:\n        if fork(): os._exit(0)",
}
FORK = """
import os
def fork():
    try: return os.fork()
    except OSError: return 1
"""


@pytest.mark.parametrize("bomb", FORK_BOMBS)
def test_a_fork_bomb_ends_by_its_deadline(marked: Marked, bomb: str) -> None:
    done, took_s = marked.timely(FORK + FORK_BOMBS[bomb], timeout_s=1, processes=100)

    assert Ended.EXITED is not done.ended
    assert took_s < 1 + LATEST_S
    assert not marked.left()


FORKS = """
import os, signal
r, w = os.pipe()
started = 0
for _ in range(60):
    try:
        child = os.fork()
    except OSError:
        break
    if not child:
        os.close(w)
        os.read(r, 1)  # until the last of the others has ended
        os._exit(0)
    started += 1
    print(started, flush=True)
"""


def test_processes_are_limited(marked: Marked) -> None:
    """Forking fails beyond the limit; where that cannot be had, all is killed soon after it."""
    done = marked.run(FORKS, processes=30)
    started = len(done.stdout.head.split())

    if any("control group limits processes" in sentence for sentence in done.missing):
        assert Ended.SIGNALED is done.ended or started < 30
    else:
        assert (Ended.EXITED, 0) == (done.ended, done.exit_code)
        assert 25 <= started < 30
    assert not marked.left()


def test_processes_within_their_limit_are_let_be(marked: Marked) -> None:
    done = marked.run(FORKS, processes=100)

    assert (0, 60) == (done.exit_code, len(done.stdout.head.split()))


@pytest.mark.parametrize("how", ["one", "many"])
def test_a_memory_bomb_is_killed(marked: Marked, how: str) -> None:
    many = FORK + "for _ in range(4): fork()\n"
    program = "kept = []\nwhile True: kept.append(bytearray(1_000_000))"
    done, took_s = marked.timely(
        (many if how == "many" else "") + program, timeout_s=20, memory_bytes=150 * MIB
    )

    assert Ended.MEMORY_LIMIT is done.ended
    assert "157286400 bytes of memory" in done.reason
    assert took_s < 20
    assert not marked.left()


FILLERS = {
    "one": "file = open('big', 'wb')\nwhile True: file.write(bytes(1_000_000)); file.flush()",
    "many": "n = 0\nwhile True:\n    n += 1\n    open(f'{n}', 'wb').write(bytes(1_000_000))",
    "temporary": """import tempfile
kept = []
while True:
    kept.append(tempfile.NamedTemporaryFile())
    kept[-1].write(bytes(1_000_000)); kept[-1].flush()""",
    "nameless": """import os
kept = []
while True:
    kept.append(open('gone', 'wb')); os.unlink('gone')
    kept[-1].write(bytes(1_000_000)); kept[-1].flush()""",
}


@pytest.mark.parametrize("how", FILLERS)
def test_filling_the_disk_is_no_pass(marked: Marked, tmp_path: Path, how: str) -> None:
    done, took_s = marked.timed(
        FILLERS[how],
        timeout_s=20,
        workspace=str(tmp_path),
        disk_bytes=100 * MIB,
        file_bytes=2_000 * MIB,
        open_files=1_000,
    )
    done.close()

    # in a file system of its own the command itself is told that there is no more room
    assert Ended.DISK_LIMIT is done.ended or done.exit_code
    assert done.isolation == "L3" or Ended.DISK_LIMIT is done.ended
    assert took_s < 20
    assert not list(tmp_path.iterdir())


def test_a_file_that_grows_too_large_is_cut(marked: Marked, tmp_path: Path) -> None:
    program = "import signal\nsignal.signal(25, signal.SIG_DFL)\nopen('big', 'wb').write(bytes(9_000_000))"
    with marked.run(program, workspace=str(tmp_path), file_bytes=1_000_000) as done:
        assert done.workspace is not None
        size = Path(done.workspace, "big").stat().st_size

    assert Ended.DISK_LIMIT is done.ended
    assert 1_000_000 == size


def test_endless_output_is_cut(marked: Marked) -> None:
    done = marked.run(
        "while True: print('y')", output_bytes=3_000_000, head_bytes=10, tail_bytes=10
    )

    assert Ended.OUTPUT_LIMIT is done.ended
    assert b"y\ny\ny\ny\ny\n" == done.stdout.head
    assert done.stdout.size > 3_000_000
    assert not marked.left()


def test_much_on_standard_error_without_a_newline(plain: Marked) -> None:
    """A gigabyte is read, counted and hashed; this process grows by a few megabytes."""
    program = "import os\nfor _ in range(1000): os.write(2, b'x' * 1_000_000)"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = plain.run(f"{program.replace('os.write', 'w')}".replace("import os", WRITER))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert Ended.OUTPUT_LIMIT is done.ended
    assert 256 * MIB < done.stderr.size < 1_000_000_000
    assert done.stderr.omitted == done.stderr.size - 2 * 512 * 2**10
    assert after - before < 64 * 2**10


JUDGE = """
import re, sys
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command

program = "import os\\nfor _ in range(200): os.write(1, b'x' * 1_000_000)"
with Sandbox(level="L1") as sandbox:
    done = sandbox.run(Command(argv=(sys.executable, "-c", program)))
print(done.ended.value, done.stdout.size)
print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_two_hundred_megabytes_are_captured_in_less_than_64() -> None:
    """The whole program that judges has less, its interpreter included."""
    told = subprocess.run([sys.executable, "-c", JUDGE], capture_output=True, check=True, text=True)
    ended, kib = told.stdout.splitlines()

    assert "exited 200000000" == ended
    assert int(kib) < 64 * 2**10


WRITER = "import os\ndef w(handle, data):\n    while data: data = data[os.write(handle, data):]"


def test_partial_output_is_kept_on_timeout(marked: Marked) -> None:
    done = marked.run("import time\nprint('so far', flush=True)\ntime.sleep(60)", timeout_s=2)

    assert (Ended.TIMED_OUT, b"so far\n") == (done.ended, done.stdout.head)


BOMBS = """\
import os, sys
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Limits

HOARD = "kept = []\\nwhile True: kept.append(bytearray(1_000_000))"
FORK = "import os\\nwhile True:\\n    try: os.fork()\\n    except OSError: pass"
with Sandbox(level="L1") as sandbox:
    def run(program, **limits):
        return sandbox.run(Command(argv=(sys.executable, "-c", program), limits=Limits(**limits)))
    hoard = run(HOARD, memory_bytes=100 * 2**20, timeout_s=20)
    bomb = run(FORK, processes=50, timeout_s=1)
missing = " ".join(hoard.missing)
print(hoard.ended.value, "limits memory" in missing, "limits processes" in missing)
print(bomb.ended.value, bomb.reason, sep=",")
"""
WITHIN_LIMIT = "timed_out,"
BEYOND_LIMIT = "signaled,it had more than 50 processes"


def test_what_a_signoff_without_control_groups_does(nobody: OrdinaryUser) -> None:
    """As any user: no group can be made, so that limits are watched, and said to be missing."""
    done = nobody.run(BOMBS)

    assert "" == done.stderr
    hoard, bomb = done.stdout.splitlines()
    assert "memory_limit True True" == hoard
    # the system counts with what else the user runs: when some of that ends, more can be forked
    assert bomb in {WITHIN_LIMIT, BEYOND_LIMIT}
    assert eventually(lambda: not list(Path(nobody.temporary).iterdir()))
