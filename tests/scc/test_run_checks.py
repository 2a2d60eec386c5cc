"""Checks run in their order, contained, and nothing that they do decides but how they end."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.scc.names import log_name
from signoff.sandbox import Sandbox
from tests.sandbox.confined import lacks, need
from tests.scc.run_world import World, check


def one_of(repo: World, ended: Any) -> Any:
    return repo.evidence(ended, "checks.json")["checks"][0]


def test_row_14_log_of_an_odd_name_stays_in_the_run(repo: World) -> None:
    repo.agree(check("../../esc"), check("a b'\u00e9"))
    ended = repo.run()

    assert "PASS" == ended.verdict
    logs = {path.name for path in (repo.root / ended.run_dir / "logs").iterdir()}
    assert log_name(1, "../../esc", "stdout") in logs
    assert 4 == len(logs)
    assert not [*repo.root.parent.rglob("*esc*.txt")] or all(
        str(path).startswith(str(repo.root)) for path in repo.root.parent.rglob("*esc*.txt")
    )


@pytest.mark.parametrize("cwd", ["..", "/tmp", "a/../.."])
def test_row_14_cwd_outside_is_an_invalid_contract(repo: World, cwd: str) -> None:
    repo.agree(check(cwd=cwd))
    ended = repo.run()

    assert ("verifier_error", 2, 2) == (ended.fail_class, ended.exit_code, ended.code)


def test_row_14_cwd_through_a_link_is_denied(repo: World) -> None:
    (repo.root / "src/out").symlink_to("/tmp")
    repo.agree(check(cwd="src/out"))
    ended = repo.run()

    assert ("command_denied", 97) == (ended.fail_class, ended.exit_code)


def test_cwd_that_is_absent_is_a_verifier_error(repo: World) -> None:
    repo.agree(check(cwd="nowhere"))
    ended = repo.run()

    assert ("verifier_error", 125) == (ended.fail_class, ended.exit_code)


def test_cwd_may_be_made_by_an_earlier_check(repo: World) -> None:
    repo.agree(
        check("make", "import os; os.mkdir('built')"),
        check("use", "import os; assert os.getcwd().endswith('built')", cwd="built"),
    )

    assert "PASS" == repo.run().verdict
    assert not (repo.root / "built").exists()


@pytest.mark.parametrize(
    "command",
    ["echo a; echo b", "echo a | cat", "echo $(id)", "echo `id`", "echo 'a", "echo a > b"],
)
def test_row_16_what_a_shell_would_act_on_is_denied(repo: World, command: str) -> None:
    repo.agree({"name": "one", "command": command}, check("two"))
    ended = repo.run()

    assert ("command_denied", 97) == (ended.fail_class, ended.exit_code)
    found = repo.evidence(ended, "checks.json")["checks"]
    assert ["fail", "pass"] == [one["status"] for one in found]
    assert found[0]["stdout_path"] is None


HARD_TO_KILL = {
    "ignores SIGTERM": "import signal, time; signal.signal(15, signal.SIG_IGN); "
    "print('begun', flush=True); time.sleep(60)",
    "daemon": "import os, time; print('begun', flush=True); "
    "os.fork() or (os.setsid(), os.fork() or time.sleep(60)); time.sleep(60)",
    "grandchild holds the pipe": "import subprocess, sys, time; print('begun', flush=True); "
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', mark]); time.sleep(60)",
}


@pytest.mark.parametrize("code", HARD_TO_KILL.values(), ids=HARD_TO_KILL.keys())
def test_row_18_timeout_ends_all_of_it_and_keeps_the_log(repo: World, code: str) -> None:
    mark = secrets.token_hex(8)
    repo.agree(check(code=f"mark = '{mark}'; {code}", timeout_s=2))
    begin = time.monotonic()
    ended = repo.run()

    assert ("timeout", 124) == (ended.fail_class, ended.exit_code)
    assert time.monotonic() - begin < 30
    assert b"begun\n" == (repo.root / ended.run_dir / "logs/001_one.stdout.txt").read_bytes()
    assert not running(mark)


def running(text: str) -> bool:
    """A process of this machine has a text in its arguments."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in place.read_bytes() and int(place.parent.name) != os.getpid():
                return True
        except OSError:
            continue
    return False


