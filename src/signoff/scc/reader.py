"""
``verdict.json`` read back: whatever is not wholly in order is a FAIL, ``verdict_missing``.

It is read from where it lies: in a run output directory, as the stable pointer of
a task, or in a mirror.  Evidence is opened without following links and measured
through the handle that was opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from signoff.canonical import digest_bytes
from signoff.dialects.scc.names import REPORTS
from signoff.dialects.scc.pointer import PointerDocument, read_pointer
from signoff.dialects.scc.shape import LIMITS, Object
from signoff.dialects.scc.verdict import FailClass, VerdictDocument, decode_verdict, utc_of
from signoff.errors import ContractError, DocumentError, JSONError, VerdictRefused
from signoff.folder import Folder, reason
from signoff.jsonvalue import JSON, shown
from signoff.strictjson import Limits, loads

__all__ = ["Expected", "ReadVerdict", "read_candidate", "read_verdict"]

MAX_VERDICT_BYTES: Final = LIMITS.max_bytes
MAX_META_BYTES: Final = 64 * 2**20
MAX_EVIDENCE_BYTES: Final = 2**40
INDEX: Final = "evidence/index.json"
RUN_META: Final = "evidence/run_meta.json"
_TIMES: Final = ("started_utc", "finished_utc")
# docs / REPORT / area / artifacts / task_id
_POINTER_DEPTH: Final = 5


class Expected(Struct, frozen=True, kw_only=True):
    """
    What a verdict must be about; what is ``""`` is not asked.

    Args:
        contract_sha256: 64 hex digits of the contract's bytes.
        tree_digest: Of the judged tree.
        commit: That was judged.
        task_id: Of the contract.
        task_code: Under which it is filed.
        run_id: Of the run.
    """

    contract_sha256: str = ""
    tree_digest: str = ""
    commit: str = ""
    task_id: str = ""
    task_code: str = ""
    run_id: str = ""


class ReadVerdict(Struct, frozen=True, kw_only=True):
    """
    What a verdict reads as.

    Args:
        verdict: ``PASS`` or ``FAIL``.
        fail_class: None if and only if PASS.
        exit_code: 0 if and only if PASS.
        evidence_paths: Relative to the folder below; none where the verdict counts as missing.
        root: Folder that the evidence lies in, ``""`` where the verdict counts as missing.
        problem: Why it counts as missing, ``""`` where it does not.
        document: The five keys as they are written; None where it counts as missing.
    """

    verdict: str
    fail_class: FailClass | None
    exit_code: int
    evidence_paths: tuple[str, ...] = ()
    root: str = ""
    problem: str = ""
    document: VerdictDocument | None = None

    @property
    def passed(self) -> bool:
        """True only if it is a PASS."""
        return self.verdict == "PASS"


def read_verdict(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    expected: Expected | None = None,
    now: datetime | None = None,
) -> ReadVerdict:
    """
    The verdict in a file; never raises for what is there.

    Args:
        path: The file.
        strict: Keys beyond the five are refused.
        expected: What it must be about; then ``run_meta.json`` must say so.
        now: The reader's time; the clock's when None.
    """
    moment = now or datetime.now(UTC)
    return _judged(
        lambda: _read(Path(path), strict=strict, expected=expected or Expected(), now=moment)
    )


def read_candidate(
    data: bytes,
    root: str | os.PathLike[str],
    *,
    expected: Expected | None = None,
    now: datetime | None = None,
) -> ReadVerdict:
    """
    The verdict in bytes that are in no file yet; never raises for what is there.

    Args:
        data: The bytes.
        root: Folder that the evidence lies in, absolute.
        expected: What it must be about; then ``run_meta.json`` must say so.
        now: The reader's time; the clock's when None.
    """
    moment = now or datetime.now(UTC)
    wanted = expected or Expected()

    def read() -> ReadVerdict:
        document = decode_verdict(data, now=moment, strict=True)
        return _accepted(document, Path(root).resolve(), wanted, None)

    return _judged(read)


def _judged(read: Callable[[], ReadVerdict]) -> ReadVerdict:
    """What was read, or why there is nothing that counts."""
    try:
        return read()
    except VerdictRefused as exc:
        problem = str(exc)
    except OSError as exc:
        problem = reason(exc)
    except ValueError:  # an embedded null, or a character that no file name can have
        problem = "no file can have this name"
    return ReadVerdict(
        verdict="FAIL", fail_class=FailClass.VERDICT_MISSING, exit_code=1, problem=problem
    )


def _read(path: Path, *, strict: bool, expected: Expected, now: datetime) -> ReadVerdict:
    with Folder.open(path.parent) as folder:
        data = folder.read(path.name, max_bytes=MAX_VERDICT_BYTES)
        document = decode_verdict(data, now=now, strict=strict)
        in_run = path.parent.resolve().name == "evidence"
        pointer = None if in_run else _pointer(folder, path)
    # Without links in its name, so that no part of it can be exchanged unseen.
    place = path.parent.resolve()
    return _accepted(document, _root(place, pointer, data), expected, pointer)


def _accepted(
    document: VerdictDocument, root: Path, expected: Expected, pointer: PointerDocument | None
) -> ReadVerdict:
    """What a document reads as whose evidence is in order and about what is expected."""
    _require_evidence(root, document)
    if pointer is not None:
        _require(pointer.task_id, expected.task_id, "the pointer is of another task")
    if expected != Expected() or pointer is not None:
        wanted = _completed(expected, pointer)
        _require_meta(root, wanted)
    listed = {one.value: one for one in FailClass}
    fail_class = document.fail_class
    return ReadVerdict(
        verdict=document.verdict,
        fail_class=None if fail_class is None else listed.get(fail_class, FailClass.UNKNOWN),
        exit_code=document.exit_code,
        evidence_paths=document.evidence_paths,
        root=str(root),
        document=document,
    )


def _pointer(folder: Folder, path: Path) -> PointerDocument | None:
    """The sidecar beside the verdict, None where there is none."""
    try:
        data = folder.read("pointer.json", max_bytes=MAX_VERDICT_BYTES)
    except FileNotFoundError:
        return None
    try:
        return read_pointer(data, shown(str(path.with_name("pointer.json"))))
    except (ContractError, DocumentError) as exc:
        raise VerdictRefused(f"pointer.json: {exc}") from exc


def _root(place: Path, pointer: PointerDocument | None, data: bytes) -> Path:
    """The folder that evidence paths are relative to."""
    if pointer is None:
        return place.parent if place.name == "evidence" else place
    own = (*REPORTS.split("/"), pointer.area, "artifacts", pointer.task_id)
    if place.parts[-_POINTER_DEPTH:] != own:
        raise VerdictRefused("pointer.json is of another area or task")
    if digest_bytes(data) != f"sha256:{pointer.verdict_sha256}":
        raise VerdictRefused("pointer.json is of another verdict")
    workspace = place.parents[_POINTER_DEPTH - 1]
    _require_same_run(workspace, pointer, data)
    return workspace / pointer.artifacts_dir


def _require_same_run(workspace: Path, pointer: PointerDocument, data: bytes) -> None:
    """The run that the pointer speaks for says the same, if it is still there."""
    run = workspace / pointer.run_dir
    if not os.path.lexists(run):
        return
    try:
        with ExitStack() as stack:
            folder = _folder(workspace, f"{pointer.run_dir}/evidence".split("/"), stack)
            own = folder.read("verdict.json", max_bytes=MAX_VERDICT_BYTES)
    except OSError as exc:
        raise VerdictRefused(f"the verdict of the run: {reason(exc)}") from exc
    if own != data:
        raise VerdictRefused("the verdict of the run differs")


def _require_evidence(root: Path, document: VerdictDocument) -> None:
    """Each listed file is there, and is what the index says where that is listed."""
    indexed = _index(root) if INDEX in document.evidence_paths else None
    for path in document.evidence_paths:
        try:
            with ExitStack() as stack:
                *above, name = path.split("/")
                folder = _folder(root, above, stack)
                measured = folder.measure(name, max_bytes=MAX_EVIDENCE_BYTES)
        except OSError as exc:
            raise VerdictRefused(f"evidence {shown(path)}: {reason(exc)}") from exc
        if indexed is not None and path != INDEX and indexed.get(path) != measured:
            how = "differs from the index" if path in indexed else "is not in the index"
            raise VerdictRefused(f"evidence {shown(path)}: {how}")


def _index(root: Path) -> dict[str, tuple[str, int]]:
    value = _json_file(root, INDEX)
    if not isinstance(value, list):
        raise VerdictRefused(f"{INDEX} must be array")
    found: dict[str, tuple[str, int]] = {}
    for entry in value:
        path, sha256, size = (
            (entry.get("path"), entry.get("sha256"), entry.get("size"))
            if isinstance(entry, dict)
            else (None, None, None)
        )
        if not isinstance(path, str) or not isinstance(sha256, str) or type(size) is not int:
            raise VerdictRefused(f"{INDEX} has an entry without path, sha256 and size")
        if path in found:
            raise VerdictRefused(f"{INDEX} lists {shown(path)} twice")
        found[path] = (f"sha256:{sha256.removeprefix('sha256:')}", size)
    return found


def _completed(expected: Expected, pointer: PointerDocument | None) -> Expected:
    """What is expected, with what the pointer says where nothing else is."""
    if pointer is None:
        return expected
    return msgspec.structs.replace(
        expected,
        contract_sha256=expected.contract_sha256 or pointer.contract_sha256,
        task_id=expected.task_id or pointer.task_id,
        task_code=expected.task_code or pointer.task_code,
        run_id=expected.run_id or pointer.run_id,
    )


def _require_meta(root: Path, expected: Expected) -> None:
    """``run_meta.json`` is there, and is of what is expected."""
    meta = _json_file(root, RUN_META)
    if not isinstance(meta, dict):
        raise VerdictRefused(f"{RUN_META} must be object")
    for name in ("contract_sha256", "tree_digest", "task_id", "task_code", "run_id"):
        _require(_text(meta, name), getattr(expected, name), f"stale or foreign: another {name}")
    if expected.commit:
        _require(_commit(meta), expected.commit, "stale or foreign: another commit")
    started, finished = (utc_of(_text(meta, name), name) for name in _TIMES)
    if finished < started:
        raise VerdictRefused(f"{RUN_META} finished before it started")


def _require(found: str, wanted: str, message: str) -> None:
    if wanted and found.removeprefix("sha256:") != wanted.removeprefix("sha256:"):
        raise VerdictRefused(message)


def _text(meta: Object, name: str) -> str:
    value = meta.get(name)
    if not isinstance(value, str) or not value:
        raise VerdictRefused(f"{RUN_META}: {name} must be a non-empty string")
    return value


def _commit(meta: Object) -> str:
    place = meta.get("workspace_ref")
    commit = place.get("commit") if isinstance(place, dict) else None
    if not isinstance(commit, str):
        raise VerdictRefused(f"{RUN_META}: workspace_ref.commit must be string")
    return commit


def _json_file(root: Path, path: str) -> JSON:
    try:
        with ExitStack() as stack:
            *above, name = path.split("/")
            data = _folder(root, above, stack).read(name, max_bytes=MAX_META_BYTES)
        return loads(data, limits=Limits(max_bytes=MAX_META_BYTES, max_depth=64))
    except OSError as exc:
        raise VerdictRefused(f"{path}: {reason(exc)}") from exc
    except JSONError as exc:
        raise VerdictRefused(f"{path} is not strict JSON: {exc}") from exc


def _folder(root: Path, parts: Iterable[str], stack: ExitStack) -> Folder:
    folder = stack.enter_context(Folder.open(root))
    for part in parts:
        folder = stack.enter_context(folder.child(part))
    return folder
