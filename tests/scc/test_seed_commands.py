"""The three commands of the original, word for word, in a fresh repository; then with cheats."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from signoff.dialects.scc.scope import SCRIPTS
from tests.repositories import NEEDS_GIT, Repo

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "scc"
RUNNER = (
    "python tools/scc/ops/contract_runner.py --contract c.json --area control_plane --taskcode T1"
)
PHASE4 = "python tools/ci/run_phase4_checks.py"
GATE = "python tools/ci/mvm-verdict.py --case basic"
MIRROR = "docs/REPORT/control_plane/artifacts/T1"
VERDICT = f"{MIRROR}/verdict.json"
RESULT = "mvm/verdict/verdict.json"

pytestmark = NEEDS_GIT


class Ended:
    """How a command ended."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()


class Shop(Repo):
    """A copy of the example; commands are run in it as a person types them."""

    def say(self, command: str) -> Ended:
        """One command, by a Python that can import signoff."""
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        env = {"PATH": path, "HOME": str(self.root), "PYTHONPATH": str(ROOT / "src")}
        words = shlex.split(command)
        if words[0] == "signoff":
            words[:1] = [sys.executable, "-m", "signoff"]
        done = subprocess.run(
            words, cwd=self.root, env=env, capture_output=True, check=False, timeout=120
        )
        return Ended(done)

    def json(self, path: str) -> Any:
        """A document."""
        return json.loads((self.root / path).read_bytes())

    def work(self) -> None:
        """The change that the contract asks for."""
        self.git("apply", "work.patch")


def shop_at(root: Path) -> Shop:
    """The repository that is there."""
    found = Shop.__new__(Shop)
    found.root = root
    return found


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, committed, initialised, committed."""
    root = tmp_path_factory.mktemp("adopted") / "shop"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns("__pycache__"))
    shop = Shop(root)
    shop.commit()
    ended = shop.say("signoff scc init")
    assert 0 == ended.code, ended.err
    shop.commit()
    return root


@pytest.fixture(scope="module")
def passed(adopted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the work done, and a verdict that is PASS."""
    root = tmp_path_factory.mktemp("passed") / "shop"
    shutil.copytree(adopted, root, symlinks=True)
    shop = shop_at(root)
    shop.work()
    ended = shop.say(RUNNER)
    assert 0 == ended.code, ended.out
    return root


@pytest.fixture
def fresh(adopted: Path, tmp_path: Path) -> Shop:
    """A repository that has adopted signoff."""
    return shop_at(Path(shutil.copytree(adopted, tmp_path / "shop", symlinks=True)))


@pytest.fixture
def done(passed: Path, tmp_path: Path) -> Shop:
    """A repository with a verdict that is PASS."""
    return shop_at(Path(shutil.copytree(passed, tmp_path / "shop", symlinks=True)))


def test_the_commands_do_what_they_say_in_a_fresh_repository(fresh: Shop) -> None:
    fresh.work()
    ended = fresh.say(RUNNER)
    told = json.loads(ended.out.splitlines()[-1])

    assert (0, "PASS", None, 0) == (
        ended.code, told["verdict"], told["fail_class"], told["exit_code"],
    )  # fmt: skip
    assert MIRROR == told["artifacts_dir"]
    assert 0 == fresh.say(PHASE4).code
    assert 0 == fresh.say(GATE).code
    document = fresh.json(VERDICT)
    assert ["verdict", "fail_class", "exit_code", "evidence_paths", "generated_utc"] == [*document]
    jsonschema.validate(document, fresh.json(SCRIPTS[3]))
    assert document == fresh.json(f"{told['run_dir']}/evidence/verdict.json")
    assert all(
        (fresh.root / told["run_dir"] / path).is_file() for path in document["evidence_paths"]
    )
    assert any(path.endswith("receipt.txt") for path in document["evidence_paths"])


def test_the_phase_4_checks_include_the_oid_validator(done: Shop) -> None:
    results = json.loads(done.say(PHASE4).out)

    assert "PASS" == {one["name"]: one["status"] for one in results}["oid-validator"]


def test_before_any_run_the_gate_fails(fresh: Shop) -> None:
    assert 0 == fresh.say(PHASE4).code
    assert 1 == fresh.say(GATE).code
    assert not (fresh.root / VERDICT).exists()


def test_without_the_work_the_verdict_is_fail_and_so_is_the_gate(fresh: Shop) -> None:
    ended = fresh.say(RUNNER)

    assert (1, "command_failed") == (ended.code, fresh.json(VERDICT)["fail_class"])
    assert 0 == fresh.say(PHASE4).code
    assert (1, ["VERDICT_FAIL"]) == (fresh.say(GATE).code, fresh.json(RESULT)["fail_codes"])
    jsonschema.validate(fresh.json(VERDICT), fresh.json(SCRIPTS[3]))


