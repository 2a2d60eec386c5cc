"""How a command is run: in time, in bounded memory, with nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from signoff.forge import PytestVerifier, VerificationResult, verification_result_to_dict
from tests.forge.test_pytest_outcome import GOOD, PYTEST, came_to, probed, ran, written


def python(program: str, **options: Any) -> VerificationResult:
    return PytestVerifier([sys.executable, "-c", program], **options).verify({}, {})


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_row_23_the_deadline_ends_it_and_keeps_what_was_printed() -> None:
    program = r"import os, time; os.write(1, b'caf\xc3\xa9 \xc3'); time.sleep(60)"
    begin = time.monotonic()
    found = python(program, timeout=0.5)

    assert time.monotonic() - begin < 5
    assert ("fail", "timeout") == came_to(found)
    assert "caf\u00e9 \ufffd" == found.evidence["stdout"]
    assert (True, 0.5) == (found.evidence["timed_out"], found.evidence["timeout_seconds"])


HOLDING = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    print(os.getpid(), flush=True)
    time.sleep(60)
sys.stdout.flush()
"""


def test_row_24_a_grandchild_that_holds_the_pipe_is_killed_with_a_warning() -> None:
    begin = time.monotonic()
    found = python(HOLDING + "time.sleep(0.2)", timeout=30)

    assert time.monotonic() - begin < 10
    assert ("warn", None) == came_to(found)
    assert 1 == found.evidence["left_processes"]
    assert not is_running(int(found.evidence["stdout"]))


def test_row_24_in_the_probe_it_fails(tmp_path: Path) -> None:
    leaving = "import os, time\ndef test_x():\n    if os.fork() == 0:\n        time.sleep(60)\n"
    found = probed(written(tmp_path, test_a=leaving), level="L1", args=["test_a.py"])

    assert ("fail", "left_processes") == came_to(found)


def test_row_24_what_ignores_signals_and_forks_twice_is_gone_after_the_deadline() -> None:
    program = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(60)
    os._exit(0)
