"""Every evidence file is in the index and in the registry, with its digest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signoff.scc.evidence_index import (
    EvidenceFile,
    encode_index,
    issue_evidence,
    seal_evidence,
)
from signoff.scc.store import open_registry

RUN = "20260131-120000-0000abcd"
FILES = (
    EvidenceFile(path="logs/001_a.stdout.txt", sha256="a" * 64, size=1),
    EvidenceFile(path="evidence/checks.json", sha256="b" * 64, size=2),
    EvidenceFile(path="collected/001/out put.json", sha256="c" * 64, size=3),
)


def test_every_file_is_in_index_and_registry_with_its_digest(place: str | Path) -> None:
    with open_registry(place) as registry:
        oids = issue_evidence(registry, RUN, (one.path for one in FILES))
        seal_evidence(registry, oids, FILES)
        again = issue_evidence(registry, RUN, (one.path for one in FILES))
        objects = registry.find_all([*oids.values()])
    index: list[dict[str, Any]] = json.loads(encode_index(RUN, oids, FILES))

    assert sorted(one.path for one in FILES) == [one["path"] for one in index] == [*oids]
    assert oids == again
    assert [*oids.values()] == [one["oid"] for one in index]
    for entry in index:
        known = objects[entry["oid"]]
        assert f"artifacts/scc_runs/{RUN}/{entry['path']}" == known.path
        for name in ("kind", "layer", "primary_unit", "status", "sha256"):
            assert entry[name] == getattr(known, name)
    assert ["V.TESTS", "V.VERDICT", "V.TESTS"] == [one["primary_unit"] for one in index]
    assert [
        "oid", "path", "kind", "layer", "primary_unit", "tags", "status", "sha256", "size",
    ] == [*index[0]]  # fmt: skip


def test_the_index_does_not_list_itself() -> None:
    itself = EvidenceFile(path="evidence/index.json", sha256="d" * 64, size=4)
    oids = {one.path: "x" for one in (*FILES, itself)}

    assert 3 == len(json.loads(encode_index(RUN, oids, (*FILES, itself))))


def test_a_file_without_oid_is_an_error() -> None:
    with pytest.raises(KeyError):
        encode_index(RUN, {}, FILES)