def test_the_work_after_a_fail_passes_and_the_commands_may_be_repeated(fresh: Shop) -> None:
    assert 1 == fresh.say(RUNNER).code
    fresh.say(GATE)
    fresh.work()

    for _ in range(2):
        assert [0, 0, 0] == [fresh.say(command).code for command in (RUNNER, PHASE4, GATE)]


def test_the_commands_hold_when_all_of_it_is_committed(done: Shop) -> None:
    done.commit()

    assert [0, 0] == [done.say(command).code for command in (PHASE4, GATE)]
    assert [0, 0, 0] == [done.say(command).code for command in (RUNNER, PHASE4, GATE)]
    done.write("src/prices.py", "def total(cents, discount_percent=0): return 1484\n")
    done.commit()
    assert (1, True) == (done.say(GATE).code, "VERDICT_STALE" in done.json(RESULT)["fail_codes"])


def test_init_twice_changes_nothing(fresh: Shop) -> None:
    before = fresh.git("status", "--short")

    assert 0 == fresh.say("signoff scc init").code
    assert before == fresh.git("status", "--short")


def test_an_edited_script_fails_scripts_intact(done: Shop) -> None:
    done.write(SCRIPTS[0], (done.root / SCRIPTS[0]).read_text() + "# more\n")
    ended = done.say(PHASE4)

    assert 1 == ended.code
    assert f"scripts-intact: {SCRIPTS[0]}" in ended.err
    assert 1 == done.say(RUNNER).code


