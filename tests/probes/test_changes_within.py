"""changes_within: what counts as a change in real repositories, and which commit they are compared with."""

from __future__ import annotations

import os
import socket
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from signoff.model import Finding
from signoff.probes import changes_within as probe
from signoff.status import Cause, Status
from tests.repositories import NEEDS_GIT, Repo, judged

pytestmark = NEEDS_GIT
KINDS = pytest.mark.parametrize(
    "options", [(), ("--object-format=sha256",)], ids=["sha1", "sha256"]
)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "work")


def data(finding: Finding) -> dict[str, Any]:
    assert isinstance(finding.data, dict), finding
    return finding.data


def lines(finding: Finding) -> int:
    found = data(finding)["lines"]
    assert isinstance(found, int)
    return found


# -- what is a change --


@KINDS
def test_committed_staged_unstaged_and_untracked_changes_all_count(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    repo = Repo(tmp_path / "work", *options)
    base = repo.commit(a="1", b="1", c="1", d="1")
    repo.commit(a="2")
    repo.write("b", "2")
    repo.git("add", "b")
    repo.write("c", "2")
    repo.write("new/e", "2")

    assert ["a", "b", "c", "new/e"] == repo.changed(base)


def test_change_that_was_undone_on_disk_stays_one(repo: Repo) -> None:
    base = repo.commit(a="1", b="1", c="1")
    repo.commit(a="2")
    repo.write("a", "1")
    repo.write("b", "2")
    repo.git("add", "b")
    repo.write("b", "1")
    repo.git("rm", "--cached", "--quiet", "c")

    assert ["a", "b", "c"] == repo.changed(base)


def test_committed_change_that_was_undone_in_the_index_as_well_stays_one(repo: Repo) -> None:
    base = repo.commit(a="1", b="1")
    repo.commit(a="2", new="1")
    repo.git("rm", "--quiet", "new")
    repo.write("a", "1")
    repo.git("add", "a")

    assert ["a", "new"] == repo.changed(base)


def test_committed_change_that_was_reverted_by_a_commit_is_none(repo: Repo) -> None:
    base = repo.commit(a="1")
    repo.commit(a="2")
    repo.commit(a="1")

    assert [] == repo.changed(base)


@pytest.mark.parametrize("how", ["committed", "staged", "on disk"])
def test_both_paths_of_a_rename_are_changes(repo: Repo, how: str) -> None:
    base = repo.commit(**{"old": "the same\n" * 9, "src/a": "1"})
    if how == "on disk":
        (repo.root / "old").rename(repo.root / "src" / "new")
    else:
        repo.git("mv", "old", "src/new")
    if how == "committed":
        repo.git("commit", "--quiet", "--message=m")
    finding = repo.judge("src/**", base=base)

    assert "Not allowed: old" == finding.detail
    assert ["old", "src/new"] == repo.changed(base)


@pytest.mark.parametrize("how", ["committed", "staged", "on disk"])
def test_mode_is_a_change_of_no_lines(repo: Repo, how: str) -> None:
    base = repo.commit(a="1\n")
    (repo.root / "a").chmod(0o755)
    if how != "on disk":
        repo.git("add", "a")
    if how == "committed":
        repo.git("commit", "--quiet", "--message=m")

    assert "1 file, 0 lines changed, all allowed." == repo.judge("**", base=base).detail


def test_group_and_other_bits_are_no_change(repo: Repo) -> None:
    base = repo.commit(a="1\n")
    (repo.root / "a").chmod(0o640)

    assert [] == repo.changed(base)


def test_target_of_a_link_is_a_change(repo: Repo) -> None:
    (repo.root / "link").symlink_to("a")
    base = repo.commit(a="1")
    (repo.root / "link").unlink()
    (repo.root / "link").symlink_to("b")

    assert ["link"] == repo.changed(base)


def test_folder_that_became_a_link_loses_its_files(repo: Repo, tmp_path: Path) -> None:
    base = repo.commit(**{"src/a": "1", "src/b": "1"})
    (repo.root / "src").rename(tmp_path / "elsewhere")
    (repo.root / "src").symlink_to(tmp_path / "elsewhere")

    assert ["src", "src/a", "src/b"] == repo.changed(base)
    assert "Not allowed: src" == repo.judge("src/**", base=base).detail


def test_file_that_became_a_folder_is_gone(repo: Repo) -> None:
    base = repo.commit(a="1")
    (repo.root / "a").unlink()
    repo.write("a/b", "1")

    assert ["a", "a/b"] == repo.changed(base)


def test_special_files_are_changes_and_are_never_waited_for(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = repo.commit(a="1")
    (repo.root / "a").unlink()
    os.mkfifo(repo.root / "a")
    os.mkfifo(repo.root / "pipe")
    monkeypatch.chdir(repo.root)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")

        assert ["a", "pipe", "s"] == repo.changed(base)
        assert Status.PASS is repo.judge("**", base=base).status


def test_empty_folder_is_no_change(repo: Repo) -> None:
    base = repo.commit(a="1")
    (repo.root / "b" / "c").mkdir(parents=True)

    assert [] == repo.changed(base)


def test_odd_names_are_told_in_one_safe_line(repo: Repo) -> None:
    base = repo.commit(a="1")
    for name in (b"new\nline", b"\xff", b" a", b'"q"', b"-x", b":(top)y", b"t\tx"):
        Path(os.fsdecode(os.fsencode(repo.root) + b"/" + name)).write_bytes(b"1\n")
    finding = repo.judge("**", base=base)

    assert "7 files, 7 lines changed, all allowed." == finding.detail
    assert [" a", '"q"', "-x", ":(top)y", "new\\u000aline", "t\\u0009x", "\\udcff"] == data(
        finding
    )["changed"]
    assert "Not allowed: new\\u000aline" == repo.judge('[ "t:-]*', base=base).detail


def test_many_changes_are_listed_in_part(repo: Repo) -> None:
    base = repo.commit(a="1")
    for number in range(150):
        repo.write(f"{number:03}", "")
    finding = repo.judge("0*", base=base)

    assert "Not allowed: 100" == finding.detail
    assert (150, 100, 50) == (
        data(finding)["files"],
        len(data(finding)["changed"]),
        len(data(finding)["not_allowed"]),
    )


def test_path_that_is_too_long_is_not_passed_over(repo: Repo) -> None:
    base = repo.commit(a="1")
    folder = os.open(repo.root, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("x" * 250, dir_fd=folder)
        below = os.open("x" * 250, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("file", os.O_CREAT, dir_fd=folder))
    os.close(folder)
    finding = repo.judge("**", base=base)

    assert (Status.INCONCLUSIVE, Cause.EVIDENCE_UNREACHABLE) == (finding.status, finding.cause)
    assert finding.detail.startswith("Workspace cannot be read: xxx")


def test_unreadable_file_is_not_passed_over(repo: Repo) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    base = repo.commit(a="1")
    (repo.root / "a").chmod(0)
    finding = repo.judge("**", base=base)

    assert (Status.INCONCLUSIVE, "Workspace cannot be read: a") == (finding.status, finding.detail)


# -- lines --


def test_lines_are_those_that_were_added_and_removed(repo: Repo) -> None:
    base = repo.commit(a="1\n2\n3\n4\n", gone="1\n2\n")
    repo.write("a", "1\n2\nx\n4\n5\n")
    repo.write("new", "1\n2\n3")
    (repo.root / "gone").unlink()

    assert 3 + 3 + 2 == lines(repo.judge("**", base=base))


def test_of_several_states_the_one_with_the_most_lines_counts(repo: Repo) -> None:
    base = repo.commit(a="1\n")
    repo.commit(a="1\n2\n3\n4\n")
    repo.write("a", "1\n2\n")

    assert 3 == lines(repo.judge("**", base=base))


def test_no_attribute_hides_lines(repo: Repo) -> None:
    base = repo.commit(**{".gitattributes": "* binary\n*.x -diff\n", "a.x": "1\n2\n3\n"})
    repo.write("a.x", "1\n2\n\0\n")

    assert 2 == lines(repo.judge("**", base=base))


def test_too_large_files_count_as_replaced(repo: Repo) -> None:
    before, after = b"x\n" * 2**10, (b"x" * 1023 + b"\n") * (2**16 + 1)
    base = repo.commit(a=before)
    repo.write("a", after)

    assert 2**10 + 2**16 + 1 <= lines(repo.judge("**", base=base)) <= 2**10 + 2**16 + 2


# -- how content is kept --


def test_line_ends_that_the_base_asks_for_are_no_change(repo: Repo) -> None:
    base = repo.commit(**{".gitattributes": "*.bat text eol=crlf\n", "a.bat": "1\n2\n", "b": "1\n"})
    repo.write("a.bat", "1\r\n2\r\n")
    repo.write("b", "1\r\n")

    assert ["b"] == repo.changed(base)

    repo.write("a.bat", "1\r\n3\r\n")

    assert 2 + 2 == lines(repo.judge("**", base=base))


def test_line_ends_of_what_may_be_binary_are_a_change(repo: Repo) -> None:
    base = repo.commit(**{".gitattributes": "* text=auto\n", "a": "1\n\0\n", "b": "1\n"})
    repo.write("a", "1\r\n\0\r\n")
    repo.write("b", "1\r\n")

    assert ["a"] == repo.changed(base)


def test_attributes_that_the_work_brings_count_for_nothing(repo: Repo) -> None:
    base = repo.commit(a="1\n")
    repo.write(".gitattributes", "* text eol=crlf\n")
    repo.write("a", "1\r\n")

    assert [".gitattributes", "a"] == repo.changed(base)


def test_expanded_ident_is_no_change(repo: Repo) -> None:
    base = repo.commit(**{".gitattributes": "a ident\n", "a": "$Id$\n", "b": "$Id$\n"})
    repo.write("a", "$Id: 1234 $\n")
    repo.write("b", "$Id: 1234 $\n")

    assert ["b"] == repo.changed(base)


def test_large_file_is_the_one_that_its_pointer_names(repo: Repo) -> None:
    content = b"large\n" * 100
    digest = sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 600\n"
    base = repo.commit(
        **{".gitattributes": "*.bin filter=lfs -text\n", "a.bin": pointer, "b": pointer}
    )

    assert [] == repo.changed(base)

    repo.write("a.bin", content)
    repo.write("b", content)

    assert ["b"] == repo.changed(base)

    repo.write("a.bin", content + b"x")

    assert ["a.bin", "b"] == repo.changed(base)


# -- submodules and nested repositories --


@pytest.fixture
def with_module(tmp_path: Path) -> tuple[Repo, Repo]:
    """A repository with the submodule ``lib``, and the submodule."""
    source = Repo(tmp_path / "source")
    source.commit(inner="1\n", **{".gitignore": "*.o\n"})
    repo = Repo(tmp_path / "work")
    repo.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source.root), "lib"
    )
    repo.commit(a="1")
    return repo, Repo.at(repo.root / "lib")


def test_submodule_as_it_was_is_no_change(with_module: tuple[Repo, Repo]) -> None:
    repo, module = with_module
    module.write("a.o")

    assert [] == repo.changed("HEAD")


def test_submodule_that_was_not_fetched_is_no_change(
    with_module: tuple[Repo, Repo], tmp_path: Path
) -> None:
    repo, _ = with_module
    repo.git("clone", "--quiet", str(repo.root), str(tmp_path / "clone"))
    finding = judged(tmp_path / "clone", {"allowed": [], "base": "HEAD"})

    assert Status.WARN is finding.status


def test_files_in_a_submodule_are_changes(with_module: tuple[Repo, Repo]) -> None:
    repo, module = with_module
    module.write("inner", "2\n")
    module.write("new", "2\n")

    assert ["lib/inner", "lib/new"] == repo.changed("HEAD")
    assert 3 == lines(repo.judge("**", base="HEAD"))


def test_commit_in_a_submodule_is_a_change_of_the_submodule(with_module: tuple[Repo, Repo]) -> None:
    repo, module = with_module
    base = repo.git("rev-parse", "HEAD")
    module.commit(inner="2\n")

    assert ["lib"] == repo.changed(base)
    assert 2 == lines(repo.judge("**", base=base))

    repo.commit()

    assert ["lib"] == repo.changed(base)


def test_submodule_that_was_removed_or_replaced_is_a_change(with_module: tuple[Repo, Repo]) -> None:
    repo, module = with_module
    (module.root / ".git").unlink()

    assert ["lib/.gitignore", "lib/inner"] == repo.changed("HEAD")

    for path in (module.root / ".gitignore", module.root / "inner"):
        path.unlink()
    module.root.rmdir()

    assert ["lib"] == repo.changed("HEAD")


def test_new_submodule_is_a_change_of_one_path(with_module: tuple[Repo, Repo]) -> None:
    repo, _ = with_module
    repo.git("rm", "--quiet", "--cached", "lib")
    repo.git("commit", "--quiet", "--message=without")
    without = repo.git("rev-parse", "HEAD")
    repo.git("add", "lib")

    assert ["lib"] == repo.changed(without)


def test_nested_repository_is_a_change_and_so_are_its_files(repo: Repo) -> None:
    base = repo.commit(**{"src/a": "1"})
    nested = Repo(repo.root / "src" / "nested")
    nested.commit(b="1")
    (repo.root / "src" / ".git").mkdir()

    assert ["src/.git", "src/nested/.git", "src/nested/b"] == repo.changed(base)


# -- the base --


def test_branch_leads_to_the_merge_base(repo: Repo) -> None:
    base = repo.commit(a="1")
    repo.git("checkout", "--quiet", "-b", "work")
    repo.commit(b="1")
    repo.git("checkout", "--quiet", "main")
    theirs = repo.commit(c="1")
    repo.git("checkout", "--quiet", "work")
    finding = repo.judge("**", base="main")

    assert ["b"] == data(finding)["changed"]
    assert (base, "main", False) == tuple(
        data(finding)[name] for name in ("base", "base_from", "base_pinned")
    )
    assert ["b", "c"] == repo.changed(theirs)


@pytest.mark.parametrize("name", ["v1", "refs/tags/v1", "tags/v1", "light"])
def test_tag_leads_to_its_commit(repo: Repo, name: str) -> None:
    base = repo.commit(a="1")
    repo.git("tag", "--annotate", "--message=m", "v1")
    repo.git("tag", "light")
    repo.commit(b="1")

    assert base == data(repo.judge("**", base=name))["base"]


def test_id_of_a_tag_is_pinned_as_well(repo: Repo) -> None:
    base = repo.commit(a="1")
    repo.git("tag", "--annotate", "--message=m", "v1")
    finding = repo.judge(base=repo.git("rev-parse", "v1"))

    assert (base, True) == (data(finding)["base"], data(finding)["base_pinned"])


def test_packed_references_and_objects_are_read(repo: Repo) -> None:
    base = repo.commit(a="1\n2\n")
    repo.commit(a="1\n3\n")
    repo.git("gc", "--quiet")
    repo.git("pack-refs", "--all")

    assert ["a"] == repo.changed(base)
    assert [] == repo.changed("main")


@pytest.fixture
def cloned(tmp_path: Path) -> Repo:
    """A clone of a repository with one commit."""
    origin = Repo(tmp_path / "origin")
    origin.commit(a="1")
    return clone(origin, tmp_path / "work")


def clone(origin: Repo, folder: Path, *options: str) -> Repo:
    origin.git("clone", "--quiet", *options, f"file://{origin.root}", str(folder))
    return Repo.at(folder)


def test_upstream_is_the_default(cloned: Repo) -> None:
    cloned.git("checkout", "--quiet", "-b", "work", "--track", "origin/main")
    cloned.commit(b="1")
    finding = cloned.judge("b")

    assert ("1 file, 1 line changed, all allowed.", "refs/remotes/origin/main") == (
        finding.detail,
        data(finding)["base_from"],
    )


def test_main_branch_is_compared_with_what_was_cloned(cloned: Repo) -> None:
    cloned.commit(b="1")

    assert ["b"] == cloned.changed()


def test_what_was_pushed_to_its_own_branch_still_counts(cloned: Repo) -> None:
    cloned.git("checkout", "--quiet", "-b", "work")
    cloned.commit(b="1")
    cloned.git("push", "--quiet", "--set-upstream", "origin", "work")

    assert ["b"] == cloned.changed()


def test_branch_that_follows_another_is_compared_with_that(cloned: Repo) -> None:
    cloned.commit(b="1")
    cloned.git("checkout", "--quiet", "-b", "work", "--track", "main")
    cloned.commit(c="1")

    assert ["c"] == cloned.changed()


def test_detached_head_is_compared_with_the_default_branch_of_origin(cloned: Repo) -> None:
    cloned.commit(b="1")
    cloned.git("checkout", "--quiet", "--detach")
    finding = cloned.judge("**")

    assert (["b"], "refs/remotes/origin/HEAD") == (
        data(finding)["changed"],
        data(finding)["base_from"],
    )


def test_no_upstream_is_said(repo: Repo) -> None:
    repo.commit(a="1")
    finding = repo.judge("**")

    assert (Status.INCONCLUSIVE, Cause.NOT_RECORDED) == (finding.status, finding.cause)


def test_shallow_clone_knows_the_base_that_it_fetched(tmp_path: Path) -> None:
    origin = Repo(tmp_path / "origin")
    for number in range(4):
        origin.commit(**{f"f{number}": "1"})
    base = origin.git("rev-parse", "HEAD~1")
    work = clone(origin, tmp_path / "work", "--depth=2")

    assert ["f3"] == work.changed(base)

    finding = work.judge("**", base=origin.git("rev-parse", "HEAD~2"))

    assert Status.INCONCLUSIVE is finding.status
    assert finding.detail.startswith("Base is not in the repository: ")


def test_shallow_histories_without_a_common_commit_are_said(tmp_path: Path) -> None:
    origin = Repo(tmp_path / "origin")
    origin.commit(a="1")
    origin.git("checkout", "--quiet", "-b", "work")
    origin.commit(b="1")
    origin.git("checkout", "--quiet", "main")
    origin.commit(c="1")
    work = clone(origin, tmp_path / "work", "--depth=1", "--no-single-branch", "--branch=work")
    finding = work.judge("**", base="origin/main")

    assert (
        Status.INCONCLUSIVE,
        "HEAD and origin/main share no commit here; a shallow clone needs more history.",
    ) == (finding.status, finding.detail)


def test_partial_clone_without_the_content_is_said_and_not_fetched(tmp_path: Path) -> None:
    origin = Repo(tmp_path / "origin")
    origin.git("config", "uploadpack.allowFilter", "true")
    base = origin.commit(a="1\n")
    origin.commit(a="2\n")
    work = clone(origin, tmp_path / "work", "--filter=blob:none")
    finding = work.judge("**", base=base)

    assert Status.INCONCLUSIVE is finding.status
    assert finding.detail.startswith("The repository lacks an object, fetch it: ")
    assert "Not allowed: a" == work.judge(base=base).detail


def test_linked_working_tree_is_one(repo: Repo, tmp_path: Path) -> None:
    base = repo.commit(a="1")
    repo.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    linked = Repo.at(tmp_path / "linked")
    linked.commit(b="1")

    assert ["b"] == linked.changed(base)
    assert ["b"] == linked.changed("main")
    assert [] == repo.changed(base)


def test_borrowed_objects_are_read(repo: Repo, tmp_path: Path) -> None:
    base = repo.commit(a="1")
    work = Repo.at(tmp_path / "clone")
    repo.git("clone", "--quiet", "--shared", str(repo.root), str(work.root))
    work.write("b")
    assert (work.root / ".git" / "objects" / "info" / "alternates").exists()

    assert ["b"] == work.changed(base)


def test_repository_without_a_commit_is_inconclusive(repo: Repo) -> None:
    repo.write("a")

    assert Status.INCONCLUSIVE is repo.judge("**", base="HEAD").status
    assert Status.INCONCLUSIVE is repo.judge("**", base="main").status
    assert Status.INCONCLUSIVE is repo.judge("**").status


def test_folder_below_the_top_is_not_judged(repo: Repo) -> None:
    repo.commit(**{"src/a": "1"})
    finding = judged(repo.root / "src", {"allowed": ["**"], "base": "HEAD"})

    assert "The workspace is not the top folder of a git repository." == finding.detail


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_of_the_index_is_read(repo: Repo, version: str) -> None:
    base = repo.commit(**{"a/b": "1", "a/bc": "1", "b": "1", "x" * 200: "1"})
    repo.write("a/new", "1")
    if version == "3":
        repo.git("add", "--intent-to-add", "a/new")
    else:
        repo.git("add", "a/new")
        repo.git("update-index", "--index-version", version)
    assert int(version) == (repo.root / ".git" / "index").read_bytes()[7]

    assert ["a/new"] == repo.changed(base)


def test_sparse_index_is_read_and_absent_files_are_gone(repo: Repo) -> None:
    base = repo.commit(**{"a/b": "1", "c/d": "1", "e": "1"})
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "a")

    assert ["c/d"] == repo.changed(base)


