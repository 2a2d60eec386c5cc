"""
The phase-4 checks: what must be in order in a workspace before any verdict counts.

A check that breaks is an error of its own and stops no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from time import monotonic
from typing import Final

import msgspec
from msgspec import Struct

from signoff.dialects.scc.contract import examine
from signoff.dialects.scc.names import REPORTS
from signoff.dialects.scc.settings import NONE, PATH, Settings
from signoff.dialects.scc.shape import LIMITS
from signoff.dialects.scc.verdict import decode_verdict
from signoff.errors import JSONError, VerdictRefused
from signoff.jsonvalue import shown
from signoff.scc.installation import altered
from signoff.scc.reader import read_verdict
from signoff.scc.ssot import SsotInvalid, read_ssot
from signoff.scc.validator import validate
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace
from signoff.strictjson import loads

__all__ = ["CHECKS", "Check", "PhaseResult", "Subject", "UnknownCheck", "check", "encode_results"]

CONTRACTS: Final = "docs/ssot/04_contracts"
MAX_DOCUMENT_BYTES: Final = 2**40
_VERDICT_DEPTH: Final = 4
NOT_INITIALISED: Final = f"{PATH} is absent: run signoff scc init"


class UnknownCheck(ValueError):
    """No check has that name, or none was named."""


class PhaseResult(Struct, frozen=True, kw_only=True):
    """
    What one check came to.

    Args:
        name: Of the check.
        status: ``PASS``, ``FAIL`` or ``ERROR``; the last where the check itself broke.
        exit_code: 0, 1 or 2.
        artifacts_path: What it was about, relative to the workspace.
        duration_s: How long it took.
        problems: What is wrong, for people; not part of the document.
        warnings: What a person should know; likewise.
    """

    name: str
    status: str
    exit_code: int
    artifacts_path: str
    duration_s: float
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True only if it is a PASS."""
        return self.status == "PASS"


class Subject(Struct, frozen=True, kw_only=True):
    """
    What the checks look at.

    Args:
        workspace: Where.
        settings: Of the workspace.
        env: Where the DSN of the registry may be named.
        dsn: Where the registry is, as the command line says.
        now: The time of the run.
        area: Of the task, ``""`` for every area.
        task_code: Whose verdict is looked at, ``""`` for every one.
        candidate: Bytes of a verdict that is not published yet, None outside of a run.
        warnings: Filled by the checks.
    """

    workspace: Workspace
    settings: Settings
    env: Mapping[str, str]
    dsn: str | None
    now: datetime
    area: str
    task_code: str
    candidate: bytes | None
    warnings: list[str]


def _oids(subject: Subject) -> Iterator[str]:
    found = validate(
        subject.workspace, subject.settings, now=subject.now, env=subject.env, dsn=subject.dsn
    )
    subject.warnings.extend(found.warnings)
    yield from (f"{one.code}: {one.path}: {one.message}" for one in found.errors)
    if not found.errors and not found.ok:
        yield "no_targets: no document was checked"


def _topology(subject: Subject) -> Iterator[str]:
    path = subject.settings.ssot_registry
    if path == NONE:
        return
    try:
        entries = read_ssot(subject.workspace.read(path))
    except (PathMissing, PathUnsafe, SsotInvalid) as exc:
        yield f"{path}: {_without(str(exc), path)}{_hint(subject)}"
        return
    seen = set[str]()
    for entry in entries:
        if entry.doc_id and entry.doc_id in seen:
            yield f'doc_id "{shown(entry.doc_id)}" is there twice'
        seen.add(entry.doc_id)
        try:
            subject.workspace.require_spelling(entry.path)
            subject.workspace.measure(entry.path, max_bytes=MAX_DOCUMENT_BYTES)
        except (PathMissing, PathUnsafe) as exc:
            yield str(exc)


def _contracts(subject: Subject) -> Iterator[str]:
    for path, regular in subject.workspace.walk(CONTRACTS):
        if not regular:
            yield f"{shown(path)}: is a link, or no regular file"
        elif path.lower().endswith(".json"):
            yield from _contract(subject, path)


def _contract(subject: Subject, path: str) -> Iterator[str]:
    try:
        value = loads(subject.workspace.read(path), limits=LIMITS)
    except (PathMissing, PathUnsafe) as exc:
        yield str(exc)
        return
    except JSONError as exc:
        yield f"{shown(path)}: is not strict JSON: {exc}"
        return
    if not isinstance(value, dict) or "acceptance" not in value:
        return
    examined = examine(value, draft=True, variables=subject.settings.variables)
    subject.warnings.extend(f"{shown(path)}: {one.message}" for one in examined.warnings)
    yield from (f"{shown(path)}: {one}" for one in examined.faults)


