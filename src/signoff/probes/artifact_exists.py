"""Every listed evidence file exists, and has its checksum."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import monotonic
from typing import Annotated, Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from signoff.canonical import digest_bytes
from signoff.document.beneath import open_beneath
from signoff.errors import EvidenceCorrupt, EvidenceMissing, Fault, ParamsError
from signoff.jsonvalue import JSON, shown
from signoff.model import Evidence, Finding, Subject, failed, inconclusive, passed
from signoff.params import MAX_ITEMS, MAX_TEXT, Kind
from signoff.registry import Check, EvidenceReader, Powers, reads, verifier
from signoff.status import Cause, Status
from signoff.workspace import NO_FILE, OPENING, workspace_of

HASH_S: Final = 120.0
_PIECE: Final = 2**20
_CHECKSUM: Final = re.compile(r"(sha256|sha384|sha512):([0-9A-Fa-f]+)")
_DIGEST: Final = re.compile(r"sha256:[0-9A-Fa-f]+")
_DIGEST_LIKE: Final = re.compile(r"sha256:")
_REMOTE: Final = re.compile(r"https?://", re.IGNORECASE)
_FILE: Final = re.compile(r"file://", re.IGNORECASE)
_OUTSIDE: Final = ".."
_MEMBERS: Final = {"ref", "kind", "checksum", "ext", "selector"}


class Artifact(Struct, frozen=True, kw_only=True):
    """
    One entry of the list.

    Args:
        ref: As it is written.
        listed: The whole entry, likewise.
        path: Below the workspace; absolute for a URL; None for recorded evidence.
        checksum: As it is written, or None.
        is_folder: It must be a directory.
    """

    ref: str
    listed: dict[str, JSON]
    path: str | None
    checksum: str | None
    is_folder: bool


def _read_list(value: JSON) -> tuple[Artifact, ...]:
    if type(value) is not list or len(value) > MAX_ITEMS:
        raise ValueError
    if not value:
        raise ParamsError(LIST.absent)
    faults = [Fault(f"/{i}", text) for i, entry in enumerate(value) for text in _faults(entry)]
    if faults:
        raise ParamsError(tuple(faults))
    return tuple(_artifact(entry) for entry in value if type(entry) is dict)


LIST: Final = Kind(
    says="array of 1 or more {ref, kind?, checksum?, ext?}",
    read=_read_list,
    schema={
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "ref": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
                "kind": {"type": "string", "maxLength": MAX_TEXT},
                "checksum": {"type": "string", "pattern": f"^{_CHECKSUM.pattern}$"},
                "ext": {},
            },
            "required": ["ref"],
            "additionalProperties": False,
        },
        "minItems": 1,
        "maxItems": MAX_ITEMS,
    },
    absent="criterion.evidence[] is required for artifact_exists",
)


@verifier
def artifact_exists(*, evidence: Annotated[tuple[Artifact, ...], LIST], powers: Powers) -> Check:
    """
    Every listed evidence file exists and, where a checksum is given, has it.

    A ``ref`` is a path below the workspace, a ``file:///`` URL that ends up there, or
    ``sha256:`` and the digest of recorded evidence.  Links are followed as long as
    they stay below the workspace.  Only regular files count, and directories where
    ``kind`` is ``"dir"``.  A ``checksum`` is ``sha256:``, ``sha384:`` or ``sha512:`` and hex.

    In a contract, params are such as
    ``{"evidence": [{"ref": "dist/page.html"}, {"ref": "dist/img", "kind": "dir"}]}``

    Args:
        evidence: Objects with ``ref`` and, as wanted, ``kind``, ``checksum`` and ``ext``;
            judged in order, up to the first that does not hold.

    Source: OpenSpec, "Verifiers".
    """

    def check(subject: Subject) -> Finding:
        deadline = monotonic() + HASH_S
        for artifact in evidence:
            if artifact.path is None:
                problem = _lacks_bytes(artifact, subject, powers.store)
            else:
                problem = _lacks_file(artifact, workspace_of(subject, powers), deadline)
            if problem is not None:
                return problem
        return replace(
            passed("All evidence artifacts exist."),
            evidence=_recorded(evidence, subject),
            data={"evidence": [artifact.listed for artifact in evidence]},
        )

    return reads(check)


def _faults(entry: JSON) -> Iterator[str]:
    """What is wrong with an entry."""
    if type(entry) is not dict or not _has_types(entry):
        yield LIST.wrong("evidence")
        return
    ref, checksum = str(entry.get("ref", "")), entry.get("checksum", "sha256:0")
    if "selector" in entry:
        yield "evidence selectors are not evaluated"
    if not ref:
        yield "Evidence ref is empty"
        return
    if _REMOTE.match(ref):
        yield f"Remote evidence refs are not supported in core: {shown(ref)}"
    elif _path(ref) == _OUTSIDE:
        yield f"evidence ref {shown(ref)} leaves the workspace"
    bad_digest = _DIGEST_LIKE.match(ref) and not _DIGEST.fullmatch(ref)
    if bad_digest or type(checksum) is not str or not _CHECKSUM.fullmatch(checksum):
        yield f"checksum of {shown(ref)} must be sha256, sha384 or sha512 and hex"
    elif "checksum" in entry and entry.get("kind") == "dir":
        yield f"evidence ref {shown(ref)} is a directory, which has no checksum"


def _has_types(entry: dict[str, JSON]) -> bool:
    texts = (entry.get("ref", ""), entry.get("kind", ""))
    return entry.keys() <= _MEMBERS and all(
        type(text) is str and len(text) <= MAX_TEXT for text in texts
    )


def _artifact(entry: dict[str, JSON]) -> Artifact:
    ref, checksum = str(entry["ref"]), entry.get("checksum")
    return Artifact(
        ref=ref,
        listed=entry,
        path=_path(ref),
        checksum=checksum if type(checksum) is str else None,
        is_folder=entry.get("kind") == "dir",
    )


def _path(ref: str) -> str | None:
    """
    The path that a ref means, without ``..``; None for recorded evidence.

    What is bound to leave the workspace is ``..``; whether a URL does is seen when
    there is a workspace.
    """
    if _DIGEST_LIKE.match(ref):
        return None
    if _FILE.match(ref):
        path = os.fsdecode(unquote_to_bytes(ref[len("file://") :]))
        return os.path.normpath(path) if path.startswith("/") else _OUTSIDE
    path = os.path.normpath(ref)
    return _OUTSIDE if path.startswith(("/", "../")) else path


def _lacks_file(artifact: Artifact, root: str, deadline: float) -> Finding | None:
    """Why a file below the workspace does not do; None when it does."""
    path = _below(root, artifact.path or "")
    if path is None:
        detail = f"evidence ref {shown(artifact.ref)} leaves the workspace."
        return Finding(status=Status.ERROR, detail=detail, cause=Cause.BAD_PARAMS)
    try:
        handle = open_beneath(root, path, OPENING)
    except OSError as exc:
        known = exc.errno in NO_FILE and Path(root).is_dir()
        return _missing(artifact) if known else _unreadable(artifact)
    except ValueError:  # a null, or a character that no file name can have
        return _missing(artifact)
    try:
        return _lacks(artifact, handle, deadline)
    except OSError:
        return _unreadable(artifact)
    finally:
        os.close(handle)


def _below(root: str, path: str) -> str | None:
    """The path from the root; None when a URL leads elsewhere."""
    if not path.startswith("/"):
        return path
    for start in (os.path.abspath(root), os.path.realpath(root)):  # noqa: PTH100  pathlib has no path without links resolved
        if os.path.commonpath((start, path)) == start:
            return os.path.relpath(path, start)
    return None


def _lacks(artifact: Artifact, handle: int, deadline: float) -> Finding | None:
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind != (stat.S_IFDIR if artifact.is_folder else stat.S_IFREG):
        return _missing(artifact)
    return _differs(artifact, iter(lambda: _piece(handle, deadline), b""))


def _piece(handle: int, deadline: float) -> bytes:
    if monotonic() > deadline:
        raise TimeoutError
    return os.read(handle, _PIECE)


def _lacks_bytes(
    artifact: Artifact, subject: Subject, store: EvidenceReader | None
) -> Finding | None:
    """Why recorded evidence does not do; None when it does."""
    digest = artifact.ref.lower()
    if subject.evidence is None and store is None:
        return inconclusive("No evidence was recorded.", Cause.NOT_RECORDED)
    if artifact.is_folder or not _is_listed(digest, subject):
        return _missing(artifact)
    if store is None:
        detail = "artifact_exists was not given the means: a store of the recorded evidence"
        return Finding(status=Status.ERROR, detail=detail, cause=Cause.NOT_INSTALLED)
    try:
        data = store.read(digest)
    except EvidenceMissing:
        return replace(_missing(artifact), cause=Cause.EVIDENCE_MISSING)
    except EvidenceCorrupt as exc:
        return _altered(artifact, exc.found) if exc.found else _unreadable(artifact)
    except OSError:
        return _unreadable(artifact)
    found = digest_bytes(data)
    return _altered(artifact, found) if found != digest else _differs(artifact, [data])


def _is_listed(digest: str, subject: Subject) -> bool:
    return subject.evidence is None or any(one.digest == digest for one in subject.evidence)


def _differs(artifact: Artifact, pieces: Iterable[bytes]) -> Finding | None:
    """Why bytes have not the checksum; None when they have, or need none."""
    if artifact.checksum is None:
        return None
    algorithm, _, _ = artifact.checksum.partition(":")
    hashed = hashlib.new(algorithm)
    for piece in pieces:
        hashed.update(piece)
    found = f"{algorithm}:{hashed.hexdigest()}"
    return None if found == artifact.checksum.lower() else _mismatch(artifact, found)


def _mismatch(artifact: Artifact, found: str) -> Finding:
    expected = shown(artifact.checksum or artifact.ref)
    return failed(f"Checksum mismatch for {shown(artifact.ref)}: expected {expected}, got {found}")


def _altered(artifact: Artifact, found: str) -> Finding:
    """Recorded evidence that has not the digest it was recorded under."""
    ref = shown(artifact.ref)
    detail = f"Checksum mismatch for {ref}: expected {ref}, got {found}"
    return failed(detail, cause=Cause.EVIDENCE_CORRUPT)


def _missing(artifact: Artifact) -> Finding:
    return failed(f"Missing artifact: {shown(artifact.ref)}")


def _unreadable(artifact: Artifact) -> Finding:
    detail = f"Artifact cannot be read: {shown(artifact.ref)}"
    return inconclusive(detail, Cause.EVIDENCE_UNREACHABLE)


def _recorded(artifacts: Iterable[Artifact], subject: Subject) -> tuple[Evidence, ...]:
    """The kept bytes among what was listed: files of the workspace were not kept."""
    wanted = {artifact.ref.lower() for artifact in artifacts if artifact.path is None}
    return tuple(one for one in subject.evidence or () if one.digest in wanted)
