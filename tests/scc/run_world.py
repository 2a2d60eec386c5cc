"""Workspaces in which ``scc run`` is tested: an initialised repository and contracts for it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from signoff.sandbox import Sandbox
from signoff.scc.installation import install
from signoff.scc.run import RunEnded, RunRequest, run
from signoff.scc.store import place_of
from signoff.scc.workspace import Workspace

AREA = "control_plane"
IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
VERIFIER = "python tools/ci/mvm-verdict.py --case basic"
PHASE4 = "python tools/ci/run_phase4_checks.py"


def check(name: str = "one", code: str = "pass", **more: Any) -> dict[str, Any]:
    """A check that runs a program of Python, which may hold no double quote."""
    return {"name": name, "command": f'python -c "{code}"', **more}


def contract(*checks: dict[str, Any], task_id: str = "T1", **more: Any) -> dict[str, Any]:
    return {
        "schema_version": "v0.1.0",
        "task_id": task_id,
        "goal": "it works",
        "scope_allow": "src/**",
        "constraints": "",
        "stop_condition": "",
        "commands_hint": "",
        "acceptance": {"checks": list(checks)},
        "inputs_ref": {},
        "outputs_expected": {"verdict_required": True},
        **more,
    }


class World:
    """
    A workspace.

    Args:
        root: Where it is made.
        sandbox: Runs what its checks start.
    """

    def __init__(self, root: Path, sandbox: Sandbox) -> None:
        self.root = root
        self.sandbox = sandbox
        self.steps: list[str] = []
        self.workspace = Workspace.at(root)

    def git(self, *words: str) -> str:
        env = {**os.environ, **IDENTITY}
        done = subprocess.run(
            ["git", "-C", self.root, *words], env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a state")

    def write(self, path: str, text: str) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def agree(self, *checks: dict[str, Any], path: str = "c.json", **more: Any) -> None:
        """A contract with these checks, committed."""
        self.write(path, json.dumps(contract(*checks, **more)))
        self.commit()

    def run(self, path: str = "c.json", **options: Any) -> RunEnded:
        on_step: Callable[[str], object] = options.pop("on_step", self.steps.append)
        request: dict[str, Any] = {
            "workspace": self.workspace,
            "contract": path,
            "env": {"PATH": os.environ["PATH"]},
            "clock": lambda: datetime.now(UTC),
            "sandbox": self.sandbox,
            "on_step": on_step,
        }
        return run(RunRequest(**{**request, **options}))

    def settle(self, *lines: str) -> None:
        """Settings of these lines, besides what every workspace here has."""
        own = ('unit_registry = "builtin"', 'ssot_registry = "none"')
        self.write(".signoff/scc.toml", "\n".join((*own, *lines, "")))

    def json(self, path: str) -> Any:
        return json.loads((self.root / path).read_bytes())

    def evidence(self, ended: RunEnded, name: str) -> Any:
        return self.json(f"{ended.run_dir}/evidence/{name}")

    def artifacts(self, name: str = "T1", area: str = AREA) -> Path:
        return self.root / "docs/REPORT" / area / "artifacts" / name

    def verdict(self, name: str = "T1", area: str = AREA) -> Any:
        """What the mirror or pointer says, None where there is nothing."""
        place = self.artifacts(name, area) / "verdict.json"
        return json.loads(place.read_bytes()) if place.is_file() else None

    def passes(self) -> list[str]:
        """Everything that says PASS where anybody looks: mirrors, pointers and the gate report."""
        places = [*self.root.glob("docs/REPORT/*/artifacts/*/verdict.json")]
        places += self.root.glob("mvm/verdict/verdict.json")
        return sorted(str(one.relative_to(self.root)) for one in places if _is_pass(one))


def _is_pass(place: Path) -> bool:
    try:
        said = json.loads(place.read_bytes())
    except ValueError:
        return False
    return "PASS" in {said.get("verdict"), said.get("status")}


def world(root: Path, sandbox: Sandbox) -> World:
    """An initialised repository with its first commit."""
    made = World(root, sandbox)
    made.git("init", "-q")
    install(made.workspace, place_of(made.workspace, {}))
    made.write(".gitignore", ".signoff/*\n!.signoff/scc.toml\n")
    made.write("src/a.py", "x = 1\n")
    made.commit()
    return made
