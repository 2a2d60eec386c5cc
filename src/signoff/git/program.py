"""
The program git, started where nothing of the judged repository can configure it.

Its environment holds nothing that was not put there, its repository is a folder that
was made for it, and it ends by a deadline, within bounds of memory and output.
"""

from __future__ import annotations

import os
import resource
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from time import monotonic
from typing import IO, Final

from msgspec import Struct

from signoff.errors import NotJudged
from signoff.model import Finding, inconclusive
from signoff.status import Cause, Status

__all__ = ["Deadline", "Git", "Running", "clean_git"]

MAX_OUTPUT_BYTES: Final = 256 * 2**20
_PIECE: Final = 2**18
_MEMORY: Final = 4 * 2**30
_CONFIG: Final = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tcommitGraph = false
\tmultiPackIndex = false
\tpackedGitLimit = 512m
\tpackedGitWindowSize = 64m
\tattributesFile = {nothing}
\texcludesFile = {nothing}
\thooksPath = {nothing}
"""
_SHA256: Final = "[extensions]\n\tobjectFormat = sha256\n"


class Deadline(Struct, frozen=True, kw_only=True):
    """
    When everything must have ended.

    Args:
        at: By the monotonic clock.
        seconds: How long that was in the beginning, for the message.
    """

    at: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline that many seconds from now."""
        return cls(at=monotonic() + seconds, seconds=seconds)

    def left(self) -> float:
        """
        Seconds that are left; more than none.

        Raises:
            NotJudged: There are none.
        """
        left = self.at - monotonic()
        if left <= 0:
            detail = f"The repository was not read within {self.seconds:g} s."
            raise NotJudged(inconclusive(detail, Cause.EVIDENCE_TIMED_OUT))
        return left


class Git(Struct, frozen=True, kw_only=True):
    """
    Where git is, and the repository that it is handed.

    Args:
        path: The program.
        search: Folders that it may find programs in.
        folder: Ours: the repository, its working trees and a home, all made afresh.
        hashing: What objects are named by, ``sha1`` or ``sha256``.
        deadline: When each process of it must have ended.
    """

    path: str
    search: str
    folder: Path
    hashing: str
    deadline: Deadline

    @contextmanager
    def answering(self, *arguments: str, objects: str) -> Iterator[Running]:
        """A git that answers questions about a folder of objects until the end of the block."""
        with self._started(arguments, "empty", subprocess.PIPE, objects) as running:
            yield running

    def run(self, *arguments: str, given: bytes = b"", tree: str = "empty") -> bytes:
        """
        What git prints when it is given that.

        Args:
            arguments: Its command and what the command takes.
            given: What it reads on standard input.
            tree: Folder below ours that it takes for its working tree.

        Raises:
            NotJudged: It took too long, printed too much or broke.
        """
        # From a file, so that neither side ever waits for the other.
        with tempfile.TemporaryFile(dir=self.folder) as file:
            file.write(given)
            file.seek(0)
            with self._started(arguments, tree, file, "") as running:
                return running.rest(arguments[0])

    @contextmanager
    def _started(
        self, arguments: tuple[str, ...], tree: str, given: IO[bytes] | int, objects: str
    ) -> Iterator[Running]:
        process = subprocess.Popen(  # noqa: S603  no shell, an absolute path, arguments of our own
            [self.path, "--no-pager", *arguments],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder / tree,
            env=self._environment(tree) | ({"GIT_OBJECT_DIRECTORY": objects} if objects else {}),
            process_group=0,
        )
        try:
            _bound(process.pid, self.deadline.left())
            yield Running(process, self.deadline)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()

    def _environment(self, tree: str) -> dict[str, str]:
        home = str(self.folder / "home")
        return {
            "PATH": self.search,
            "HOME": home,
            "XDG_CONFIG_HOME": home,
            "LC_ALL": "C",
            "GIT_DIR": str(self.folder / "git"),
            "GIT_WORK_TREE": str(self.folder / tree),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOC_LIMIT": "1g",
        }


