"""The tree can be handed to anyone: nothing of a developer's machine, nothing huge, no dead links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE_BYTES = 900_000

# What tools leave behind, see .gitignore.
LEFT_BEHIND = {
    ".git",
    ".hypothesis",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    "__pycache__",
    "build",
    "dist",
    "htmlcov",
    "node_modules",
}

# Written so that they do not match themselves.
MACHINE = re.compile(r"(?<![\w.~])/(?:root|home/[\w.-]+|Users/[\w.-]+)/")
SCRATCH = re.compile(r"(?<![\w.~])/(?:tmp|var/tmp|private)/\w")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(
    r"(?<!\\)\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE
)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)


def files() -> Iterator[Path]:
    """Every file of the tree, save what tools leave behind."""
    waiting = [ROOT]
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            if path.name in LEFT_BEHIND or path.name.endswith(".egg-info"):
                continue
            if path.is_dir() and not path.is_symlink():
                waiting.append(path)
            elif path.is_file():
                yield path


def machine_paths(text: str, *, scratch: bool) -> list[str]:
    """Absolute paths that exist on somebody's machine only; scratch folders too where asked."""
    found = MACHINE.findall(text)
    return [*found, *SCRATCH.findall(text)] if scratch else found


def links(text: str) -> list[str]:
    """Targets of a Markdown text's links, outside of its code."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    return [inline or reference for inline, reference in LINK.findall(prose)]


def anchors(text: str) -> set[str]:
    """What may follow ``#`` in a link to a Markdown text."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        repeats = sum(
            1 for one in found if one == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", one)
        )
        found.add(f"{slug}-{repeats}" if repeats else slug)
    return found


def dead_links(path: Path, text: str) -> Iterator[str]:
    """Links to files that are not there, to headings that are not there, or out of the tree."""
    for target in links(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        other = (path.parent / name).resolve()
        if name and not (other.exists() and other.is_relative_to(ROOT)):
            yield f"{path.name}: {target} leads nowhere"
            continue
        document = other.read_text("utf-8") if other.suffix == ".md" else text
        if anchor and anchor not in anchors(document):
            yield f"{path.name}: {target} names no heading"


FILES = [*files()]
DOCUMENTS = [path for path in FILES if path.suffix == ".md"]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_tree_is_found() -> None:
    assert {"pyproject.toml", "tests/test_tree.py"} <= {*map(relative, FILES)}


def test_licence_is_there() -> None:
    licence = (ROOT / "LICENSE").read_text("utf-8")

    assert ["Apache License", "Version 2.0, January 2004"] == [
        line.strip() for line in licence.splitlines() if line.strip()
    ][:2]
    assert "END OF TERMS AND CONDITIONS" in licence


def test_files_are_small() -> None:
    assert [] == [relative(path) for path in FILES if path.stat().st_size > MAX_FILE_BYTES]


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_paths_of_one_machine(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")

    assert [] == machine_paths(text, scratch=path.suffix == ".md")


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_links_lead_somewhere(path: Path) -> None:
    assert [] == [*dead_links(path, path.read_text("utf-8"))]


# -- each rule notices --


@pytest.mark.parametrize(
    ("text", "scratch", "count"),
    [
        ("see {}root/project/x.py", False, 1),
        ("open('{}home/ann/x')", False, 1),
        ("file://{}Users/ann/x", False, 1),
        ("see {}tmp/x", True, 1),
        ("see {}tmp/x", False, 0),
        ("the folder {}tmp is private", True, 0),
        ("https://example.org{}home/x/", False, 0),
        ("docs{}home/ann/x", False, 0),
        ("the {}home/ folder", False, 0),
    ],
)
def test_path_of_one_machine_is_noticed(text: str, *, scratch: bool, count: int) -> None:
    assert count == len(machine_paths(text.format("/"), scratch=scratch))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("[a](test_tree.py)", 0),
        ("[a](../LICENSE)", 0),
        ("[a](https://example.org/x)", 0),
        ("[a](absent.md)", 1),
        ("![a](absent.png)", 1),
        ("[a]: absent.md", 1),
        ("[a](../../elsewhere)", 1),
        ("# One two: `x`\n[a](#one-two-x)", 0),
        ("# One\n# One\n[a](#one-1)", 0),
        ("# One\n[a](#two)", 1),
        ("`[a](absent.md)`", 0),
        ("```\n[a](absent.md)\n```", 0),
    ],
)
def test_dead_link_is_noticed(text: str, count: int) -> None:
    assert count == len([*dead_links(Path(__file__).with_name("here.md"), text)])


def test_no_pattern_repeats_a_group_possessively() -> None:
    # Python before 3.11.5 matches these wrongly; an atomic group says the same.
    for module in sorted((ROOT / "src" / "signoff").rglob("*.py")):
        assert ")*+" not in module.read_text(), module.name
        assert ")++" not in module.read_text(), module.name
