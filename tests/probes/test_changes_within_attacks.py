"""
changes_within against a repository that whoever did the work has prepared.

Each trap is first shown to work on git itself, run as people run it: what would not
fool anyone proves nothing.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path
from time import monotonic

import pytest

from signoff.probes import changes_within as probe
from signoff.status import Cause, Status
from tests.repositories import NEEDS_GIT, Repo

pytestmark = NEEDS_GIT


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "work")
    made.commit(**{"a": "1\n", "ci/x.yml": "1\n"})
    return made


@pytest.fixture
def base(repo: Repo) -> str:
    return repo.git("rev-parse", "HEAD")


# -- programs that the configuration names --


def script(folder: Path) -> tuple[str, Path]:
    """A program that leaves a mark, and the mark."""
    mark, program = folder / "mark", folder / "trap"
    program.write_text(f"#!/bin/sh\necho ran >> '{mark}'\n")
    program.chmod(0o755)
    return str(program), mark


Trap = tuple[Callable[[Repo, str], None], tuple[str, ...]]


def setting(name: str, value: str = "{}") -> Callable[[Repo, str], None]:
    def set_trap(repo: Repo, program: str) -> None:
        repo.git("config", name, value.format(program))

    return set_trap


def attributes(line: str, *settings: str) -> Callable[[Repo, str], None]:
    def set_trap(repo: Repo, program: str) -> None:
        for name in settings:
            repo.git("config", name, program)
        info = repo.root / ".git" / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(line + "\n")

    return set_trap


def hook(name: str) -> Callable[[Repo, str], None]:
    def set_trap(repo: Repo, program: str) -> None:
        hooks = repo.root / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        (hooks / name).symlink_to(program)

    return set_trap


def hooks_path(repo: Repo, program: str) -> None:
    folder = Path(program).parent / "hooks"
    folder.mkdir()
    (folder / "post-index-change").symlink_to(program)
    repo.git("config", "core.hooksPath", str(folder))


def included(repo: Repo, program: str) -> None:
    more = Path(program).parent / "more"
    more.write_text(f'[core]\n\tfsmonitor = "{program}"\n')
    repo.git("config", "include.path", str(more))


def included_for_branch(repo: Repo, program: str) -> None:
    more = Path(program).parent / "more"
    more.write_text(f'[core]\n\tfsmonitor = "{program}"\n')
    repo.git("config", "includeIf.onbranch:main.path", str(more))


def per_worktree(repo: Repo, program: str) -> None:
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.fsmonitor", program)


def promised(repo: Repo, program: str) -> None:
    """Objects that are absent are fetched, by a program."""
    repo.git("config", "extensions.partialClone", "origin")
    repo.git("config", "remote.origin.url", f"ext::{program} %S")
    repo.git("config", "remote.origin.promisor", "true")
    repo.git("config", "protocol.ext.allow", "always")


TRAPS: dict[str, Trap] = {
    "file system monitor": (setting("core.fsmonitor"), ("status",)),
    "clean filter": (attributes("* filter=x", "filter.x.clean"), ("add", "--renormalize", ".")),
    "process filter": (attributes("* filter=x", "filter.x.process"), ("diff",)),
    "external diff": (setting("diff.external"), ("diff",)),
    "diff driver": (attributes("* diff=x", "diff.x.command"), ("diff",)),
    "text converter": (attributes("* diff=x", "diff.x.textconv"), ("diff",)),
    "hooks": (hook("post-index-change"), ("add", ".")),
    "path of hooks": (hooks_path, ("add", ".")),
    "alias": (setting("alias.x", "!{}"), ("x",)),
    "included file": (included, ("status",)),
    "file included for a branch": (included_for_branch, ("status",)),
    "configuration of the working tree": (per_worktree, ("status",)),
    "pager": (setting("core.pager"), ("--paginate", "log")),
    "pager of a command": (setting("pager.diff"), ("--paginate", "diff")),
    "editor": (setting("core.editor"), ("commit", "--allow-empty")),
    "sequence editor": (setting("sequence.editor"), ("rebase", "--interactive", "--root")),
    "ssh": (setting("core.sshCommand"), ("ls-remote", "ssh://host.invalid/x")),
    "credential helper": (
        setting("credential.helper", "!{}"),
        ("credential", "fill"),
    ),
    "signature checker": (setting("gpg.program"), ("commit", "--gpg-sign", "--allow-empty", "-mx")),
    "merge driver": (attributes("* merge=x", "merge.x.driver"), ("status",)),
    "absent objects": (promised, ("cat-file", "-p", "1" * 40)),
}
# These fire only in the middle of something else; that they are ignored is shown all the same.
UNARMED = ("merge driver", "pager", "pager of a command", "credential helper", "sequence editor")


@pytest.mark.parametrize("name", TRAPS)
def test_program_that_the_configuration_names_is_not_run(
    repo: Repo, base: str, tmp_path: Path, name: str
) -> None:
    program, mark = script(tmp_path)
    set_trap, command = TRAPS[name]
    set_trap(repo, program)
    repo.write("a", "2\n")
    repo.git(*command, code=None, GIT_ALLOW_PROTOCOL="file:ext:ssh")

    assert mark.exists() or name in UNARMED, "the trap works"

    mark.unlink(missing_ok=True)
    repo.write("ci/x.yml", "2\n")
    finding = repo.judge("a", base=base)

    assert "Not allowed: ci/x.yml" == finding.detail
    assert Status.PASS is repo.judge("**", base=base).status
    assert not mark.exists()


def test_git_in_the_workspace_is_not_run(
    repo: Repo, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, mark = script(tmp_path)
    (repo.root / "git").symlink_to(program)
    linked = tmp_path / "linked"
    linked.symlink_to(repo.root)
    monkeypatch.chdir(repo.root)
    path = os.pathsep.join([str(repo.root), ".", "", str(linked), os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)

    assert Status.PASS is repo.judge("git", base=base).status
    assert not mark.exists()


@pytest.mark.parametrize(
    "name",
    [
        "GIT_EXTERNAL_DIFF",
        "GIT_SSH_COMMAND",
        "GIT_EXEC_PATH",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_CONFIG_PARAMETERS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_TRACE",
    ],
)
def test_variables_around_signoff_change_nothing(
    repo: Repo, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program, mark = script(tmp_path)
    value = {"GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={program}'", "GIT_TRACE": str(mark)}
    monkeypatch.setenv(name, value.get(name, program))
    repo.write("ci/x.yml", "2\n")

    assert "Not allowed: ci/x.yml" == repo.judge("a", base=base).detail
    assert not mark.exists()


# -- a repository that says that nothing changed --


def hidden_by_assumption(repo: Repo) -> None:
    repo.git("update-index", "--assume-unchanged", "ci/x.yml")
    repo.write("ci/x.yml", "2\n")


def hidden_by_skipping(repo: Repo) -> None:
    repo.git("update-index", "--skip-worktree", "ci/x.yml")
    repo.write("ci/x.yml", "2\n")


def hidden_by_times(repo: Repo) -> None:
    """The same size and the same times as the index has; times of change are not looked at."""
    repo.git("config", "core.trustctime", "false")
    repo.git("config", "core.checkStat", "minimal")
    path = repo.root / "ci" / "x.yml"
    os.utime(path, (10**9, 10**9))
    repo.git("update-index", "--refresh")
    path.write_text("2\n")
    os.utime(path, (10**9, 10**9))


def hidden_by_exclusion(repo: Repo) -> None:
    repo.write(".git/info/exclude", "*.yml\n")
    repo.write("ci/y.yml", "2\n")


def hidden_by_excludes_file(repo: Repo) -> None:
    repo.write(".git/ignored", "*.yml\n")
    repo.git("config", "core.excludesFile", str(repo.root / ".git" / "ignored"))
    repo.write("ci/y.yml", "2\n")


def hidden_by_modes(repo: Repo) -> None:
    repo.git("config", "core.fileMode", "false")
    (repo.root / "ci" / "x.yml").chmod(0o755)


def hidden_by_links(repo: Repo) -> None:
    """Links are said to be files that hold their target."""
    repo.git("config", "core.symlinks", "false")
    path = repo.root / "ci" / "x.yml"
    path.unlink()
    path.symlink_to("../a")
    repo.git("update-index", "--assume-unchanged", "ci/x.yml")


def hidden_by_another_tree(repo: Repo) -> None:
    copy = repo.root.parent / "copy"
    (copy / "ci").mkdir(parents=True)
    (copy / "a").write_text("1\n")
    (copy / "ci" / "x.yml").write_text("1\n")
    repo.git("config", "core.worktree", str(copy))
    repo.write("ci/x.yml", "2\n")


def hidden_by_case(repo: Repo) -> None:
    """Beside a file its name in capitals, which is said to be the same."""
    repo.git("config", "core.ignoreCase", "true")
    repo.write("CI/X.YML", "2\n")


def hidden_by_line_ends(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "input")
    repo.write("ci/x.yml", "1\r\n")
    repo.git("add", "ci/x.yml")


def hidden_by_attributes(repo: Repo) -> None:
    repo.write(".git/info/attributes", "*.yml text eol=crlf\n")
    repo.write("ci/x.yml", "1\r\n")
    repo.git("add", "ci/x.yml")


def hidden_by_untracked_setting(repo: Repo) -> None:
    repo.git("config", "status.showUntrackedFiles", "no")
    repo.write("ci/y.yml", "2\n")


def hidden_by_sparseness(repo: Repo) -> None:
    repo.git("sparse-checkout", "set", "--no-cone", "/a")
    assert not (repo.root / "ci").exists()


def hidden_by_forged_object(repo: Repo) -> None:
    """The commit that is pinned seems to have had the file as it is now."""
    repo.write("ci/x.yml", "2\n")
    repo.git("add", "ci/x.yml")
    tree, old = repo.git("write-tree"), repo.git("rev-parse", "HEAD^{tree}")
    data = zlib.decompress(loose(repo, tree).read_bytes())
    replace(loose(repo, old), zlib.compress(data))


def hidden_by_forged_content(repo: Repo) -> None:
    """The tree of the base is a whole, but the commit's bytes name another one."""
    repo.write("ci/x.yml", "2\n")
    repo.git("add", "ci/x.yml")
    tree, commit = repo.git("write-tree"), repo.git("rev-parse", "HEAD")
    data = zlib.decompress(loose(repo, commit).read_bytes())
    old = repo.git("rev-parse", "HEAD^{tree}")
    replace(loose(repo, commit), zlib.compress(data.replace(old.encode(), tree.encode())))


