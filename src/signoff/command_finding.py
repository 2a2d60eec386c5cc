"""
What checks that start commands share: their parameters, their means, and what they tell.

Whatever ends otherwise than by itself is told in one place, so that a command, a
test run and a report of tests fail in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Protocol, runtime_checkable

from msgspec.structs import replace

from signoff.errors import NotJudged, ParamsError
from signoff.jsonvalue import JSON, number_text, shown
from signoff.model import Assurance, Evidence, Finding
from signoff.params import MAX_TEXT, Kind, array_of, number
from signoff.registry import CommandRunner, EvidenceReader, Powers
from signoff.sandbox.command import Captured, Completed, Ended, Limits
from signoff.status import Cause, Status

__all__ = [
    "Argument",
    "Argv",
    "Environment",
    "Folder",
    "Timeout",
    "ending",
    "kept_text",
    "process_count",
    "runner_of",
    "told",
]

MAX_TIMEOUT_S: Final = 86_400
MAX_VARIABLES: Final = 256
MAX_REASON: Final = 1_000
_ENDINGS: Final[Mapping[Ended, tuple[str, Cause]]] = {
    Ended.SIGNALED: ("ended by {signal}", Cause.COMMAND_FAILED),
    Ended.TIMED_OUT: ("timed out after {after} s", Cause.TIMED_OUT),
    Ended.OUTPUT_LIMIT: ("killed: output over {output}", Cause.OUTPUT_LIMIT),
    Ended.MEMORY_LIMIT: ("killed: memory over {memory}", Cause.COMMAND_FAILED),
    Ended.DISK_LIMIT: ("killed: more than {disk} written", Cause.COMMAND_FAILED),
    Ended.CANCELLED: ("was ended before it was done", Cause.VERIFIER_BROKE),
    Ended.NOT_FOUND: ("not found: {program}", Cause.NOT_INSTALLED),
    Ended.DENIED: ("denied: {program}", Cause.COMMAND_DENIED),
    Ended.CWD_MISSING: ("cwd is no folder of the workspace", Cause.COMMAND_FAILED),
    Ended.ISOLATION_UNAVAILABLE: ("{reason}", Cause.ISOLATION_UNAVAILABLE),
    Ended.BROKEN: ("{reason}", Cause.VERIFIER_BROKE),
}
_UNITS: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


@runtime_checkable
class _Keeper(Protocol):
    """A store of evidence that keeps what it is given."""

    def put(self, data: bytes, *, media_type: str = ..., name: str = ...) -> Evidence: ...


def _read_argument(value: JSON) -> str:
    if type(value) is not str or len(value) > MAX_TEXT or not {"\0", "\n"}.isdisjoint(value):
        raise ValueError
    _require_unicode(value)
    return value


def _require_unicode(value: str) -> None:
    """What the system is handed must have an encoding; raises ``ValueError``."""
    value.encode()


ARGUMENT: Final = Kind(
    says="string without NUL and newline",
    read=_read_argument,
    schema={"type": "string", "pattern": r"^[^\u0000\n]*$", "maxLength": MAX_TEXT},
)


def _read_argv(value: JSON) -> tuple[str, ...]:
    argv: tuple[str, ...] = _ARGUMENTS.read(value)
    if not argv[0]:
        raise ValueError
    return argv


def _read_folder(value: JSON) -> str:
    name = _read_argument(value)
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ParamsError(f"params.cwd {shown(name)} leaves the workspace")
    return str(path)


def _read_environment(value: JSON) -> Mapping[str, str]:
    if type(value) is not dict or len(value) > MAX_VARIABLES:
        raise ValueError
    for name, text in value.items():
        _read_argument(name)
        if not name or "=" in name or type(text) is not str or "\0" in text:
            raise ValueError
        if len(text) > MAX_TEXT:
            raise ValueError
        _require_unicode(text)
    return dict(value)  # type: ignore[arg-type]  # every value was seen to be a text


_ARGV_SAYS: Final = "array of 1 or more strings without NUL and newline, the first not empty"
_ARGUMENTS: Final = array_of(ARGUMENT, _ARGV_SAYS)

Argument = Annotated[str, ARGUMENT]
Argv = Annotated[tuple[str, ...], Kind(says=_ARGV_SAYS, read=_read_argv, schema=_ARGUMENTS.schema)]
Folder = Annotated[
    str,
    Kind(
        says="relative path without NUL and newline",
        read=_read_folder,
        schema={"type": "string", "maxLength": MAX_TEXT},
    ),
]
Environment = Annotated[
    Mapping[str, str],
    Kind(
        says="object of strings without NUL, by names of variables",
        read=_read_environment,
        schema={"type": "object", "additionalProperties": {"type": "string"}},
    ),
]
Timeout = Annotated[
    float, number(f"number of seconds, 0.001 to {MAX_TIMEOUT_S}", ge=0.001, le=MAX_TIMEOUT_S)
]


def runner_of(powers: Powers, id_: str) -> CommandRunner:
    """
    What runs the commands of a check.

    Raises:
        NotJudged: The operator gave nothing that does.
    """
    if powers.sandbox is None:
        detail = f"{id_} was not given the means: a sandbox"
        raise NotJudged(Finding(status=Status.ERROR, detail=detail, cause=Cause.NOT_INSTALLED))
    return powers.sandbox


def ending(done: Completed, program: str, limits: Limits) -> Finding | None:
    """
    Why a command that did not end by itself does not do; None for one that did.

    Args:
        done: How it ended.
        program: Its first argument.
        limits: What it was allowed.
    """
    if done.ended is Ended.EXITED:
        return None
    text, cause = _ENDINGS[done.ended]
    detail = text.format(
        program=shown(program),
        signal=done.signal or "a signal",
        after=number_text(limits.timeout_s or done.elapsed_s),
        output=_size(limits.output_bytes),
        memory=_size(limits.memory_bytes),
        disk=_size(limits.disk_bytes),
        reason=shown(done.reason, MAX_REASON),
    )
    return Finding(status=cause.status, detail=detail, cause=cause)


def process_count(done: Completed) -> str:
    """``left 2 processes running``; ``""`` where there were none."""
    count = done.left_processes
    return f"left {count} {'process' if count == 1 else 'processes'} running" if count else ""


def told(
    finding: Finding,
    done: Completed,
    *,
    powers: Powers,
    argv: tuple[str, ...],
    assurance: Assurance = "exit_code",
    facts: Mapping[str, JSON] | None = None,
) -> Finding:
    """
    The finding with all that is known of the command behind it.

    Args:
        finding: What the check found.
        done: How the command ended.
        powers: Its store keeps what was printed, where it keeps anything.
        argv: What was run.
        assurance: What shows that the command did what it was to do.
        facts: Further entries of ``data``.
    """
    data: dict[str, Any] = {
        "argv": list(argv),
        "ended": done.ended.value,
        "exit_code": done.exit_code,
        "stdout": _measured(done.stdout),
        "stderr": _measured(done.stderr),
    }
    if done.signal is not None:
        data["signal"] = done.signal
    if done.left_processes:
        data["left_processes"] = done.left_processes
    started = done.isolation is not None
    return replace(
        finding,
        evidence=(
            *finding.evidence,
            *_kept(powers.store, "stdout", done.stdout),
            *_kept(powers.store, "stderr", done.stderr),
        ),
        data=data | dict(facts or {}),
        isolation=done.isolation,
        assurance=assurance if started else None,
        missing=done.missing if started else (),
    )


def kept_text(captured: Captured) -> bytes:
    """What is kept of a stream; where its middle is not, a line says how much that was."""
    if not captured.omitted:
        return captured.head + captured.tail
    gap = f"\n[{captured.omitted} bytes were not kept]\n".encode()
    return captured.head + gap + captured.tail


def _kept(store: EvidenceReader | None, name: str, captured: Captured) -> tuple[Evidence, ...]:
    if not isinstance(store, _Keeper):
        return ()
    return (store.put(kept_text(captured), media_type="text/plain", name=name),)


def _measured(captured: Captured) -> dict[str, JSON]:
    return {"size": captured.size, "digest": captured.digest, "omitted": captured.omitted}


def _size(count: int) -> str:
    for unit, name in _UNITS:
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} bytes"
