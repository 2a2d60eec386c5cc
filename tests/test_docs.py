"""
What the documents show is what happens.

Each page is one session in a folder of its own, which holds the files of ``demo/``,
or of the example that the page is about, at the start.  A code block that names a file (```` ```yaml contract.yaml ````)
writes it there.  In a ```` ```console ```` block the lines after ``$`` are run,
and what stands below them is what they print; ``...`` stands for any text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.streams import environment

ROOT = Path(__file__).resolve().parent.parent
SCC = ROOT / "docs" / "dialects" / "scc.md"
WATTSWARM = ROOT / "docs" / "dialects" / "wattswarm.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), SCC, WATTSWARM]
EXAMPLES = {SCC: ROOT / "examples" / "scc", WATTSWARM: ROOT / "examples" / "wattswarm"}
IDENTITY = {
    f"GIT_{who}_{what}": "a@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


class Block(NamedTuple):
    """A code block: its language, the file that it names or "", and its text."""

    language: str
    file: str
    text: str


class Step(NamedTuple):
    """A command, and what it prints."""

    command: str
    printed: str


def blocks(page: str) -> Iterator[Block]:
    """The code blocks of a page."""
    for language, file, text in BLOCK.findall(page):
        yield Block(language, file, text)


def steps(text: str) -> Iterator[Step]:
    """The commands of a console block; a line that ends in a backslash goes on in the next."""
    for command, printed in STEP.findall(text):
        yield Step(command, printed)


def agrees(expected: str, got: str) -> bool:
    """The texts are equal, where ``...`` is equal to any text."""
    pattern = ".*".join(map(re.escape, expected.split("...")))
    return re.fullmatch(pattern, got, re.DOTALL) is not None


class Session:
    """A shell in a folder with files to begin with, and ``signoff`` and ``python`` on its path."""

    def __init__(self, folder: Path, example: Path = ROOT / "demo") -> None:
        self.folder = folder / "work"
        self.exit_code = 0
        shutil.copytree(example, self.folder, ignore=shutil.ignore_patterns("__pycache__"))
        programs = folder / "bin"
        programs.mkdir()
        for name, arguments in (("python", ""), ("signoff", "-m signoff")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
            program.chmod(0o755)
        env = environment()
        path = [
            str(Path(entry).resolve()) for entry in env.get("PYTHONPATH", "").split(":") if entry
        ]
        self.env = env | {
            **IDENTITY,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PATH": f"{programs}:{env['PATH']}",
            "PYTHONPATH": ":".join(path),
            "PYTHONUNBUFFERED": "1",  # the order of both streams is that on a terminal
        }

    def run(self, command: str) -> str:
        """What a command prints, on either stream."""
        done = subprocess.run(
            ["sh", "-c", f"(exit {self.exit_code})\n{command}"],  # so that $? is known
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        self.exit_code = done.returncode
        return done.stdout.decode()

    def differences(self, page: str) -> Iterator[str]:
        """Play a page; what it shows and what happened, where they differ."""
        for block in blocks(page):
            if block.language == "console":
                for step in steps(block.text):
                    got = self.run(step.command)
                    if not agrees(step.printed, got):
                        yield f"$ {step.command}\n{got}"
            elif block.file:
                (self.folder / block.file).write_text(block.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_shows_what_happens(page: Path, tmp_path: Path) -> None:
    if "\n$ curl " in page.read_text("utf-8") and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    session = Session(tmp_path, EXAMPLES.get(page, ROOT / "demo"))
    found = [*session.differences(page.read_text("utf-8"))]

    assert [] == found, "\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_and_console_blocks_are_played(page: Path) -> None:
    played = [*blocks(page.read_text("utf-8"))]
    fences = re.findall(r"^ *```\w+.*$", page.read_text("utf-8"), re.MULTILINE)

    assert len(played) == len(fences), "a block is indented, never closed or oddly named"
    assert [] == [one.text for one in played if one.language == "python" and not one.file]
    assert [] == [one.file for one in played if one.file and not is_used(one.file, played)]
    assert [] == [one.text for one in played if one.language == "console" and "$ " != one.text[:2]]


def is_used(file: str, played: list[Block]) -> bool:
    """A command, or a program that a command runs, speaks of the file."""
    words = re.compile(rf"(?<![\w.-])(?:{re.escape(file)}|{re.escape(Path(file).stem)})(?![\w-])")
    return any(
        words.search(one.text)
        for one in played
        if one.language in {"console", "python"} and one.file != file
    )


# -- the test notices --

PAGE = """\
```text note.txt
one
```
```console
$ cat note.txt
{cat}
$ printf '%s\\n' \\
    a b
{printf}
$ signoff --version
signoff ...
$ (exit 7)
$ echo $?
7
```
"""


@pytest.mark.parametrize(
    ("cat", "printf", "count"),
    [("one", "a\nb", 0), ("two", "a\nb", 1), ("one\n", "a\nb", 1), ("o...", "...", 0), ("", "", 2)],
)
def test_difference_is_noticed(cat: str, printf: str, count: int, tmp_path: Path) -> None:
    page = PAGE.format(cat=cat, printf=printf)

    assert count == len([*Session(tmp_path).differences(page)])
