"""A contract with tests, lint and scope judges a small real repository: honest work, and cheats."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.evidence import MemoryStore
from signoff.model import LockedContract, Report, Subject
from signoff.probes import PROBES
from signoff.registry import Powers, Registry
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command
from signoff.status import Outcome, Status
from signoff.verifiers import STDLIB
from tests.sandbox.attacks import MARK, eventually, marked

REGISTRY = STDLIB | PROBES
SHOP = '''\
"""Prices of a small shop, in cents."""


def total(prices: list[int]) -> int:
    """What a customer pays."""
    return sum(prices)
'''
HONEST = SHOP.replace(
    "    return sum(prices)\n",
    "    amount = sum(prices)\n    return amount * 9 // 10 if amount >= 10_000 else amount\n",
)
TESTS = """\
from shop import total


def test_small_order() -> None:
    assert total([400, 500]) == 900


def test_large_order() -> None:
    assert total([8000, 2000]) == 9000
"""
SKIPPED = "import pytest\n\npytestmark = pytest.mark.skip\n\n\n" + TESTS
EXITS = """\
import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    session.exitstatus = 0
"""
REWRITES = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
DESELECTS = "[pytest]\npythonpath = src\naddopts = -k small\n"
PRETENDS = "import sys\n\nsys.exit(0)\n"


def git(folder: Path, *argv: str) -> str:
    identity = ("-c", "user.name=shop", "-c", "user.email=shop@shop.example")
    env = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *identity, *argv], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The repository before the work."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    put(folder, "src/shop.py", SHOP)
    put(folder, "tests/test_shop.py", TESTS)
    put(folder, "pytest.ini", "[pytest]\npythonpath = src\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Add a shop")
    return folder


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def agreed(shop: Path) -> LockedContract:
    """What was agreed before the work."""
    names = [f"tests/test_shop.py::{name}" for name in ("test_small_order", "test_large_order")]
    ruff = ["--no-cache", "--isolated", "--output-format", "json"]
    lint = [sys.executable, "-m", "ruff", "check", *ruff, "--output-file", "build/lint.json", "."]
    criteria: list[dict[str, Any]] = [
        {
            "id": "tests",
            "verifier": "pytest",
            "params": {"args": ["tests"], "required_tests": names, "max_skipped": 0},
        },
        {
            "id": "lint",
            "verifier": "command",
            "params": {"argv": lint, "expect_files": ["build/lint.json"], "timeout_s": 60},
        },
        {
            "id": "scope",
            "verifier": "changes_within",
            "params": {"base": git(shop, "rev-parse", "HEAD"), "allowed": ["src/**"]},
        },
    ]
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("needs ruff, which the extra dev brings")
    return lock({"id": "discount", "criteria": criteria, "min_isolation": "L1"}, REGISTRY)


def judged(sandbox: Sandbox, shop: Path, contract: LockedContract) -> Report:
    powers = Powers(sandbox=sandbox, workspace=shop, store=MemoryStore())
    registry: Registry = REGISTRY.with_powers(powers)
    return Engine(registry).verify(contract, Subject(), jobs=2)


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def test_work_that_was_not_done_fails(sandbox: Sandbox, shop: Path) -> None:
    report = judged(sandbox, shop, agreed(shop))

    assert ("tests",) == report.verdict.blockers
    assert "test_large_order" in report.result("tests").finding.detail


def test_honest_work_passes_and_stays_as_it_is(sandbox: Sandbox, shop: Path) -> None:
    contract = agreed(shop)
    put(shop, "src/shop.py", HONEST)
    before = content(shop)
    report = judged(sandbox, shop, contract)

    assert [Status.PASS] * 3 == [one.finding.status for one in report.results], report.results
    assert Outcome.PASSED is report.verdict.outcome
    assert "exit_code" == report.assurance
    assert "report+canaries" == report.result("tests").finding.assurance
    assert before == content(shop)


def test_honest_work_that_was_committed_passes(sandbox: Sandbox, shop: Path) -> None:
    contract = agreed(shop)
    put(shop, "src/shop.py", HONEST)
    git(shop, "commit", "-q", "-a", "-m", "Make large orders cheaper")

    assert Outcome.PASSED is judged(sandbox, shop, contract).verdict.outcome


def test_sloppy_work_fails_the_linter_alone(sandbox: Sandbox, shop: Path) -> None:
    contract = agreed(shop)
    put(shop, "src/shop.py", "import os\n" + HONEST.partition("\n\n\n")[2])

    assert ("lint",) == judged(sandbox, shop, contract).verdict.blockers


def hides_the_weakened_test(shop: Path) -> None:
    put(shop, "tests/test_shop.py", TESTS.replace("== 9000", "== 10000"))
    git(shop, "update-index", "--assume-unchanged", "tests/test_shop.py")


def commits_the_weakened_test(shop: Path) -> None:
    put(shop, "tests/test_shop.py", TESTS.replace("== 9000", "== 10000"))
    git(shop, "commit", "-q", "-a", "-m", "Fix the tests")


def ignores_its_own_traces(shop: Path) -> None:
    put(shop, "tests/conftest.py", REWRITES)
    put(shop, ".git/info/exclude", "conftest.py\n")


CHEATS: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "ends the process in a test": (
        lambda shop: put(shop, "tests/test_shop.py", f"import os\n\nos._exit(0)\n{TESTS}"),
        {"tests", "scope"},
    ),
    "ends the process in the code": (
        lambda shop: put(shop, "src/shop.py", SHOP + "\n\n__import__('os')._exit(0)\n"),
        {"tests"},
    ),
    "ends with success in the code": (
        lambda shop: put(shop, "src/shop.py", SHOP + "\n\nraise SystemExit(0)\n"),
        {"tests"},
    ),
    "sets the exit status": (
        lambda shop: put(shop, "tests/conftest.py", EXITS),
        {"tests", "scope"},
    ),
    "rewrites outcomes": (
        lambda shop: put(shop, "tests/conftest.py", REWRITES),
        {"tests", "scope"},
    ),
    "rewrites outcomes and hides it": (ignores_its_own_traces, {"tests", "scope"}),
    "deselects": (lambda shop: put(shop, "pytest.ini", DESELECTS), {"tests", "scope"}),
    "skips": (lambda shop: put(shop, "tests/test_shop.py", SKIPPED), {"tests", "scope"}),
    "removes the tests": (
        lambda shop: (shop / "tests" / "test_shop.py").unlink(),
        {"tests", "scope"},
    ),
    "brings a pytest of its own": (
        lambda shop: put(shop, "pytest.py", PRETENDS),
        {"tests", "scope"},
    ),
    "brings a pytest of its own with its code": (
        lambda shop: put(shop, "src/pytest.py", PRETENDS),
        {"tests"},
    ),
    "weakens the test and hides it": (hides_the_weakened_test, {"scope"}),
    "weakens the test and commits it": (commits_the_weakened_test, {"scope"}),
}


@pytest.mark.parametrize("name", CHEATS)
def test_cheat_does_not_pass_and_leaves_no_trace(sandbox: Sandbox, shop: Path, name: str) -> None:
    cheat, blockers = CHEATS[name]
    contract = agreed(shop)
    cheat(shop)
    before = content(shop)
    report = judged(sandbox, shop, contract)

    assert Outcome.FAILED is report.verdict.outcome
    assert blockers <= set(report.verdict.blockers), report.results
    assert before == content(shop)


FORGES = """\
import os, sys, time

