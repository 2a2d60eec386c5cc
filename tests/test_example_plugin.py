"""The plug-in under ``examples/plugin`` is built, installed beside signoff, and used by its name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.cli.streams import environment

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "plugin"
USED = ("contract.yaml", "invoice.json", "signoff.toml")

# Two packages are built and an environment is made.
pytestmark = pytest.mark.long


def ran(*argv: str | Path, folder: Path, code: int = 0) -> str:
    """What a program prints; it must end with that code."""
    env = environment(PIP_DISABLE_PIP_VERSION_CHECK="1")
    env.pop("PYTHONPATH", None)
    done = subprocess.run(
        [*map(str, argv)], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert code == done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a fresh environment's programs, with signoff and the plug-in in it."""
    folder = tmp_path_factory.mktemp("plugin")
    pip = (sys.executable, "-m", "pip")
    # Copies, so that building leaves nothing in the tree.
    for source in (ROOT, EXAMPLE):
        copy = folder / source.name
        copy.mkdir()
        for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
            if (source / name).exists():
                shutil.copy(source / name, copy)
        shutil.copytree(source / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
        ran(
            *pip,
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder / "wheels",
            copy,
            folder=folder,
        )
    ran(sys.executable, "-m", "venv", "--without-pip", folder / "venv", folder=folder)
    python = folder / "venv" / "bin" / "python"
    wheels = [*(folder / "wheels").iterdir()]
    ran(
        *pip, "--python", python, "install", "-q", "--no-index", "--no-deps", *wheels, folder=folder
    )
    # What both need is found where the tests have it, so that no index is asked.
    own = ran(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder)
    Path(own.strip(), "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return python.parent


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with the files that use the plug-in."""
    for name in USED:
        shutil.copy(EXAMPLE / name, tmp_path)
    return tmp_path


def test_its_own_test_passes(installed: Path, work: Path) -> None:
    shutil.copytree(EXAMPLE / "tests", work / "tests")
    argv: list[str | Path] = [
        installed / "python",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests",
    ]

    assert "7 passed" in ran(*argv, folder=work)


def test_it_is_used_through_the_command_line(installed: Path, work: Path) -> None:
    signoff = installed / "signoff"
    ran(signoff, "lock", "contract.yaml", folder=work)
    lock = json.loads((work / "contract.lock.json").read_bytes())

    assert "invoice-checks 1.0.0" == lock["verifiers"]["total_agrees"]

    argv = (signoff, "verify", "contract.lock.json", "invoice.json")
    report = json.loads(ran(*argv, "--out", "run", "--json", folder=work))
    assert ("1.0.0", []) == (report["engines"]["invoice-checks"], report["warnings"])
    gate = ran(
        signoff,
        "gate",
        "run",
        "--contract",
        "contract.lock.json",
        "--config",
        "signoff.toml",
        folder=work,
    )
    assert "passed: 2 of 2" in gate

    (work / "invoice.json").write_text((work / "invoice.json").read_text().replace("52.5", "53.5"))
    assert "fail  adds-up    total=53.5, sum=52.5, tolerance=0.005" in ran(
        *argv, folder=work, code=1
    )


def test_installed_alone_it_does_nothing(installed: Path, work: Path) -> None:
    signoff = installed / "signoff"
    listed = ran(signoff, "verifiers", "--no-config", folder=work)

    assert listed.endswith("installed, not in use (invoice-checks 1.0.0)\n")
    ran(signoff, "lock", "contract.yaml", "--no-config", folder=work, code=2)
    ran(signoff, "lock", "contract.yaml", "--no-config", "--plugin", "invoices", folder=work)
    assert "total_agrees" in ran(signoff, "verifiers", folder=work)
    assert "tolerance" in ran(signoff, "verifiers", "total_agrees", folder=work)
