"""The laws of changes_within, over real repositories that were changed at random."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.repositories import NEEDS_GIT, Repo

pytestmark = NEEDS_GIT
NAMES = st.sampled_from(["a", "b", "dir/a", "dir/sub/b", "dir2/c"])
TEXTS = st.sampled_from(["", "1\n", "2\n", "1\n2\n3\n", "1\n3"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, TEXTS),
        st.tuples(st.just("remove"), NAMES, st.just("")),
        st.tuples(st.just("chmod"), NAMES, st.just("")),
        st.tuples(st.sampled_from(["add", "commit", "gc"]), st.just("."), st.just("")),
    ),
    max_size=8,
)


def take(repo: Repo, step: tuple[str, str, str]) -> None:
    what, name, text = step
    path = repo.root / name
    if what == "write":
        repo.write(name, text)
    elif what == "remove":
        path.unlink(missing_ok=True)
    elif what == "chmod":
        if path.exists():
            path.chmod(path.stat().st_mode ^ 0o111)
    elif what == "add":
        repo.git("add", "--all")
    elif what == "commit":
        repo.commit()
    else:
        repo.git("gc", "--quiet", "--prune=now")


def seen_by_git(repo: Repo, base: str) -> list[str]:
    """What git itself says of a repository in which nobody lies."""
    printed = [
        repo.git("diff", "--name-only", "--no-renames", base, "HEAD"),
        repo.git("diff", "--name-only", "--no-renames", "--cached", base),
        repo.git("diff", "--name-only", "--no-renames", base),
        repo.git("ls-files", "--others", "--exclude-standard"),
    ]
    return sorted({line for text in printed for line in text.splitlines()})


class TestChanges:
    """Where nobody lies, the changes are those that git sees in commits, index and files."""

    @settings(max_examples=15, deadline=None)
    @given(st.dictionaries(NAMES, TEXTS), STEPS)
    def test_holds(self, files: dict[str, str], steps: list[tuple[str, str, str]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            repo = Repo(Path(folder) / "work")
            base = repo.commit(**files)
            for step in steps:
                take(repo, step)

            assert seen_by_git(repo, base) == repo.changed(base)


class TestLines:
    """Where only files on disk changed, the lines are those that git counts."""

    @settings(max_examples=10, deadline=None)
    @given(st.dictionaries(NAMES, TEXTS, min_size=1), st.dictionaries(NAMES, TEXTS))
    def test_holds(self, before: dict[str, str], after: dict[str, str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            repo = Repo(Path(folder) / "work")
            base = repo.commit(**before)
            for name, text in after.items():
                repo.write(name, text)
            finding = repo.judge("**", base=base)
            repo.git("add", "--all")
            counts = repo.git("diff", "--numstat", "--no-renames", "--cached", base).split("\n")
            expected = sum(int(n) for line in counts if line for n in line.split("\t")[:2])

            assert isinstance(finding.data, dict)
            assert expected == finding.data["lines"]


class TestMergeBase:
    """The commit that a name leads to is one that git finds as well."""

    @settings(max_examples=10, deadline=None)
    @given(st.lists(st.tuples(st.sampled_from(["one", "two", "three"]), st.booleans()), max_size=8))
    def test_holds(self, steps: list[tuple[str, bool]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            repo = Repo(Path(folder) / "work")
            repo.commit()
            for name in ("one", "two", "three"):
                repo.git("branch", name)
            for time, (name, merging) in enumerate(steps, 1_700_000_000):
                repo.git("checkout", "--quiet", name)
                merge, commit = ["merge", "-m", "m", "one"], ["commit", "--allow-empty", "-m", "m"]
                repo.git(*(merge if merging else commit), GIT_COMMITTER_DATE=f"{time} +0000")
            finding = repo.judge("**", base="one")
            expected = repo.git("merge-base", "--all", "HEAD", "one").split("\n")

            assert isinstance(finding.data, dict)
            assert finding.data["base"] in expected