def _verdicts(subject: Subject) -> Iterator[str]:
    if subject.candidate is not None:
        try:
            decode_verdict(subject.candidate, now=subject.now)
        except VerdictRefused as exc:
            yield f"the candidate: {exc}"
        return
    found = 0
    for path, regular in subject.workspace.walk(REPORTS):
        if not regular:
            yield f"{shown(path)}: is a link, or no regular file"
        elif _is_verdict(path, subject):
            found += 1
            read = read_verdict(subject.workspace.root / path, now=subject.now)
            if read.problem:
                yield f"{shown(path)}: {read.problem}"
    if not found and subject.task_code:
        yield f"{subject.task_code} has no verdict.json"


def _is_verdict(path: str, subject: Subject) -> bool:
    """The path is docs/REPORT/<area>/artifacts/<TaskCode>/verdict.json, and is asked for."""
    parts = path.split("/")[2:]
    return (
        len(parts) == _VERDICT_DEPTH
        and (parts[1], parts[3]) == ("artifacts", "verdict.json")
        and subject.area in {"", parts[0]}
        and subject.task_code in {"", parts[2]}
    )


def _scripts(subject: Subject) -> Iterator[str]:
    yield from (f"{one}{_hint(subject)}" for one in altered(subject.workspace))


def _hint(subject: Subject) -> str:
    return "" if subject.settings.given else f" ({NOT_INITIALISED})"


def _without(text: str, path: str) -> str:
    return text.removeprefix(f"{path}: ")


Check = Callable[[Subject], Iterable[str]]

CHECKS: Final[Mapping[str, tuple[str, Check]]] = {
    "oid-validator": ("docs", _oids),
    "ssot-topology": ("docs/ssot", _topology),
    "contract-schema": (CONTRACTS, _contracts),
    "verdict-schema": (REPORTS, _verdicts),
    "scripts-intact": ("tools", _scripts),
}
"""What each check is about, and what finds its problems."""


def check(
    workspace: Workspace,
    names: Collection[str] | None = None,
    area: str | None = None,
    task_code: str | None = None,
    candidate: bytes | None = None,
    *,
    settings: Settings,
    env: Mapping[str, str],
    dsn: str | None = None,
    now: datetime | None = None,
    table: Mapping[str, tuple[str, Check]] = CHECKS,
) -> tuple[PhaseResult, ...]:
    """
    What each of the checks came to, in their order; never raises for what is in the workspace.

    Args:
        workspace: Where.
        names: Which checks; all when None.
        area: Of the task; every area when None.
        task_code: Whose verdict is looked at; every one when None.
        candidate: Bytes of a verdict that is not published yet, in place of those on disk.
        settings: Of the workspace.
        env: Where the DSN of the registry may be named.
        dsn: Where the registry is, as the command line says.
        now: The time of the run; the clock's when None.
        table: The checks there are.

    Raises:
        UnknownCheck: A name is none of them, or there is no name.
    """
    chosen = [*table] if names is None else [*names]
    for name in chosen:
        if name not in table:
            raise UnknownCheck(f'no check "{shown(name)}"; there are {", ".join(table)}')
    if not chosen:
        raise UnknownCheck("no check was named")
    subject = Subject(
        workspace=workspace,
        settings=settings,
        env=env,
        dsn=dsn,
        now=now or datetime.now(UTC),
        area=area or "",
        task_code=task_code or "",
        candidate=candidate,
        warnings=[],
    )
    return tuple(_result(name, *table[name], subject) for name in table if name in chosen)


def encode_results(results: Iterable[PhaseResult]) -> bytes:
    """The JSON array of the results, without what is for people."""
    own = ("name", "status", "exit_code", "artifacts_path", "duration_s")
    return msgspec.json.encode([{name: getattr(one, name) for name in own} for one in results])


def _result(name: str, place: str, find: Check, subject: Subject) -> PhaseResult:
    own = msgspec.structs.replace(subject, warnings=[])
    started = monotonic()
    try:
        problems = tuple(find(own))
        status, code = ("FAIL", 1) if problems else ("PASS", 0)
    except Exception as exc:  # noqa: BLE001  whatever breaks in a check is its own result
        problems, status, code = (
            (f"the check broke: {type(exc).__name__}: {shown(str(exc))}",),
            "ERROR",
            2,
        )
    return PhaseResult(
        name=name,
        status=status,
        exit_code=code,
        artifacts_path=place,
        duration_s=round(monotonic() - started, 6),
        problems=problems,
        warnings=tuple(own.warnings),
    )
