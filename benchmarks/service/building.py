"""
The programs that the rows of the service need, built outside the tree.

They are kept in ``signoff-bench`` below ``$XDG_CACHE_HOME``, or ``~/.cache``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.row import Unavailable

__all__ = ["built_by_cargo", "installed_by_npm"]

HERE: Final = Path(__file__).resolve().parent
LIMIT_S: Final = 1_200.0


def built_by_cargo(folder: str, program: str) -> Path:
    """
    A program of the Cargo project in a folder beside this file.

    Raises:
        Unavailable: There is no cargo, or it cannot build it.
    """
    target = _cache() / "cargo"
    manifest = str(HERE / folder / "Cargo.toml")
    _run(
        ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", manifest],
        env={"CARGO_TARGET_DIR": str(target)},
    )
    return target / "release" / program


def installed_by_npm(folder: str) -> Path:
    """
    A copy of a folder beside this file, with the packages that its lock file names.

    Raises:
        Unavailable: There is no npm, or it cannot install them.
    """
    source, target = HERE / folder, _cache() / folder
    lock = (source / "package-lock.json").read_bytes()
    kept = target / "package-lock.json"
    is_new = not (target / "node_modules").is_dir() or kept.read_bytes() != lock
    shutil.copytree(source, target, dirs_exist_ok=True)
    if is_new:
        _run(["npm", "ci", "--no-audit", "--no-fund"], cwd=target)
    return target


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "signoff-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> None:
    program = argv[0]
    if shutil.which(program) is None:
        raise Unavailable(f"there is no {program}")
    try:
        done = subprocess.run(
            argv,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise Unavailable(f"{program} was not done within {LIMIT_S:g} s") from exc
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "err" in line.lower()), "")
        raise Unavailable(f"{program} exited with {done.returncode}: {said[:100]}")
