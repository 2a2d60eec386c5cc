"""
``pytest.subprocess``: a command of the caller's own, usually pytest, and what it comes to.

The command is started by the product's own runner instead of ``subprocess.run``, which
hangs on a grandchild that holds the pipe, leaves grandchildren alive after a timeout,
holds all output in memory, and raises on output that is not UTF-8.

Source: forge-lcdl, "Verification registry", Verifiers.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import force_setattr

from signoff.dialects.forge import FailureClass, VerificationResult, VerificationStatus
from signoff.forge.pytest_outcome import Demands, Judged, Ran, broken, judged
from signoff.forge.pytest_report import ReportAt, named_report
from signoff.forge.truncation import last_text, truncate_utf8_bytes
from signoff.jsonvalue import JSON, shown
from signoff.model import Isolation
from signoff.sandbox.command import Captured, Command, Completed, Limits
from signoff.suite.protected import ProtectedPath, changed, states_of, unlike

__all__ = ["PytestVerifier"]

TAIL_BYTES: Final = 4_096
LONGEST_CHARACTER: Final = 4
ADDOPTS: Final = "PYTEST_ADDOPTS"
_PLENTY: Final = 2**40
_LEVELS: Final = ("L1", "L2", "L3")


class PytestVerifier(Struct, frozen=True):
    """
    A command ends with success, and where it is pytest, its report shows that tests passed.

    The command comes from ``argv`` alone, never from input, output, contract or context.
    Never put anything into it that a user controls without a policy of your own.  Code
    under test shares the process with pytest and can, if it adapts itself, forge even the
    report: only a test that observes it from another process is sound.

    Args:
        argv: The program and its arguments; no shell sees them.  Empty or None: skipped.
        timeout: Seconds until it is killed with all that it started; None for no limit.
        max_output_bytes: What is kept of each stream; 0 keeps no text.
        cwd: Folder to start in; the current one when None.
        env: Its variables instead of those of this process.
        verifier_id: The id in its results.
        required_tests: Ids of tests that must have passed.
        max_skipped: Tests that may be skipped or expected to fail; None for any number.
        protected_paths: Files below ``cwd`` that must be the same after the run.
        isolation: The lowest level of isolation that will do; from "L2" on the highest
            that the machine gives is used.

    Raises:
        TypeError: ``argv`` is a text, which would have to be taken apart by guessing.
        ValueError: Something cannot be part of a command.
    """

    argv: Iterable[str | os.PathLike[str]] | None = ()
    timeout: float | None = 600.0
    max_output_bytes: int = 65_536
    cwd: str | os.PathLike[str] | None = None
    env: Mapping[str, str] | None = None
    verifier_id: str = "pytest.subprocess"
    required_tests: tuple[str, ...] = ()
    max_skipped: int | None = None
    protected_paths: tuple[str, ...] = ()
    isolation: Isolation = "L1"

    def __post_init__(self) -> None:
        force_setattr(self, "argv", _argv(self.argv))
        force_setattr(self, "cwd", None if self.cwd is None else os.fspath(self.cwd))
        force_setattr(self, "env", None if self.env is None else _variables(self.env))
        force_setattr(self, "required_tests", _ids("required_tests", self.required_tests))
        force_setattr(self, "protected_paths", _ids("protected_paths", self.protected_paths))
        timeout = self.timeout
        if timeout is not None and not (isfinite(timeout) and timeout > 0):
            raise ValueError(f"timeout must be a positive number of seconds or None, got {timeout}")
        if self.max_output_bytes < 0:
            raise ValueError(f"max_output_bytes is negative, got {self.max_output_bytes}")
        if self.isolation not in _LEVELS:
            raise ValueError(f"isolation must be L1, L2 or L3, got {shown(repr(self.isolation))}")

    def verify(
        self,
        input_obj: object = None,  # noqa: ARG002  nothing that is verified gets into the command
        output_obj: object = None,  # noqa: ARG002  likewise
        *,
        context: Mapping[str, Any] | None = None,  # noqa: ARG002  likewise
    ) -> VerificationResult:
        """Run the command to its end and say what it comes to; never raises for what it does."""
        argv: tuple[str, ...] = self.argv  # type: ignore[assignment]  # made so above
        if not argv:
            return VerificationResult(
                VerificationStatus.SKIPPED, self.verifier_id, "no argv configured"
            )
        folder = os.path.abspath(self.cwd or os.getcwd())  # noqa: PTH100, PTH109  links stay as they are
        if not os.path.isdir(folder):  # noqa: PTH112  likewise
            text = f"cwd is no folder: {shown(folder)}"
            return self._result(broken(FailureClass.CWD_MISSING, text), self._facts(argv, folder))
        protected = tuple(ProtectedPath(path=path) for path in self.protected_paths)
        before = states_of(self.protected_paths, folder)
        problem = unlike(protected, before)
        if problem is not None:
            found = broken(FailureClass.TAMPERED, problem.detail)
            return self._result(found, self._facts(argv, folder))
        ran, done = self._run(argv, folder)
        problem = changed(before, states_of(self.protected_paths, folder))
        demands = Demands(required=self.required_tests, max_skipped=self.max_skipped)
        found = judged(ran, demands)
        if problem is not None and done.isolation is not None:
            found = broken(FailureClass.TAMPERED, problem.detail)
        return self._result(found, self._facts(argv, folder, done, ran))

    def _run(self, argv: tuple[str, ...], folder: str) -> tuple[Ran, Completed]:
        from signoff.sandbox import Sandbox  # sockets and processes, which only a run needs

        sandbox = Sandbox(level="L1") if self.isolation == "L1" else Sandbox()
        with sandbox:
            private = tempfile.mkdtemp(prefix="report-", dir=sandbox.scratch)
            report = named_report(argv, folder) or ReportAt(f"{private}/report.xml")
            env = dict(self.env or {})
            if not report.named:
                before = (os.environ if self.env is None else self.env).get(ADDOPTS, "")
                asked = f"--junitxml={shlex.quote(report.path)}"
                env[ADDOPTS] = f"{before} {asked}".strip()
            command = Command(
                argv=argv,
                workspace=folder,
                env=env,
                inherit_env=self.env is None,
                live=True,
                network=True,
                writable=(private,) if self.isolation == "L1" else (private, folder),
                limits=self._limits(),
            )
            with sandbox.requiring(self.isolation).run(command) as done:
                read = report.read()
                return Ran(argv=argv, done=done, read=read, timeout=self.timeout), done

    def _limits(self) -> Limits:
        """The time, and the output; the seed's plain child process has no others."""
        kept = self.max_output_bytes
        return Limits(
            timeout_s=self.timeout,
            memory_bytes=_PLENTY,
            processes=2**15,
            file_bytes=_PLENTY,
            disk_bytes=_PLENTY,
            open_files=2**15,
            head_bytes=kept + LONGEST_CHARACTER,  # so that a character at the limit is whole
            tail_bytes=min(kept, TAIL_BYTES) + LONGEST_CHARACTER,
        )

    def _facts(
        self,
        argv: tuple[str, ...],
        folder: str,
        done: Completed | None = None,
        ran: Ran | None = None,
    ) -> dict[str, Any]:
        facts: dict[str, Any] = {"argv": list(argv), "cwd": folder}
        if done is None or ran is None:
            return facts
        facts |= {
            "exit_code": done.exit_code,
            "signal": done.signal,
            "timed_out": ran.timed_out,
            "timeout_seconds": self.timeout,
            "max_output_bytes": self.max_output_bytes,
        }
        for name, captured in (("stdout", done.stdout), ("stderr", done.stderr)):
            facts |= _told(name, captured, self.max_output_bytes)
        facts |= {
            "counts": ran.counts,
            "left_processes": done.left_processes,
            "isolation": done.isolation,
            "assurance": "exit_code" if ran.counts is None else "report",
            "missing": list(done.missing),
        }
        return facts

    def _result(self, found: Judged, facts: dict[str, Any]) -> VerificationResult:
        if found.failure is not None:
            facts = {**facts, "failure_class": found.failure.value}
        errors = (found.summary,) if found.status is VerificationStatus.FAIL else ()
        return VerificationResult(
            found.status, self.verifier_id, found.summary, facts, errors, found.warnings
        )