def test_a_workspace_that_was_not_initialised_fails_and_is_told_how(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    shutil.copytree(EXAMPLE, root)
    shop = Shop(root)
    shop.work()
    shop.commit()
    commands = (
        "signoff scc run --contract c.json --taskcode T1", "signoff scc check",
        "signoff scc verdict --case basic",
    )  # fmt: skip

    for command in commands:
        ended = shop.say(command)
        assert ended.code != 0, command
        assert "signoff scc init" in ended.out + ended.err, command


def write(path: str, text: str) -> Callable[[Shop], object]:
    return lambda shop: shop.write(path, text)


def link(path: str, target: str) -> Callable[[Shop], object]:
    def cheat(shop: Shop) -> None:
        (shop.root / path).unlink(missing_ok=True)
        (shop.root / path).symlink_to(target)

    return cheat


def _rewritten(shop: Shop, path: str, old: str, new: str) -> None:
    place = shop.root / path
    text = place.read_text()
    assert old in text, path
    place.write_text(text.replace(old, new))


PASS = json.dumps(
    {"verdict": "PASS", "fail_class": None, "exit_code": 0, "evidence_paths": ["a"],
     "generated_utc": "2026-01-01T00:00:00.000000Z"}
)  # fmt: skip
# What an executor may try in place of the work, or beside it.
EXECUTOR = {
    "easier tests": write("tests/test_prices.py", ""),
    "an easier contract": lambda shop: _rewritten(shop, "c.json", "unittest discover", "timeit"),
    "another task's verdict": write(VERDICT.replace("T1", "T9"), PASS),
    "a verdict elsewhere": write("src/verdict.json", PASS),
    "a report of its own": write("docs/REPORT/control_plane/REPORT__T1__20260101.md", "# x"),
    "a log of its own": write(f"{MIRROR}/logs/001_tests.stderr.txt", "OK"),
    "another gate": write(SCRIPTS[2], "raise SystemExit(0)\n"),
    "another runner": write("signoff/cli.py", "def main(): raise SystemExit(0)\n"),
    "other settings": write(".signoff/scc.toml", 'min_isolation = "L0"\n'),
    "evidence": write("evidence/a.txt", "x"),
    "artifacts": write("artifacts/a.txt", "x"),
    "a link to the reports": link("src/prices.py", "../docs/REPORT/x.py"),
}


@pytest.mark.parametrize("name", EXECUTOR)
def test_what_an_executor_may_not_do_is_denied(fresh: Shop, name: str) -> None:
    if "link" not in name:
        fresh.work()
    EXECUTOR[name](fresh)
    ended = fresh.say(RUNNER)

    assert ended.code in {1, 2}, ended.out
    assert ("FAIL", False) == (fresh.json(VERDICT)["verdict"], "pass tests" in ended.out)
    assert 1 == fresh.say("signoff scc verdict --case basic").code


def _all_of_it(shop: Shop) -> None:
    """A log, its hashes, the index and its hashes are rewritten so that all of them agree."""
    log = f"{MIRROR}/logs/001_tests.stderr.txt"
    old = sha256((shop.root / log).read_bytes()).hexdigest()
    data = b"OK" * 20
    size = (shop.root / log).stat().st_size
    (shop.root / log).write_bytes(data)
    index = f"{MIRROR}/evidence/index.json"
    before = sha256((shop.root / index).read_bytes()).hexdigest()
    _rewritten(shop, index, old, sha256(data).hexdigest())
    _rewritten(shop, index, f'"size": {size}', f'"size": {len(data)}')
    hashes = shop.json(f"{MIRROR}/evidence_hashes.json")
    for path in (log, index):
        content = (shop.root / path).read_bytes()
        hashes[path] = {"sha256": sha256(content).hexdigest(), "size": len(content)}
    assert before not in {one["sha256"] for one in hashes.values()}
    (shop.root / MIRROR / "evidence_hashes.json").write_text(json.dumps(hashes))


AFTERWARDS: dict[str, tuple[str, Callable[[Shop], object]]] = {
    "another source": ("VERDICT_STALE", write("src/prices.py", "total = len\n")),
    "another contract": ("VERDICT_STALE", lambda shop: _rewritten(shop, "c.json", "60", "61")),
    "another log": ("FAKE_DIGEST_DETECTED", write(f"{MIRROR}/logs/001_tests.stderr.txt", "OK")),
    "everything rewritten": ("FAKE_DIGEST_DETECTED", _all_of_it),
    "selftest by hand": ("SELFTEST_USER_SUPPLIED", write(f"{MIRROR}/selftest.log", "EXIT_CODE=0\n")),
    "no report": (
        "REPORT_MISSING",
        lambda shop: next((shop.root / MIRROR).parents[1].glob("REPORT__*")).unlink()),
    "a file beside": ("EVIDENCE_UNLISTED", write(f"{MIRROR}/more.txt", "x")),
    "no artifacts": ("EVIDENCE_DIR_MISSING", lambda shop: shutil.rmtree(shop.root / MIRROR)),
    "no run": ("ROLLBACK_DELETE_FORBIDDEN", lambda shop: shutil.rmtree(shop.root / "artifacts")),
    "no ledger": (
        "SELFTEST_USER_SUPPLIED",
        lambda shop: [*map(Path.unlink, (shop.root / ".signoff").glob("ledger*"))]),
    "another verdict": ("VERDICT_MISSING", write(VERDICT, PASS)),
}  # fmt: skip


@pytest.mark.parametrize("name", AFTERWARDS)
def test_what_is_changed_after_the_verdict_fails_the_gate(done: Shop, name: str) -> None:
    code, cheat = AFTERWARDS[name]
    cheat(done)
    ended = done.say(GATE)

    assert (1, True) == (ended.code, code in done.json(RESULT)["fail_codes"]), ended.err


def test_a_fail_cannot_be_forged_into_a_pass(fresh: Shop) -> None:
    """Verdict, report, log and hashes are rewritten as a PASS would have them, wherever they are."""
    fresh.say(RUNNER)
    document = {**fresh.json(VERDICT), "verdict": "PASS", "fail_class": None, "exit_code": 0}
    for place in [*fresh.root.rglob("verdict.json")]:
        if "mvm" not in place.parts:
            place.write_text(json.dumps(document))
    for name in ("selftest.log", "evidence/index.json"):
        assert (fresh.root / MIRROR / name).is_file()
    _rewritten(fresh, f"{MIRROR}/selftest.log", "EXIT_CODE=1", "EXIT_CODE=0")
    report = next((fresh.root / MIRROR).parents[1].glob("REPORT__*")).relative_to(fresh.root)
    _rewritten(fresh, str(report), "Verdict: FAIL", "Verdict: PASS")
    hashes = fresh.json(f"{MIRROR}/evidence_hashes.json")
    for path in hashes:
        content = (fresh.root / path).read_bytes()
        hashes[path] = {"sha256": sha256(content).hexdigest(), "size": len(content)}
    (fresh.root / MIRROR / "evidence_hashes.json").write_text(json.dumps(hashes))
    ended = fresh.say(GATE)

    assert 1 == ended.code
    assert {"SELFTEST_USER_SUPPLIED", "VERDICT_CONTRADICTION"} <= {
        *fresh.json(RESULT)["fail_codes"]
    }


def test_another_script_beside_the_gate_is_no_module_of_signoff(done: Shop) -> None:
    done.write("tools/ci/signoff.py", "raise SystemExit(0)\n")

    assert 1 == done.say(GATE).code