for name in sys.argv[1:]:
    for _ in range(3):
        try:
            os.makedirs(os.path.dirname(name), exist_ok=True)
            if os.path.lexists(name):
                os.unlink(name)
            with open(name, "w") as file:
                file.write('{"verdict": {"outcome": "passed"}}')
        except OSError:
            pass
        time.sleep(0.05)
sys.exit(1)
"""


def verifying(
    shop: Path, argv: list[str], *, mark: str = "", **options: Any
) -> subprocess.Popen[bytes]:
    """signoff, judging a workspace by a command; its contract and its run stand beside it."""
    params = {"argv": [sys.executable, *argv], "env": {MARK: mark}, "timeout_s": 60}
    contract = {"id": "c", "criteria": [{"id": "x", "verifier": "command", "params": params}]}
    put(shop.parent, "contract.json", json.dumps(contract))
    named = {"--workspace": "shop", "--out": "run", "--junit": "junit.xml"}
    paths = [str(shop.parent / "contract.json")]
    for option, name in named.items():
        paths += [option, str(shop.parent / name)]
    signoff = [sys.executable, "-m", "signoff", "verify", *paths]
    return subprocess.Popen(signoff, stdout=subprocess.PIPE, **options)


def test_command_that_writes_contract_and_report_changes_neither(
    sandbox: Sandbox, shop: Path
) -> None:
    """What it writes there by name reaches nothing, or is replaced by what was found."""
    if sandbox.run(Command(argv=("true",))).isolation == "L1":
        pytest.skip("at L1 a command writes whatever its user may write")
    names = ("contract.json", "run/report.json", "run/verdict.json", "junit.xml")
    put(shop, "forge.py", FORGES)
    before = content(shop)
    with verifying(shop, ["forge.py", *(str(shop.parent / name) for name in names)]) as signoff:
        printed, _ = signoff.communicate(timeout=60)
    run, contract = str(shop.parent / "run"), str(shop.parent / "contract.json")
    gate = [sys.executable, "-m", "signoff", "gate", run, "--contract", contract]

    assert 1 == signoff.returncode, printed
    assert b"fail  x  exit 1, expected 0" in printed
    assert "c" == json.loads((shop.parent / "contract.json").read_text())["id"]
    assert 'failures="1"' in (shop.parent / "junit.xml").read_text()
    assert 1 == subprocess.run(gate, capture_output=True, check=False).returncode
    assert before == content(shop)


@pytest.mark.skipif(sys.platform != "linux", reason="finds what is left in /proc")
def test_signoff_that_is_killed_leaves_no_verdict_and_nothing_running(shop: Path) -> None:
    """Killed at random moments, from its start on, and while the command runs."""
    chance = random.Random(20261122)
    program = "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    before = content(shop)
    for number in range(4):
        mark = secrets.token_hex(8)
        env = os.environ | {"TMPDIR": str(shop.parent)}
        with verifying(shop, ["-c", program], mark=mark, env=env) as signoff:
            if number % 2:
                assert eventually(lambda mark=mark: bool(marked(mark)), 30)  # type: ignore[misc]  # a lambda
            time.sleep(chance.uniform(0, 0.5))
            signoff.kill()

        assert eventually(lambda mark=mark: not marked(mark))  # type: ignore[misc]  # a lambda
        assert eventually(lambda: not [*shop.parent.glob("signoff-*")])
        assert not (shop.parent / "run" / "verdict.json").exists()
        assert not (shop.parent / "junit.xml").exists()
    assert before == content(shop)