def hidden_by_replacement(repo: Repo) -> None:
    before = repo.git("rev-parse", "HEAD")
    after = repo.commit(**{"ci/x.yml": "2\n"})
    repo.git("replace", "--force", before, repo.git("commit-tree", f"{after}^{{tree}}", "-m", "x"))


def loose(repo: Repo, id_: str) -> Path:
    return repo.root / ".git" / "objects" / id_[:2] / id_[2:]


def replace(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


HIDING = [
    hidden_by_assumption,
    hidden_by_skipping,
    hidden_by_times,
    hidden_by_exclusion,
    hidden_by_excludes_file,
    hidden_by_modes,
    hidden_by_links,
    hidden_by_another_tree,
    hidden_by_case,
    hidden_by_line_ends,
    hidden_by_attributes,
    hidden_by_untracked_setting,
    hidden_by_sparseness,
    hidden_by_forged_object,
    hidden_by_forged_content,
    hidden_by_replacement,
]
# Git sees a name in capitals where the file system tells case, and hashes some trees itself.
NOT_FOOLED = (hidden_by_case, hidden_by_forged_object)


@pytest.mark.parametrize("hide", HIDING, ids=lambda hide: hide.__name__)
def test_change_cannot_be_hidden(repo: Repo, base: str, hide: Callable[[Repo], None]) -> None:
    hide(repo)
    seen = repo.git("status", "--porcelain", code=None).splitlines()
    seen += repo.git("diff", "--name-only", base, code=None).splitlines()

    assert not any("ci/" in line for line in seen) or hide in NOT_FOOLED, "git is fooled"

    finding = repo.judge("a", ".gitattributes", base=base)

    assert Status.FAIL is finding.status, finding
    assert finding.detail.startswith(("Not allowed: ci/", "Not allowed: CI/")) or (
        finding.cause is Cause.EVIDENCE_CORRUPT
    )
    assert not repo.judge("**", base=base, forbidden=["ci/**"]).status.holds


def test_altered_object_is_told_as_such(repo: Repo, base: str) -> None:
    hidden_by_forged_object(repo)
    finding = repo.judge("**", base=base)
    tree = repo.git("cat-file", "-p", base).splitlines()[0].removeprefix("tree ")

    assert (Status.FAIL, Cause.EVIDENCE_CORRUPT, f"Repository object is altered: {tree}") == (
        finding.status,
        finding.cause,
        finding.detail,
    )


def test_lines_cannot_be_hidden_by_altered_content(repo: Repo, base: str) -> None:
    repo.write("a", "2\n")
    repo.git("add", "a")
    new, old = repo.git("rev-parse", ":a"), repo.git("rev-parse", "HEAD:a")
    replace(loose(repo, old), loose(repo, new).read_bytes())
    finding = repo.judge("a", base=base, max_lines=0)

    assert (Status.FAIL, Cause.EVIDENCE_CORRUPT) == (finding.status, finding.cause)


def test_grafts_do_not_move_the_merge_base(repo: Repo, base: str) -> None:
    repo.git("checkout", "--quiet", "-b", "work")
    after = repo.commit(**{"ci/x.yml": "2\n"})
    repo.git("checkout", "--quiet", "main")
    theirs = repo.commit(b="1")
    repo.git("checkout", "--quiet", "work")
    (repo.root / ".git" / "info").mkdir(exist_ok=True)
    (repo.root / ".git" / "info" / "grafts").write_text(f"{theirs} {after}\n")
    assert after == repo.git("merge-base", "HEAD", "main"), "git is fooled"

    assert ["ci/x.yml"] == repo.changed("main")


def test_commit_graph_does_not_move_the_merge_base(repo: Repo, base: str) -> None:
    repo.commit(**{"ci/x.yml": "2\n"})
    repo.git("commit-graph", "write", "--reachable")
    graph = repo.root / ".git" / "objects" / "info" / "commit-graph"
    graph.chmod(0o644)
    graph.write_bytes(b"CGPH" + b"\xff" * 2_000)
    repo.git("branch", "--quiet", "old", base)

    assert ["ci/x.yml"] == repo.changed("old")


def test_tree_with_a_name_twice_hides_nothing(repo: Repo, base: str) -> None:
    new = put(repo, "blob", b"2\n")
    old = put(repo, "blob", b"1\n")
    entry = b"100644 x.yml\0"
    folder = put(repo, "tree", entry + bytes.fromhex(new) + entry + bytes.fromhex(old))
    tree = put(
        repo, "tree", b"100644 a\0" + bytes.fromhex(old) + b"40000 ci\0" + bytes.fromhex(folder)
    )
    commit = repo.git("commit-tree", tree, "-p", base, "-m", "x")
    (repo.root / ".git" / "refs" / "heads" / "main").write_text(commit + "\n")

    assert not repo.judge("**", base=base).status.holds


@pytest.mark.parametrize(
    "name", [b"..", b".", b"", b"../x", b".git/x"], ids=["up", "here", "none", "slash", "git"]
)
def test_odd_names_in_a_tree_lead_nowhere(
    repo: Repo, base: str, tmp_path: Path, name: bytes
) -> None:
    blob = put(repo, "blob", b"*\n")
    inner = put(repo, "tree", b"100644 .gitignore\0" + bytes.fromhex(blob))
    tree = put(repo, "tree", b"40000 " + name + b"\0" + bytes.fromhex(inner))
    commit = repo.git("commit-tree", tree, "-p", base, "-m", "x")
    before = sorted(tmp_path.rglob(".gitignore"))

    assert not repo.judge("**", base=commit).status.holds
    assert before == sorted(tmp_path.rglob(".gitignore"))


def put(repo: Repo, kind: str, data: bytes) -> str:
    """The id of an object that git itself would not write."""
    whole = f"{kind} {len(data)}\0".encode() + data
    path = loose(repo, sha1(whole).hexdigest())
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_bytes(zlib.compress(whole))
    return sha1(whole).hexdigest()


def test_rules_in_the_folder_of_git_do_not_reach_ours(repo: Repo) -> None:
    """A base whose tree holds .git/info/exclude or the like ignores nothing by it."""
    base = repo.commit(**{"sub/.gitignore": "*.log\n"})
    repo.write("sub/a.log")
    repo.write("a.log")

    assert ["a.log"] == repo.changed(base)


# -- a repository that keeps one waiting --


@pytest.mark.parametrize("name", ["HEAD", "index", "packed-refs", "config", "commondir"])
def test_pipe_in_place_of_a_file_is_never_waited_for(repo: Repo, base: str, name: str) -> None:
    (repo.root / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(repo.root / ".git" / name)
    started = monotonic()
    finding = repo.judge("**", base=base), repo.judge("**", base="nowhere"), repo.judge("**")

    assert not any(one.status.holds for one in finding[1:])
    assert monotonic() - started < 60


def test_pipe_in_place_of_an_object_ends_by_the_deadline(
    repo: Repo, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = loose(repo, repo.git("rev-parse", f"{base}^{{tree}}"))
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(probe, "LIMIT_S", 0.5)
    started = monotonic()

    assert not repo.judge("**", base=base).status.holds
    assert monotonic() - started < 10  # a busy machine may take a while to start Python


def test_pointer_that_leads_to_itself_ends(repo: Repo, base: str) -> None:
    (repo.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (repo.root / ".git" / "refs" / "heads" / "main").write_text("ref: refs/heads/main\n")

    assert not repo.judge("**", base="main").status.holds


@pytest.mark.parametrize(
    "name", ["../../secret", "refs/heads/../../../../secret", "/etc/hostname", "refs/heads/a\0b"]
)
def test_reference_leads_to_no_other_file(repo: Repo, base: str, name: str) -> None:
    (repo.root.parent / "secret").write_text(base)
    (repo.root / ".git" / "HEAD").write_text(f"ref: {name}\n")
    finding = repo.judge("**", base="HEAD")

    assert Status.INCONCLUSIVE is finding.status
    assert base not in finding.detail


def test_object_that_unpacks_without_end_is_bounded(repo: Repo, base: str) -> None:
    """Four gigabytes of nulls that are said to be a tree take neither memory nor time."""
    packer = zlib.compressobj(9)
    id_ = "ab" + "0" * 38
    path = loose(repo, id_)
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(packer.compress(f"tree {2**32}\0".encode()))
        for _ in range(64):
            file.write(packer.compress(bytes(2**20)))
        file.write(packer.flush())
    commit = put(
        repo, "commit", f"tree {id_}\nauthor a <a> 1 +0\ncommitter a <a> 1 +0\n\nx".encode()
    )
    started = monotonic()
    finding = repo.judge("**", base=commit)

    assert Status.INCONCLUSIVE is finding.status
    assert monotonic() - started < 10


def test_pathologically_deep_folders_end(repo: Repo, base: str) -> None:
    inner = put(repo, "blob", b"1")
    mode = b"100644 "
    for _ in range(2_000):
        inner = put(repo, "tree", mode + b"x\0" + bytes.fromhex(inner))
        mode = b"40000 "
    commit = repo.git("commit-tree", inner, "-m", "x")

    assert Status.INCONCLUSIVE is repo.judge("**", base=commit).status


@pytest.mark.parametrize(
    "data", [b"", b"DIRC", b"DIRC\0\0\0\2\xff\xff\xff\xff" + bytes(40), b"x" * 99]
)
def test_broken_index_is_never_a_pass(repo: Repo, base: str, data: bytes) -> None:
    replace(repo.root / ".git" / "index", data)
    finding = repo.judge("**", base=base)

    assert Status.INCONCLUSIVE is finding.status
    assert finding.detail.startswith("The index cannot be read: ")


def test_repository_that_is_gone_is_never_a_pass(repo: Repo, base: str) -> None:
    (repo.root / ".git").rename(repo.root.parent / "elsewhere")

    assert Status.INCONCLUSIVE is repo.judge("**", base=base).status
