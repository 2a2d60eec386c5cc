"""Runs programs as nobody, wherever signoff and its Python lie."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65_534
NEEDED = """\
import signoff.sandbox, sys
for name, module in sorted(sys.modules.items()):
    file = getattr(module, "__file__", None)
    if file and "." not in name and name not in {*sys.stdlib_module_names, "__main__"}:
        print(file)
"""


class OrdinaryUser:
    """
    Someone without any privileges, for whom root runs programs of Python.

    Args:
        python: An interpreter that they may run.
        packages: Folder of theirs with copies of signoff and of what its sandbox needs.
        temporary: Folder of theirs for everything temporary.
    """

    def __init__(self, python: str, packages: str, temporary: str) -> None:
        self.python = python
        self.packages = packages
        self.temporary = temporary

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """How a program ended."""
        return subprocess.run(
            [self.python, "-B", "-c", program, *arguments],
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "PYTHONPATH": self.packages,
                "TMPDIR": self.temporary,
                "HOME": "/nonexistent",
            },
            cwd="/",
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def lacks(self) -> str:
        """What keeps them from running signoff; "" when nothing does."""
        try:
            done = self.run("import signoff.sandbox.keeper")
        except OSError as exc:
            return f"{self.python}: {exc.strerror}"
        said = done.stderr.strip().rpartition("\n")[2] or f"ended with {done.returncode}"
        return f"{self.python}: {said}" if done.returncode else ""


@contextmanager
def ordinary_user() -> Iterator[OrdinaryUser]:
    """Nobody, with a copy of signoff; where no Python can run it, the test is skipped."""
    if os.geteuid():
        pytest.skip("only root can become another user")
    with folder_of_nobody() as temporary, folder_of_nobody() as packages:
        copy_packages(packages)
        lacking = list[str]()
        for python in interpreters():
            user = OrdinaryUser(python, str(packages), str(temporary))
            if not (why := user.lacks()):
                yield user
                return
            lacking.append(why)
    pytest.skip(f"no Python that nobody may run can run signoff: {'; '.join(lacking)}")


@contextmanager
def folder_of_nobody() -> Iterator[Path]:
    """A new folder that belongs to nobody, where nobody may go."""
    with tempfile.TemporaryDirectory(prefix="signoff-test-", dir=passable()) as folder:
        os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


def passable() -> str:
    """A folder for temporary ones; the set one may lie where only root may go."""
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        path = Path(place).resolve()
        if all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents)):
            return str(path)
    pytest.skip("every folder for temporary files lies where only root may go")


def copy_packages(target: Path) -> None:
    """Copies the signoff that is tested, with what it needs, since the original may be private."""
    told = subprocess.run(
        [sys.executable, "-P", "-c", NEEDED],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    ignored = shutil.ignore_patterns("__pycache__")
    for file in map(Path, told.stdout.splitlines()):
        if file.name == "__init__.py":
            shutil.copytree(file.parent, target / file.parent.name, ignore=ignored)
        else:
            shutil.copy(file, target)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def interpreters() -> list[str]:
    """Ours, what its virtual environment was made from, and those of the system."""
    names = (f"python{sys.version_info.major}.{sys.version_info.minor}", "python3")
    searched = (shutil.which(name, path="/usr/bin:/usr/local/bin") for name in names)
    found = (sys.executable, os.path.realpath(sys.executable), *filter(None, searched))
    return list(dict.fromkeys(found))