def _told(name: str, captured: Captured, kept: int) -> dict[str, JSON]:
    """What the evidence has of one stream."""
    whole = (captured.head + captured.tail) if not captured.omitted else captured.head
    decoded = whole.decode("utf-8", "replace")
    text = truncate_utf8_bytes(decoded, kept)
    truncated = captured.size > kept or text != decoded
    facts: dict[str, JSON] = {
        name: text,
        f"{name}_bytes": captured.size,
        f"{name}_truncated": truncated,
        f"{name}_sha256": captured.digest.removeprefix("sha256:"),
    }
    if truncated:
        end = captured.tail if captured.omitted else whole
        facts[f"{name}_tail"] = last_text(end, min(kept, TAIL_BYTES))
    return facts


def _argv(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"argv must be a list of str or paths, got {type(value).__name__}")
    items = tuple(value)
    for number, item in enumerate(items):
        path = os.fspath(item) if isinstance(item, str | os.PathLike) else None
        if not isinstance(path, str):
            raise ValueError(  # noqa: TRY004  one kind of error for every bad item
                f"argv[{number}] must be str or a path, got {type(item).__name__}"
            )
        if "\0" in path:
            raise ValueError(f"argv[{number}] has a NUL character")
    argv = tuple(map(os.fspath, items))
    if argv and not argv[0]:
        raise ValueError("argv[0] is empty, expected the name of a program")
    return argv


def _variables(env: Mapping[Any, Any]) -> dict[str, str]:
    for name, value in env.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ValueError(f"env must hold str by str, got {shown(repr(name))}")  # noqa: TRY004  one kind of error for every bad item
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"env has {shown(repr(name))}, which cannot be a variable")
    return dict(env)


def _ids(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be an iterable of str, got {type(value).__name__}")
    texts = tuple(value)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{name} must hold str")
    return texts