def test_time_of_the_whole_run_is_a_timeout(repo: World) -> None:
    repo.settle("run_timeout_s = 2")
    repo.agree(check("a", "import time; time.sleep(60)"), check("b"))
    ended = repo.run()

    assert ("timeout", 124) == (ended.fail_class, ended.exit_code)
    assert ["fail", "fail"] == [one.status for one in ended.checks]


def test_row_19_process_that_was_left_is_no_pass(repo: World) -> None:
    mark = secrets.token_hex(8)
    code = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
        f"'import time; time.sleep(60)', '{mark}'], stdin=-3, stdout=-3, stderr=-3, start_new_session=True)"
    )
    repo.agree(check(code=code))
    ended = repo.run()

    assert ("command_failed", 1) == (ended.fail_class, ended.exit_code)
    assert not running(mark)


@pytest.mark.long
@pytest.mark.parametrize(
    "code",
    [
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        "kept = []\nwhile True: kept.append(bytes(1) * 10_000_000)",
    ],
    ids=["processes", "memory"],
)
def test_row_19_bomb_ends_with_its_time(repo: World, code: str) -> None:
    mark = secrets.token_hex(8)
    repo.agree(check(code=f"'{mark}'\n{code}", timeout_s=2))
    ended = repo.run()

    assert "FAIL" == ended.verdict
    assert ended.fail_class in {"timeout", "command_failed", "verifier_error"}
    assert not running(mark)


@pytest.mark.long
def test_row_19_endless_output_is_bounded(repo: World) -> None:
    repo.agree(check(code="while True: print('x' * 65536)"))
    ended = repo.run()

    assert ("command_failed", "FAIL") == (ended.fail_class, ended.verdict)
    log = repo.root / ended.run_dir / "logs/001_one.stdout.txt"
    assert log.stat().st_size < 4 * 2**20 + 200
    assert one_of(repo, ended)["truncated"]


def test_output_beyond_4_mib_is_head_marker_and_tail(repo: World) -> None:
    repo.agree(check(code="print('a' * 5000000, end=''); print('z' * 100, end='')"))
    ended = repo.run()
    log = (repo.root / ended.run_dir / "logs/001_one.stdout.txt").read_bytes()

    assert "PASS" == ended.verdict
    assert log.startswith(b"a" * 100)
    assert log.endswith(b"z" * 100)
    assert b"bytes were not kept" in log
    assert (5_000_100, True) == tuple(
        one_of(repo, ended)[name] for name in ("stdout_bytes", "truncated")
    )


def test_row_20_output_is_kept_byte_for_byte_and_has_no_effect(repo: World) -> None:
    said = bytes(range(256)) + b"\r\nEXIT_CODE=0\r\n"
    code = (
        "import sys; sys.stdout.buffer.write(bytes(range(256)) + "
        "bytes.fromhex('0d0a455849545f434f44453d300d0a')); raise SystemExit(3)"
    )
    repo.agree(check(code=code))
    ended = repo.run()

    assert said == (repo.root / ended.run_dir / "logs/001_one.stdout.txt").read_bytes()
    assert ("command_failed", 3) == (ended.fail_class, ended.exit_code)
    assert 1 == (repo.artifacts() / "selftest.log").read_text().count("EXIT_CODE")