print(os.getpid(), flush=True)
time.sleep(60)
"""
    found = python(program, timeout=1)
    pids = [int(line) for line in found.evidence["stdout"].split()]

    assert ("fail", "timeout") == came_to(found)
    assert 2 == len(pids)
    assert not any(map(is_running, pids))


def test_row_25_much_output_takes_little_memory() -> None:
    size = 200 * 2**20
    program = f"import os\npiece = b'x' * 2**20\nfor _ in range({size >> 20}): os.write(1, piece)"
    judge = (
        "import json, re, sys\n"
        "from signoff.forge import PytestVerifier, verification_result_to_dict\n"
        f"found = PytestVerifier([sys.executable, '-c', {program!r}]).verify({{}}, {{}})\n"
        "print(json.dumps(verification_result_to_dict(found)))\n"
        # the most that this program had; what getrusage tells counts the one that forked it
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", judge], capture_output=True, check=True)
    told, kib = done.stdout.decode().splitlines()
    found = json.loads(told)["evidence"]
    digest = sha256()
    for _ in range(200):
        digest.update(b"x" * 2**20)

    assert (size, digest.hexdigest()) == (found["stdout_bytes"], found["stdout_sha256"])
    assert (True, 65_536, 4_096) == (
        found["stdout_truncated"],
        len(found["stdout"]),
        len(found["stdout_tail"]),
    )
    assert int(kib) < 200_000


def test_row_25_too_much_output_is_killed() -> None:
    found = python("import os\nwhile True: os.write(2, b'x' * 2**20)", timeout=60)

    assert ("fail", "output_limit") == came_to(found)


def test_row_25_output_that_is_no_text_raises_nothing() -> None:
    found = python(r"import os; os.write(1, b'a\r\n\xff\xfe\x00b')")

    assert "a\r\n\ufffd\ufffd\0b" == found.evidence["stdout"]
    assert "pass" == found.status


def test_row_26_the_streams_have_limits_of_their_own() -> None:
    found = python("import os; os.write(1, b'o' * 50); os.write(2, b'e' * 5)", max_output_bytes=10)
    evidence = found.evidence

    assert ("o" * 10, "e" * 5) == (evidence["stdout"], evidence["stderr"])
    assert (True, False) == (evidence["stdout_truncated"], evidence["stderr_truncated"])
    assert (50, 5) == (evidence["stdout_bytes"], evidence["stderr_bytes"])
    assert "o" * 10 == evidence["stdout_tail"]
    assert "stderr_tail" not in evidence


def test_row_26_a_limit_of_nothing_keeps_nothing() -> None:
    evidence = python("print('abc')", max_output_bytes=0).evidence

    assert ("", "", 4, True) == tuple(
        evidence[f"stdout{name}"] for name in ("", "_tail", "_bytes", "_truncated")
    )


@pytest.mark.parametrize("limit", range(1, 12))
def test_row_26_head_and_tail_have_whole_characters(limit: int) -> None:
    text = "a\u00e9\u20ac\U0001f600" * 3
    evidence = python(f"print({text!r}, end='')", max_output_bytes=limit).evidence

    assert text.startswith(evidence["stdout"])
    assert text.endswith(evidence["stdout_tail"])
    assert limit - 4 < len(evidence["stdout"].encode()) <= limit
    assert limit - 4 < len(evidence["stdout_tail"].encode()) <= limit


def test_row_26_the_tail_has_the_summary_of_pytest(tmp_path: Path) -> None:
    loud = "def test_x():\n    print('x' * 100_000)\n    assert False\n"
    found = ran(written(tmp_path, test_a=loud))

    assert found.evidence["stdout_truncated"]
    assert "1 failed" in found.evidence["stdout_tail"]


def test_row_27_standard_input_is_not_consumed() -> None:
    judge = (
        "import sys\nfrom signoff.forge import PytestVerifier\n"
        "found = PytestVerifier([sys.executable, '-c', 'import sys; print(len(sys.stdin.read()))'])"
        ".verify({}, {})\nprint(found.evidence['stdout'].strip(), sys.stdin.read())"
    )
    done = subprocess.run(
        [sys.executable, "-c", judge], input=b"mine", capture_output=True, check=True
    )

    assert b"0 mine\n" == done.stdout


def test_row_27_an_interrupt_ends_the_command(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = f"import os, time; open({str(pipe)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    judge = (
        "import sys\nfrom signoff.forge import *\n"
        "registry = VerifierRegistry()\n"
        f"registry.register('a', PytestVerifier([sys.executable, '-c', {program!r}]))\n"
        "spec = ContractSpec('t', verification_policy={'verifier_ids': ['a']})\n"
        "verify_task_result(spec, {}, registry=registry)\n"
    )
    with subprocess.Popen([sys.executable, "-c", judge], stderr=subprocess.PIPE) as judging:
        pid = int(pipe.read_text())
        judging.send_signal(signal.SIGINT)
        _, said = judging.communicate(timeout=20)

    assert b"KeyboardInterrupt" in said
    assert not is_running(pid)


def test_row_27_eight_at_once_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    python("")
    before = len([*Path("/proc/self/fd").iterdir()])
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda _: python("print(1)"), range(8))]

    assert {"pass"} == {one.status.value for one in found}
    assert before == len([*Path("/proc/self/fd").iterdir()])
    assert [] == [*tmp_path.iterdir()]


def test_row_28_no_value_of_the_environment_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_SECRET", "hunter2-hunter2")
    seen = "import os\ndef test_x():\n    assert len(os.environ['HOUSE_SECRET']) == 15\n"
    found = ran(written(tmp_path, test_a=seen))

    assert ("pass", None) == came_to(found)
    assert "hunter2" not in json.dumps(verification_result_to_dict(found))


def test_row_28_a_given_environment_replaces_the_inherited_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOUSE_SECRET", "hunter2-hunter2")
    program = "import os; print(os.environ.get('HOUSE_SECRET'), os.environ['MINE'])"
    found = python(program, env={"MINE": "yes"})

    assert "None yes\n" == found.evidence["stdout"]


def test_row_28_in_the_probe_the_child_does_not_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_SECRET", "hunter2-hunter2")
    seen = "import os\ndef test_x():\n    assert 'HOUSE_SECRET' not in os.environ\n"
    written(tmp_path, test_a=seen)
    found = probed(tmp_path, required_tests=["test_a.py::test_x"])

    assert "pass" == found.status


def test_options_of_pytest_from_outside_still_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k test_y")
    written(tmp_path, test_a=GOOD + GOOD.replace("test_x", "test_y"))
    found = PytestVerifier(PYTEST, cwd=tmp_path).verify({}, {})

    assert 1 == found.evidence["counts"]["passed"]
