"""Objects of a repository are used for what they are, and for nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import NotJudged
from signoff.git.objects import Objects
from signoff.git.program import Deadline, clean_git
from tests.repositories import NEEDS_GIT, Repo

pytestmark = NEEDS_GIT
NOWHERE = "1" * 40


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "work")
    (made.root / "file").write_text("text")
    made.git("add", "file")
    made.git("commit", "-m", "first")
    made.git("tag", "-a", "-m", "a tag", "of-commit")
    made.git("tag", "-a", "-m", "a tag", "of-file", "HEAD:file")
    return made


@pytest.fixture
def objects(repo: Repo) -> Iterator[Objects]:
    folder = str(repo.root / ".git" / "objects")
    with (
        clean_git(str(repo.root), "sha1", Deadline.after(60)) as git,
        Objects.opened(git, folder) as found,
    ):
        yield found


def written(repo: Repo, kind: str, data: bytes) -> str:
    """An object that git itself would not make."""
    file = repo.root / "object"
    file.write_bytes(data)
    return repo.git("hash-object", "-t", kind, "-w", "--literally", "object")


def refused(ask: Callable[[str], Any], id_: str) -> str:
    with pytest.raises(NotJudged) as caught:
        ask(id_)
    return str(caught.value.finding.detail)


def test_a_tag_is_followed_to_its_commit_and_to_nothing_else(repo: Repo, objects: Objects) -> None:
    commit = repo.git("rev-parse", "HEAD")
    found = objects.commit(repo.git("rev-parse", "of-commit"))

    assert found is not None
    assert (commit, repo.git("rev-parse", "HEAD^{tree}")) == (found.id, found.tree)
    assert objects.commit(NOWHERE) is None
    for name in ("of-file", "HEAD:file", "HEAD^{tree}"):
        assert "is no commit that can be used" in refused(
            objects.commit, repo.git("rev-parse", name)
        )


@pytest.mark.parametrize(
    "data",
    [
        b"object none\ntype commit\n\n",
        b"type commit\n\n",
        b"object " + b"A" * 40 + b"\n",
    ],
)
def test_a_tag_of_nothing_is_no_commit(repo: Repo, objects: Objects, data: bytes) -> None:
    assert "is no commit" in refused(objects.commit, written(repo, "tag", data))


@pytest.mark.parametrize(
    "data",
    [
        b"author a\n\ntree " + b"1" * 40,
        b"tree " + b"1" * 40 + b"\ntree " + b"2" * 40 + b"\n\n",
        b"tree " + b"1" * 39 + b"\n\n",
        b"tree " + b"1" * 40 + b"\nparent HEAD\n\n",
    ],
)
def test_a_commit_of_one_tree_and_of_parents_alone_is_one(
    repo: Repo, objects: Objects, data: bytes
) -> None:
    assert "is no commit" in refused(objects.commit, written(repo, "commit", data))


@pytest.mark.parametrize(
    ("said", "time"),
    [(b"1700000000", 1_700_000_000), (b"-1", 0), (b"1" * 18, 0), (b"x", 0)],
)
def test_a_time_that_is_none_is_the_beginning(
    repo: Repo, objects: Objects, said: bytes, time: int
) -> None:
    data = b"tree " + b"1" * 40 + b"\ncommitter a <a> " + said + b" +0000\n\n"
    found = objects.commit(written(repo, "commit", data))

    assert found is not None
    assert time == found.time


def test_content_is_of_files_alone(repo: Repo, objects: Objects) -> None:
    assert b"text" == objects.content(repo.git("rev-parse", "HEAD:file")).data
    assert f"lacks an object, fetch it: {NOWHERE}" in refused(objects.content, NOWHERE)
    assert "is no blob" in refused(objects.content, repo.git("rev-parse", "HEAD"))


def test_files_are_of_trees_alone(repo: Repo, objects: Objects) -> None:
    assert {b"file"} == {*objects.files(repo.git("rev-parse", "HEAD^{tree}"))}
    assert "is no tree" in refused(objects.files, repo.git("rev-parse", "HEAD:file"))
    assert f"lacks an object, fetch it: {NOWHERE}" in refused(objects.files, NOWHERE)