def test_split_index_is_refused(repo: Repo) -> None:
    base = repo.commit(a="1")
    repo.git("update-index", "--split-index")
    finding = repo.judge("**", base=base)

    assert (
        Status.INCONCLUSIVE,
        "The index cannot be read: it is split; run git update-index --no-split-index",
    ) == (finding.status, finding.detail)


def test_conflict_is_a_change(repo: Repo) -> None:
    base = repo.commit(a="1\n")
    repo.git("checkout", "--quiet", "-b", "work")
    repo.commit(a="2\n")
    repo.git("checkout", "--quiet", "main")
    repo.commit(a="3\n")
    repo.git("merge", "work", code=1)
    repo.write("a", "1\n")

    assert ["a"] == repo.changed(base)


# -- the program --


def test_missing_git_is_one_sentence(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    base = repo.commit(a="1")
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = repo.judge("**", base=base)

    assert (
        Status.ERROR,
        Cause.NOT_INSTALLED,
        "changes_within needs git, which is not on PATH",
    ) == (
        finding.status,
        finding.cause,
        finding.detail,
    )


def fake_git(folder: Path, script: str) -> str:
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_git_that_never_answers_ends_by_the_deadline(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    base = repo.commit(a="1")
    mark = tmp_path / "started"
    monkeypatch.setenv("PATH", fake_git(tmp_path / "bin", f"echo $$ > {mark}; exec sleep 60"))
    monkeypatch.setattr(probe, "LIMIT_S", 0.5)
    finding = repo.judge("**", base=base)

    assert (
        Status.INCONCLUSIVE,
        Cause.EVIDENCE_TIMED_OUT,
        "The repository was not read within 0.5 s.",
    ) == (finding.status, finding.cause, finding.detail)
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


@pytest.mark.parametrize(
    "script",
    ["yes", "tr '\\0' 'x' < /dev/zero", "exit 0", "exit 1", "cat", "echo x y z", "kill -9 $$"],
)
def test_git_that_answers_nonsense_is_never_a_pass(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    base = repo.commit(a="1")
    monkeypatch.setenv("PATH", fake_git(tmp_path / "bin", script))
    finding = repo.judge("**", base=base)

    assert (Status.INCONCLUSIVE, Cause.EVIDENCE_UNREACHABLE) == (finding.status, finding.cause)


def test_nothing_is_left_behind(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    base = repo.commit(a="1")
    repo.write("a", "2")
    before = {path: stat.S_IFMT(path.lstat().st_mode) for path in (repo.root / ".git").rglob("*")}
    repo.judge("**", base=base)
    repo.judge("**", base="nowhere")

    assert [] == list(scratch.iterdir())
    assert before == {
        path: stat.S_IFMT(path.lstat().st_mode) for path in (repo.root / ".git").rglob("*")
    }


# -- the base that is recorded with the work --


def test_base_that_is_recorded_with_the_work_counts_where_the_contract_names_none(
    repo: Repo,
) -> None:
    base = repo.commit(a="1")
    repo.commit(b="1")
    finding = judged(repo.root, {"allowed": ["b"]}, base=base)

    assert (Status.PASS, True) == (finding.status, data(finding)["base_pinned"])
    assert base == data(finding)["base"]


def test_base_of_the_contract_wins_over_a_recorded_one(repo: Repo) -> None:
    base = repo.commit(a="1")
    later = repo.commit(b="1")
    finding = judged(repo.root, {"allowed": [], "base": base}, base=later)

    assert "Not allowed: b" == finding.detail


def test_recorded_base_that_is_not_there_is_inconclusive(repo: Repo) -> None:
    repo.commit(a="1")
    finding = judged(repo.root, {"allowed": ["**"]}, base="0" * 40)

    assert Cause.EVIDENCE_UNREACHABLE is finding.cause


def test_tag_that_is_called_like_a_branch_does_not_move_the_base(repo: Repo) -> None:
    repo.commit(a="1")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.commit(evil="1")
    repo.git("tag", "origin/main")
    short = judged(repo.root, {"allowed": [], "base": "origin/main"})
    full = judged(repo.root, {"allowed": [], "base": "refs/remotes/origin/main"})

    assert Status.INCONCLUSIVE is short.status
    assert "refs/tags/origin/main and refs/remotes/origin/main" in short.detail
    assert "Not allowed: evil" == full.detail


def test_tag_that_is_called_like_a_branch_and_is_the_same_commit_is_not_ambiguous(
    repo: Repo,
) -> None:
    repo.commit(a="1")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.git("tag", "origin/main")
    repo.commit(b="1")

    assert ["b"] == repo.changed("origin/main")