class Running:
    """A process of git, read and written with its deadline in mind."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: Deadline) -> None:
        self._process = process
        self._deadline = deadline
        self._data = bytearray()

    def ask(self, question: bytes) -> None:
        """Write what is far shorter than a pipe is long."""
        assert self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), question)
        except BrokenPipeError:
            raise broken("ended early") from None

    def line(self) -> bytes:
        """What it prints up to the next newline."""
        while (end := self._data.find(b"\n")) < 0:
            if len(self._data) > _PIECE or not self._more():
                raise broken("answered nonsense")
        line = bytes(self._data[:end])
        del self._data[: end + 1]
        return line

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next so many bytes that it prints, in pieces; all of them must be taken."""
        while size:
            if not self._data and not self._more():
                raise broken("ended early")
            piece = bytes(self._data[:size])
            del self._data[:size]
            size -= len(piece)
            yield piece

    def rest(self, command: str) -> bytes:
        """Everything that it prints until it ends well."""
        while self._more():
            if len(self._data) > MAX_OUTPUT_BYTES:
                raise broken(f"printed more than {MAX_OUTPUT_BYTES // 2**20} MiB")
        try:
            code = self._process.wait(self._deadline.left())
        except subprocess.TimeoutExpired:
            code = None
            self._deadline.left()
        # check-ignore says by 1 that nothing is ignored.
        if code not in ((0, 1) if command == "check-ignore" else (0,)):
            raise broken(f"{command} failed")
        return bytes(self._data)

    def _more(self) -> bool:
        """Whether there was more to read."""
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while not poll.poll(self._deadline.left() * 1_000):
            pass
        piece = os.read(pipe, _PIECE)
        self._data += piece
        return bool(piece)


@contextmanager
def clean_git(workspace: str, hashing: str, deadline: Deadline) -> Iterator[Git]:
    """
    A git with a repository of our own, removed after the block.

    Args:
        workspace: Folder below which no program is taken for git.
        hashing: What its objects are named by, ``sha1`` or ``sha256``.
        deadline: When each process of it must have ended.

    Raises:
        NotJudged: There is no git.
    """
    search = _search(os.environ.get("PATH", os.defpath), os.path.realpath(workspace))
    path = shutil.which("git", path=search)
    if path is None or _lies_in(os.path.realpath(path), os.path.realpath(workspace)):
        detail = "changes_within needs git, which is not on PATH"
        raise NotJudged(Finding(status=Status.ERROR, detail=detail, cause=Cause.NOT_INSTALLED))
    with tempfile.TemporaryDirectory(prefix="signoff-git-") as name:
        folder = Path(name)
        for part in ("git/objects", "git/refs", "git/info", "empty", "home"):
            (folder / part).mkdir(parents=True)
        (folder / "git" / "HEAD").write_text("ref: refs/heads/none\n")
        # Whatever is compared is compared as text: no attribute makes lines uncounted.
        (folder / "git" / "info" / "attributes").write_text("* diff\n")
        is_long = hashing == "sha256"
        config = _CONFIG.format(version=int(is_long), nothing=os.devnull)
        (folder / "git" / "config").write_text(config + (_SHA256 if is_long else ""))
        yield Git(path=path, search=search, folder=folder, hashing=hashing, deadline=deadline)


def broken(what: str) -> NotJudged:
    """Git did not do what it is there for."""
    detail = f"git {what}, so the repository was not read."
    return NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))


def _search(path: str, workspace: str) -> str:
    """The folders of the operator's PATH, without those that the work could have filled."""
    folders = [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]  # noqa: PTH117  texts
    kept = [one for one in folders if not _lies_in(os.path.realpath(one), workspace)]
    return os.pathsep.join(kept)


def _lies_in(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


def _bound(process: int, seconds: float) -> None:
    """What it may use up, also when nobody is left to kill it."""
    if hasattr(resource, "prlimit"):  # Linux alone
        with suppress(ProcessLookupError):
            limit = int(seconds) + 2
            resource.prlimit(process, resource.RLIMIT_CPU, (limit, limit))
            resource.prlimit(process, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))
