"""Workspaces as the vectors describe them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def made(folder: Path, files: Mapping[str, str], links: Mapping[str, str]) -> Path:
    """The folder, with these files, and links to these targets."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    for name, target in links.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            for below in sorted(path.rglob("*"), reverse=True):
                below.rmdir() if below.is_dir() else below.unlink()
            path.rmdir()
        path.symlink_to(target)
    return folder
