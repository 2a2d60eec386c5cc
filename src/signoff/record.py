"""
A run as bytes: what each of its files must hold, so that the verdict follows from the others.

``verdict.json`` says nothing that the other files do not: ``assess`` computes it
again from them, and it must be equal to the byte.  So no byte of a run can be
changed without notice, that of the verdict included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from signoff.backing import backing_faults
from signoff.canonical import digest, digest_bytes, require_json
from signoff.engine import judge
from signoff.errors import ContractError, JSONError, RunUnreadable
from signoff.jsonlimits import MAX_DEPTH
from signoff.jsonvalue import JSON, shown
from signoff.lockfile import encode_lock, read_lock
from signoff.model import Assurance, Evidence, Isolation, LockedContract, Report, Subject, ToolCall
from signoff.status import Cause, Outcome
from signoff.strictjson import Limits, loads

__all__ = [
    "DUPLICATE_KEYS_LAST",
    "FORMAT",
    "MAX_FILE_BYTES",
    "MAX_OUTPUT_BYTES",
    "Facts",
    "Recorded",
    "VerdictFile",
    "assess",
    "compose",
    "encode_report",
    "encode_verdict",
    "subject_of",
    "weakened_by",
]

FORMAT: Final = "signoff-verdict/1"
DUPLICATE_KEYS_LAST: Final = "duplicate_keys_last"
MAX_FILE_BYTES: Final = 64 * 2**20
MAX_OUTPUT_BYTES: Final = 2**30
_DEFAULT: Final = Limits()
_LIMITS: Final = Limits(max_bytes=MAX_FILE_BYTES, max_depth=MAX_DEPTH)
_UNREADABLE: Final = (
    ContractError,
    JSONError,
    OverflowError,
    RecursionError,
    ValueError,
    msgspec.MsgspecError,
)
S = TypeVar("S", bound=Struct)


class Facts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    What was recorded besides the output: ``facts.json``, which exists only when it says something.

    Args:
        input: What the work was given.
        elapsed_s: Seconds the work took.
        exit_code: Exit code of the work.
        tools: The calls of tools, in order.
        base: Commit that the work started from.
        evidence: Evidence recorded with the work.
        limits: How the output was read, where that was not the default.
    """

    input: Any = None
    elapsed_s: float | None = None
    exit_code: int | None = None
    tools: tuple[ToolCall, ...] | None = None
    base: str | None = None
    evidence: tuple[Evidence, ...] | None = None
    limits: Limits | None = None


class VerdictFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    ``verdict.json``: the verdict, and the digest of everything that it rests on.

    Args:
        format: ``signoff-verdict/1``.
        outcome: Passed, inconclusive or failed.
        cause: Cause of the first of the worst blockers, or null.
        blockers: Ids of the required criteria that do not hold, in contract order.
        contract_id: Id of the contract.
        contract_digest: Digest of the locked contract.
        output_digest: Digest of the output's canonical form; null without output.
        files: Digest of the bytes of each other file of the run.
        evidence: Size of each piece of evidence, by digest.
        engines: Names and versions of the programs that decided.
        when: Time of day at which judging began, UTC; orders nothing.
        isolation: Lowest level under which a command ran; null when none was started.
        assurance: Weakest of what shows that the commands did what they were to do, likewise.
        missing: What those levels should give and the machine did not, a sentence each.
        weakened: Everything that was made less strict.
    """

    format: str
    outcome: Outcome
    cause: Cause | None
    blockers: tuple[str, ...]
    contract_id: str
    contract_digest: str
    output_digest: str | None
    files: dict[str, str]
    evidence: dict[str, int]
    engines: dict[str, str]
    when: datetime
    isolation: Isolation | None
    assurance: Assurance | None
    missing: tuple[str, ...]
    weakened: tuple[str, ...]


class Recorded(Struct, frozen=True, kw_only=True):
    """What the files of a whole run say."""

    verdict: VerdictFile
    report: Report
    locked: LockedContract
    subject: Subject
    text: bool
    limits: Limits


def encode_report(report: Report) -> bytes:
    """
    The bytes of ``report.json``: JSON with two spaces and a final newline.

    Raises:
        ValueError: The report holds what is not JSON.
    """
    return _encoded(report)


def encode_verdict(verdict: VerdictFile) -> bytes:
    """The bytes of ``verdict.json``: JSON with two spaces and a final newline."""
    return _encoded(verdict)


def subject_of(
    data: bytes | None, *, text: bool = False, limits: Limits = _DEFAULT, **facts: Any
) -> Subject:
    """
    The subject with the output in some bytes; never raises for what they hold.

    Args:
        data: The output as received; None when there is none.
        text: It is plain text in UTF-8, not JSON.
        limits: Caps for reading JSON; of a text only its size is capped.
        facts: Any other field of ``Subject``.
    """
    if data is None:
        return Subject(**facts)
    if not text:
        return Subject.from_json(data, limits=limits, **facts)
    fault, output = "", ""
    if len(data) > limits.max_bytes:
        fault = f"larger than {limits.max_bytes} bytes"
    else:
        try:
            output = data.decode()
        except UnicodeDecodeError as exc:
            fault = f"not UTF-8 at byte {exc.start}"
    if fault:
        return Subject(output_fault=fault, output_digest=digest_bytes(data), **facts)
    return Subject(output=output, output_digest=digest(output), output_depth=0, **facts)


def weakened_by(limits: Limits) -> tuple[str, ...]:
    """What reading the output under these limits made less strict than the default."""
    said = {
        f"max_bytes={limits.max_bytes}": limits.max_bytes > _DEFAULT.max_bytes,
        f"max_depth={limits.max_depth}": limits.max_depth > _DEFAULT.max_depth,
        f"max_digits={limits.max_digits}": limits.max_digits > _DEFAULT.max_digits,
        DUPLICATE_KEYS_LAST: limits.last_key_wins,
    }
    return tuple(entry for entry, holds in said.items() if holds)


def compose(
    locked: LockedContract,
    report: Report,
    subject: Subject,
    *,
    output: bytes | None,
    text: bool,
    limits: Limits,
) -> dict[str, bytes]:
    """
    The files of a run save the verdict and the evidence, in the order of writing.

    Raises:
        ValueError: Something of it is not JSON.
        TypeError: Likewise.
    """
    files = {"contract.json": encode_lock(locked)}
    if output is not None:
        files["output.txt" if text else "output.json"] = output
    facts = Facts(
        input=subject.input,
        elapsed_s=subject.elapsed_s,
        exit_code=subject.exit_code,
        tools=subject.tools,
        base=subject.base,
        evidence=subject.evidence,
        limits=None if limits == _DEFAULT else limits,
    )
    if facts != Facts():
        require_json(subject.input)
        if facts.elapsed_s is not None and not isfinite(facts.elapsed_s):
            raise ValueError(f"elapsed_s must be a finite number, got {facts.elapsed_s}")
        files["facts.json"] = _encoded(facts)
    return files | {"report.json": encode_report(report)}


def verdict_of(
    report: Report, files: Mapping[str, bytes], evidence: Mapping[str, int]
) -> VerdictFile:
    """What ``verdict.json`` says beside these files and this evidence."""
    return VerdictFile(
        format=FORMAT,
        outcome=report.verdict.outcome,
        cause=report.verdict.cause,
        blockers=report.verdict.blockers,
        contract_id=report.contract_id,
        contract_digest=report.contract_digest,
        output_digest=report.output_digest,
        files={name: digest_bytes(files[name]) for name in sorted(files)},
        evidence=dict(sorted(evidence.items())),
        engines=report.engines,
        when=report.started,
        isolation=report.isolation,
        assurance=report.assurance,
        missing=report.missing,
        weakened=report.weakened,
    )


def assess(
    files: Mapping[str, bytes], evidence: Mapping[str, int], verdict: bytes | None = None
) -> Recorded:
    """
    What a run says, if its files agree with each other in everything.

    Args:
        files: Content by name, without ``verdict.json``.
        evidence: Size by digest of all the evidence that is kept, as hashed from it.
        verdict: Content of ``verdict.json``; None to compute what it must be.

    Raises:
        RunUnreadable: With every problem that was found.
    """
    problems: list[str] = []
    locked = _decoded("contract.json", files, read_lock, encode_lock, problems)
    report = _decoded("report.json", files, _of(Report), _encoded, problems)
    facts = _facts(files, problems)
    if locked is None or report is None or facts is None:
        raise RunUnreadable(tuple(problems))
    text, limits = "output.txt" in files, facts.limits or _DEFAULT
    subject = _subject(files, facts, limits)
    expected = verdict_of(report, files, evidence)
    problems += _faults_of_report(report, locked, subject)
    problems += _faults_of_evidence(report, facts, evidence)
    for entry in weakened_by(limits):
        if entry not in report.weakened:
            problems.append(f"report.json: weakened does not say {entry}")
    if {"output.txt", "output.json"} <= files.keys():
        problems.append("output.txt: there is an output.json too")
    if verdict is not None:
        problems += _faults_of_verdict(verdict, expected)
    if problems:
        raise RunUnreadable(tuple(problems))
    return Recorded(
        verdict=expected, report=report, locked=locked, subject=subject, text=text, limits=limits
    )


def _encoded(value: Struct) -> bytes:
    # Decoded once in between: an integer where a float is meant is written as one, as
    # it will be when it is read; and dictionaries stand in the order of their keys.
    type_ = type(value)
    settled = msgspec.json.decode(msgspec.json.encode(value), type=type_)
    encoded = msgspec.json.encode(settled, order="deterministic")
    return msgspec.json.format(encoded, indent=2) + b"\n"


def _of(type_: type[S]) -> Callable[[JSON], S]:
    return lambda document: msgspec.convert(document, type_)


def _decoded(
    name: str,
    files: Mapping[str, bytes],
    read: Callable[[JSON], S],
    write: Callable[[S], bytes],
    problems: list[str],
) -> S | None:
    """The value in a file that holds nothing but what would be written for that value."""
    if name not in files:
        problems.append(f"{name}: is missing")
        return None
    try:
        value = read(loads(files[name], limits=_LIMITS))
        if write(value) == files[name]:
            return value
        problems.append(f"{name}: is not written as signoff writes it")
    except _UNREADABLE as exc:
        problems.append(f"{name}: {shown(str(exc))}")
    return None


def _facts(files: Mapping[str, bytes], problems: list[str]) -> Facts | None:
    if "facts.json" not in files:
        return Facts()
    facts = _decoded("facts.json", files, _of(Facts), _encoded, problems)
    if facts == Facts():
        problems.append("facts.json: says nothing")
    return facts


def _subject(files: Mapping[str, bytes], facts: Facts, limits: Limits) -> Subject:
    text = "output.txt" in files
    return subject_of(
        files.get("output.txt" if text else "output.json"),
        text=text,
        limits=limits,
        input=facts.input,
        elapsed_s=facts.elapsed_s,
        exit_code=facts.exit_code,
        tools=facts.tools,
        base=facts.base,
        evidence=facts.evidence,
    )


def _faults_of_report(report: Report, locked: LockedContract, subject: Subject) -> Iterator[str]:
    contract = locked.contract
    for what, found, expected in (
        ("contract_id", report.contract_id, contract.id),
        ("contract_digest", report.contract_digest, locked.digest),
        ("output_digest", report.output_digest, subject.digest()),
    ):
        if found != expected:
            yield f"report.json: {what} must be {shown(str(expected))}, got {shown(str(found))}"
    if [result.criterion for result in report.results] != [c.id for c in contract.criteria]:
        yield "report.json: results are not one for each criterion, in the order of the contract"
    for result in report.results:
        finding, id_ = result.finding, shown(result.criterion)
        if finding.status.holds and finding.cause is not None:
            yield f'report.json: result "{id_}" holds and has a cause'
        if finding.status.holds and subject.output_fault is not None:
            yield f'report.json: result "{id_}" holds of an output that cannot be read'
    if report.verdict != judge(contract.criteria, report.results):
        yield "report.json: verdict does not follow from the results"
    for fault in backing_faults(report, contract.min_isolation):
        yield f"report.json: {fault}"
    if report.started.utcoffset() != timedelta(0):
        yield "report.json: started is not in UTC"


def _faults_of_evidence(report: Report, facts: Facts, evidence: Mapping[str, int]) -> Iterator[str]:
    named = [*(facts.evidence or ()), *(e for r in report.results for e in r.finding.evidence)]
    for item in named:
        size = evidence.get(item.digest)
        if size is None:
            yield f"evidence {shown(item.digest)}: is missing"
        elif size != item.size:
            yield f"evidence {item.digest}: size must be {item.size}, got {size}"


def _faults_of_verdict(data: bytes, expected: VerdictFile) -> Iterator[str]:
    if data == encode_verdict(expected):
        return
    problems: list[str] = []
    files = {"verdict.json": data}
    found = _decoded("verdict.json", files, _of(VerdictFile), encode_verdict, problems)
    yield from problems
    if found is None:
        return
    for name in VerdictFile.__struct_fields__:
        if name != "files" and getattr(found, name) != getattr(expected, name):
            yield f"verdict.json: {name} does not agree with the other files"
    for name in sorted(found.files.keys() | expected.files.keys()):
        if found.files.get(name) != expected.files.get(name):
            yield f"{shown(name)}: is not the file that the verdict is about"
