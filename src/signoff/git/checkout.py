"""
A commit laid out in a folder of its own, with a repository that holds that commit and nothing else.

Every object is hashed again on the way.  Nothing that the repository configures is
run: no filter, no hook, no helper.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from signoff.git.changes import Opened
from signoff.git.objects import absent
from signoff.git.patched import laid_index
from signoff.git.program import Git, clean_git
from signoff.git.repository import Repository

__all__ = ["check_out", "opened_elsewhere"]

BRANCH: Final = "refs/heads/work"
_CONFIG: Final = """\
[core]
\trepositoryformatversion = 0
\tbare = false
[gc]
\tauto = 0
[user]
\tname = executor
\temail = executor@localhost
"""


def check_out(work: Opened, commit: str, folder: Path) -> None:
    """
    A folder that is made now holds the files of a commit, and a repository at that commit.

    Args:
        work: The repository that has the commit.
        commit: Its id.
        folder: Where; there is nothing yet.

    Raises:
        NotJudged: An object is absent or altered.
        OSError: The folder cannot be written.
    """
    folder.mkdir(mode=0o700)
    with clean_git(work.root, work.git.hashing, work.git.deadline) as git:
        own = git.folder / "git"
        (own / "shallow").write_text(f"{commit}\n")
        _pack(git, work.repository, commit)
        git.run("read-tree", commit)
        git.run("checkout-index", "--all", "--index", "--quiet", tree=str(folder))
        place = folder / ".git"
        (place / "objects" / "pack").mkdir(parents=True)
        for path in sorted((own / "objects" / "pack").iterdir()):
            shutil.copyfile(path, place / "objects" / "pack" / path.name)
        for name in ("index", "shallow"):
            shutil.copyfile(own / name, place / name)
    (place / BRANCH).parent.mkdir(parents=True)
    (place / BRANCH).write_text(f"{commit}\n")
    (place / "HEAD").write_text(f"ref: {BRANCH}\n")
    (place / "config").write_text(_CONFIG)


@contextmanager
def opened_elsewhere(work: Opened, commit: str, root: str) -> Iterator[Opened]:
    """
    A folder, as if it were the working tree of a repository with a commit checked out.

    What the folder's own repository says is not looked at, nor what is staged there.

    Raises:
        NotJudged: The commit cannot be read.
    """
    found = work.objects.commit(commit)
    if found is None:
        raise absent(commit)
    with clean_git(work.root, work.git.hashing, work.git.deadline) as git:
        laid_index(git, work.objects.files(found.tree))
        repository = Repository(folder=str(git.folder / "git"), shared=work.repository.shared)
        yield Opened(
            root=root,
            repository=repository,
            head=commit,
            git=git,
            objects=work.objects,
            nested=work.nested,
        )


def _pack(git: Git, repository: Repository, commit: str) -> None:
    """Git's own repository holds what the commit needs, under the names that it really has."""
    own = git.folder / "git" / "objects"
    (own / "info").mkdir()
    (own / "pack").mkdir()
    alternates = own / "info" / "alternates"
    alternates.write_bytes(_quoted(os.fsencode(os.path.realpath(repository.objects))))
    pack = str(git.folder / "made")
    given = f"{commit}\n".encode()
    name = git.run("pack-objects", "--revs", "--quiet", pack, given=given).decode().strip()
    alternates.unlink()
    # Indexed anew: the names that were found are not believed, but made from the contents.
    target = own / "pack" / f"pack-{name}.pack"
    shutil.move(f"{pack}-{name}.pack", target)
    git.run("index-pack", str(target))


def _quoted(path: bytes) -> bytes:
    """A path as a line of ``alternates``, whatever characters it has."""
    for char, written in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        path = path.replace(char, written)
    return b'"%b"\n' % path