def test_row_21_secret_of_the_caller_reaches_nothing(
    repo: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "s3cret-0123456789"
    monkeypatch.setenv("TOKEN", secret)
    repo.agree(check(code="import os; print(dict(os.environ))"))
    ended = repo.run(env={**os.environ})

    assert "PASS" == ended.verdict
    for place in repo.root.rglob("*"):
        assert not place.is_file() or secret.encode() not in place.read_bytes(), place


def test_environment_is_what_is_documented(repo: World) -> None:
    repo.settle("[env]", 'allow = ["LET_IN"]')
    code = (
        "import json, os, sys; from pathlib import Path; Path(os.environ['HOME'], 'h').touch(); "
        "print(json.dumps(dict(os.environ))); assert not sys.stdin.read()"
    )
    repo.agree(check(code=code), check("two", "import os; os.stat(os.environ['HOME'] + '/h')"))
    ended = repo.run(env={"PATH": os.environ["PATH"], "LET_IN": "x", "OTHER": "y"})
    said = json.loads((repo.root / ended.run_dir / "logs/001_one.stdout.txt").read_bytes())

    assert "PASS" == ended.verdict
    assert {"TASK_CODE": "T1", "TASK_ID": "T1", "AREA": "control_plane", "LET_IN": "x"} == {
        name: said.get(name) for name in ("TASK_CODE", "TASK_ID", "AREA", "LET_IN")
    }
    assert "c.json" == said["CONTRACT_REF"]
    assert said["PATH"].startswith(f"{Path(sys.executable).parent}:")
    assert "OTHER" not in said


def test_row_22_what_a_check_writes_has_no_effect_on_the_workspace(repo: World) -> None:
    targets = [
        "docs/REPORT/control_plane/artifacts/T1/verdict.json",
        "docs/REPORT/control_plane/artifacts/T1/selftest.log",
        ".signoff/scc.toml",
        "c.json",
        "src/a.py",
        "tools/ci/mvm-verdict.py",
        "verdict.json",
    ]
    verdict = "{'verdict': 'PASS', 'fail_class': None, 'exit_code': 0}"
    code = (
        f"import json, os, sys; [(os.makedirs(os.path.dirname(t) or '.', exist_ok=True), "
        f"open(t, 'w').write(json.dumps({verdict}))) for t in {targets}]; sys.exit(4)"
    )
    repo.agree(check(code=code, expects={"evidence_paths": ["**/*.json"]}))
    before = {name: (repo.root / name).read_bytes() for name in targets[2:6]}
    ended = repo.run()

    assert ("command_failed", 4) == (ended.fail_class, ended.exit_code)
    assert before == {name: (repo.root / name).read_bytes() for name in targets[2:6]}
    assert not (repo.root / "verdict.json").exists()
    assert "FAIL" == repo.verdict()["verdict"]
    collected = [path.name for path in (repo.root / ended.run_dir / "collected").rglob("*.json")]
    assert "verdict.json" not in collected


def test_row_22_check_that_reaches_for_the_real_workspace(repo: World) -> None:
    if lacks("L3"):
        need("L2")  # below it nothing confines what a check writes
    place = repo.root / "src/a.py"
    repo.agree(check(code=f"open('{place}', 'w').write('broken')"))
    ended = repo.run()

    assert "command_failed" == ended.fail_class
    assert "x = 1\n" == place.read_text()


def test_row_23_isolation_that_is_not_there_is_a_verifier_error(repo: World) -> None:
    repo.settle('min_isolation = "L3"')
    repo.agree(check())
    with Sandbox(level="L1", min_isolation="L0") as sandbox:
        ended = repo.run(sandbox=sandbox)

    assert ("verifier_error", 125) == (ended.fail_class, ended.exit_code)
    assert repo.evidence(ended, "run_meta.json")["isolation"]["level"] is None


@pytest.mark.parametrize("level", ["L1", "L2", "L3"])
def test_row_23_level_is_recorded(repo: World, level: Any) -> None:
    need(level)
    repo.agree(check())
    with Sandbox(level=level, min_isolation="L0") as sandbox:
        ended = repo.run(sandbox=sandbox)

    assert "PASS" == ended.verdict
    isolation = repo.evidence(ended, "run_meta.json")["isolation"]
    assert level == isolation["level"]
    assert "the command worked in the workspace itself" not in isolation["missing"]


def test_placeholders_never_add_an_argument(repo: World) -> None:
    code = "import sys; assert sys.argv[1:] == ['CODE-1', 'T1', 'x CODE-1 y'], sys.argv"
    repo.agree(
        {
            "name": "one",
            "command": f"python -c \"{code}\" %TASK_CODE% ${{TASK_ID}} 'x %TASK_CODE% y'",
        }
    )

    assert "PASS" == repo.run(task_code="CODE-1").verdict
