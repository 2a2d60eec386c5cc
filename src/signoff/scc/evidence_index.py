"""
``evidence/index.json``: every evidence file of a run with its OID, digest and size.

The OIDs are minted before the files are written, because files name them; the
digests follow when the files are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from signoff.dialects.scc.names import run_path
from signoff.scc.oid_object import NewObject
from signoff.scc.registry import OidRegistry

__all__ = [
    "INDEX",
    "NEVER_COLLECTED",
    "EvidenceFile",
    "encode_index",
    "evidence_objects",
    "issue_evidence",
    "seal_evidence",
]

INDEX: Final = "evidence/index.json"
NEVER_COLLECTED: Final = frozenset(("verdict.json", "selftest.log", "evidence_hashes.json"))
"""Names that are the verifier's own, and are taken from no check."""

_OF_CHECKS: Final = ("logs/", "collected/")


class EvidenceFile(Struct, frozen=True, kw_only=True):
    """
    A file of a run, as it was written.

    Args:
        path: Relative to the run output directory.
        sha256: 64 hex digits.
        size: Number of bytes.
    """

    path: str
    sha256: str
    size: int


def evidence_objects(run_id: str, paths: Iterable[str]) -> tuple[NewObject, ...]:
    """What is registered of the evidence files of a run, sorted by path."""
    return tuple(
        NewObject(
            path=f"{run_path(run_id)}/{path}",
            kind="log" if path.startswith("logs/") else "evidence",
            layer="REPORT",
            primary_unit="V.TESTS" if path.startswith(_OF_CHECKS) else "V.VERDICT",
            stable_key=f"run:{run_id}:{path}",
        )
        for path in sorted({*paths})
    )


def issue_evidence(registry: OidRegistry, run_id: str, paths: Iterable[str]) -> dict[str, str]:
    """
    The OID of each evidence file by its path, sorted; the same ones when asked again.

    Raises:
        RegistryRefused: A path is unsafe.
        DatabaseUnusable: The registry cannot be written.
    """
    given = sorted({*paths})
    issued = registry.issue_all(evidence_objects(run_id, given))
    return {path: one.oid for path, one in zip(given, issued, strict=True)}


def seal_evidence(
    registry: OidRegistry, oids: Mapping[str, str], files: Iterable[EvidenceFile]
) -> None:
    """
    Register the digests of the files.

    Raises:
        KeyError: A file has no OID.
        RegistryRefused: One has another digest already.
    """
    registry.seal({oids[file.path]: file.sha256 for file in files})


def encode_index(run_id: str, oids: Mapping[str, str], files: Iterable[EvidenceFile]) -> bytes:
    """
    The bytes of the index: of every file except itself.

    Raises:
        KeyError: A file has no OID.
    """
    by_path = {file.path: file for file in files if file.path != INDEX}
    entries = [
        {
            "oid": oids[path],
            "path": path,
            "kind": one.kind,
            "layer": one.layer,
            "primary_unit": one.primary_unit,
            "tags": [],
            "status": one.status,
            "sha256": by_path[path].sha256,
            "size": by_path[path].size,
        }
        for path, one in zip(sorted(by_path), evidence_objects(run_id, by_path), strict=True)
    ]
    return msgspec.json.format(msgspec.json.encode(entries), indent=2) + b"\n"
