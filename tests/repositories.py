"""Real repositories for tests, made by the git that is installed, with nothing of this machine in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.model import Finding, Subject
from signoff.probes import PROBES

NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Repo:
    """A repository in a folder; ``git`` runs there as a person would run it."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *options)

    @classmethod
    def at(cls, root: Path) -> Repo:
        """The repository that is there."""
        found = cls.__new__(cls)
        found.root = root
        return found

    def git(self, *arguments: str, code: int | None = 0, **environment: str) -> str:
        """What git prints, without the last newline, having ended with that code if any."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.root),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_AUTHOR_NAME": "a",
                "GIT_AUTHOR_EMAIL": "a@example.org",
                "GIT_COMMITTER_NAME": "a",
                "GIT_COMMITTER_EMAIL": "a@example.org",
                "GIT_ALLOW_PROTOCOL": "file",
            }
            | environment,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
        assert code in {None, done.returncode}, (arguments, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def write(self, name: str, text: str | bytes = "text\n") -> Path:
        """A file with that content, in folders that are made as needed."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def commit(self, **files: str | bytes) -> str:
        """The id of a commit of everything, with these files written before."""
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=more")
        return self.git("rev-parse", "HEAD")

    def judge(self, *allowed: str, **params: Any) -> Finding:
        """What the check says of this workspace."""
        return judged(self.root, {"allowed": [*allowed]} | params)

    def changed(self, base: str | None = None) -> list[str]:
        """The paths that the check finds changed."""
        found = self.judge(**({} if base is None else {"base": base})).data
        assert isinstance(found, dict)
        changed: list[str] = found["changed"]
        return changed


def judged(root: Path, params: dict[str, Any], **facts: Any) -> Finding:
    engine = Engine(PROBES)
    criteria = [{"id": "it", "verifier": "changes_within", "params": params}]
    locked = lock({"id": "c", "criteria": criteria}, engine.registry)
    subject = Subject(output=None, workspace=str(root), **facts)
    return engine.verify(locked, subject).results[0].finding
