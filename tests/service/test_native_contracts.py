"""Contracts over the network: locked or refused with every fault, kept, and known by digest."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from signoff import STDLIB, Contract, Criterion, lock
from signoff.lockfile import encode_lock
from signoff.probes import PROBES
from signoff.service.native.admission import may_be_served, refused
from signoff.service.native.contract_store import ContractStore, StoreFull
from tests.service.native import CONTRACT, GOOD, Native

OTHER = {**CONTRACT, "id": "other"}


@pytest.fixture
def native(tmp_path: Path) -> Iterator[Native]:
    with Native(tmp_path) as made:
        yield made


def with_criteria(*criteria: dict[str, Any]) -> dict[str, Any]:
    return {"id": "c", "criteria": [*criteria]}


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "contracts").glob("*.json"))


# -- locking --


def test_contract_is_locked_as_the_command_line_locks_it(native: Native, tmp_path: Path) -> None:
    reply = native.call("POST", "/v1/contracts", CONTRACT)
    locked = lock(CONTRACT, STDLIB)

    assert (201, encode_lock(locked)) == (reply.status, reply.body)
    assert f"/v1/contracts/{locked.digest}" == reply.headers["Location"]
    assert [f"{locked.digest[7:]}.json"] == kept(tmp_path)


def test_contract_that_is_kept_is_no_new_one(native: Native, tmp_path: Path) -> None:
    first = native.call("POST", "/v1/contracts", CONTRACT)
    second = native.call("POST", "/v1/contracts", CONTRACT)

    assert (201, 200, first.body) == (first.status, second.status, second.body)
    assert 1 == len(kept(tmp_path))


def test_lock_file_is_a_contract_too(native: Native) -> None:
    locked = native.call("POST", "/v1/contracts", CONTRACT)
    again = native.call("POST", "/v1/contracts", locked.body)

    assert (200, locked.body) == (again.status, again.body)


def test_lock_file_that_was_changed_is_refused(native: Native) -> None:
    document = native.call("POST", "/v1/contracts", CONTRACT).json
    document["contract"]["criteria"][0]["params"]["min"] = 1
    reply = native.call("POST", "/v1/contracts", document)

    assert (422, "contract_refused") == (reply.status, reply.json["code"])
    assert "/digest" == reply.json["pointer"]


def test_lock_file_of_what_cannot_be_locked_is_refused(native: Native) -> None:
    criterion = Criterion(id="a", verifier="count_between", params={"min": 3, "max": 1})
    from signoff.lockfile import seal

    locked = seal(Contract(id="c", criteria=(criterion,)), {}, ())
    reply = native.call("POST", "/v1/contracts", encode_lock(locked))

    assert 422 == reply.status
    assert reply.json["pointer"].startswith("/contract/criteria/0/params")


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("application/yaml", b"id: answers\ncriteria:\n  - {id: some, verifier: not_empty}\n"),
        (
            "text/yaml; charset=utf-8",
            b"id: answers\ncriteria:\n  - {id: some, verifier: not_empty}\n",
        ),
        (
            "application/toml",
            b'id = "answers"\n[[criteria]]\nid = "some"\nverifier = "not_empty"\n',
        ),
    ],
)
def test_yaml_and_toml_are_read_as_files_are(native: Native, type_: str, text: bytes) -> None:
    document = {"id": "answers", "criteria": [{"id": "some", "verifier": "not_empty"}]}
    reply = native.call("POST", "/v1/contracts", text, type=type_)

    assert (201, lock(document, STDLIB).digest) == (reply.status, reply.json["digest"])


# -- refusals --


def test_all_faults_are_told_with_their_places(native: Native) -> None:
    text = b'{"id": "c", "colour": 1,\n "criteria": [{"id": "a", "verifier": "sorted_bi"},\n {"id": "b", "verifier": "count_between", "params": {"min": -1}}]}'
    reply = native.call("POST", "/v1/contracts", text)
    found = [(one["pointer"], one["line"]) for one in reply.json["errors"]]

    assert (422, "contract_refused", "/colour") == (
        reply.status,
        reply.json["code"],
        reply.json["pointer"],
    )
    assert [("/colour", 1), ("/criteria/0/verifier", 2), ("/criteria/1/params/min", 3)] == found
    assert "3 faults" in reply.json["detail"]


def test_time_for_many_faults_grows_with_the_text_alone(native: Native) -> None:
    began = process_time()
    reply = native.call("POST", "/v1/contracts", {f"{name:x}": 1 for name in range(60_000)})

    assert (422, "/0") == (reply.status, reply.json["pointer"])
    assert "60002 faults" in reply.json["detail"]
    # To find the places of all of them would take minutes.
    assert process_time() - began < 20


@pytest.mark.parametrize(
    ("text", "type_", "code"),
    [
        (b"", "application/json", "bad_json"),
        (b"{", "application/json", "bad_json"),
        (b'{"id": 1, "id": 2}', "application/json", "bad_json"),
        (b"id: [", "application/yaml", "bad_yaml"),
        (b"id: a\nid: b", "application/yaml", "bad_yaml"),
        (b"id = ", "application/toml", "bad_toml"),
    ],
)
def test_text_that_is_no_document_is_a_bad_request(
    native: Native, text: bytes, type_: str, code: str
) -> None:
    reply = native.call("POST", "/v1/contracts", text, type=type_)

    assert (400, code) == (reply.status, reply.json["code"])


def test_every_probe_is_fit_or_refused() -> None:
    """A probe that is added stays refused until somebody says that it looks at nothing here."""
    fit = {"dominant_color", "remote", "similarity_above"}

    assert {*PROBES.ids()} == fit | {*refused()}
    assert {"artifact_exists", "changes_within", "command", "junit", "pytest"} == {*refused()}
    assert all(map(may_be_served, STDLIB.ids()))


@pytest.mark.parametrize("id_", refused())
def test_check_that_looks_at_this_machine_is_refused(
    native: Native, id_: str, tmp_path: Path
) -> None:
    reply = native.call("POST", "/v1/contracts", with_criteria({"id": "a", "verifier": id_}))
    [error] = reply.json["errors"]

    assert (422, "/criteria/0/verifier") == (reply.status, error["pointer"])
    assert "no contract from the network may" in error["detail"]
    assert [] == kept(tmp_path)


def test_lock_file_cannot_bring_such_a_check(native: Native) -> None:
    criterion = {"id": "a", "verifier": "command", "params": {"argv": ["true"]}}
    locked = lock(with_criteria(criterion), STDLIB | PROBES)
    for path, body in (
        ("/v1/contracts", json.loads(encode_lock(locked))),
        ("/v1/verify", {"contract": json.loads(encode_lock(locked)), "output": 1}),
    ):
        reply = native.call("POST", path, body)

        assert (422, "/contract/criteria/0/verifier") == (reply.status, reply.json["pointer"])


def test_such_a_check_in_the_folder_by_hand_is_an_error_and_runs_nothing(
    native: Native, tmp_path: Path
) -> None:
    trace = tmp_path / "ran"
    criterion = {"id": "a", "verifier": "command", "params": {"argv": ["touch", str(trace)]}}
    locked = lock(with_criteria(criterion), STDLIB | PROBES)
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / f"{locked.digest[7:]}.json").write_bytes(encode_lock(locked))
    reply = native.call("POST", "/v1/verify", {"contract": locked.digest, "output": 1})

    assert (200, "failed") == (reply.status, reply.json["verdict"]["outcome"])
    assert "error" == reply.json["results"][0]["finding"]["status"]
    assert not trace.exists()


def test_files_are_not_read_for_a_schema(native: Native) -> None:
    criterion = {"id": "a", "verifier": "json_schema", "params": {"schemaRef": "etc/passwd"}}
    reply = native.call("POST", "/v1/contracts", with_criteria(criterion))

    assert (422, "/criteria/0/params/schemaRef") == (reply.status, reply.json["pointer"])


# -- reading --


def test_kept_contract_is_read_by_its_digest(native: Native) -> None:
    locked = native.call("POST", "/v1/contracts", CONTRACT)
    found = native.call("GET", locked.headers["Location"])

    assert (200, locked.body) == (found.status, found.body)
    assert f'"{locked.json["digest"]}"' == found.headers["ETag"]


def test_colon_of_a_digest_may_be_encoded(native: Native) -> None:
    digest = native.locked()
    found = [
        native.call("GET", f"/v1/contracts/{digest.replace(':', code)}").status
        for code in ("%3A", "%3a")
    ]

    assert [200, 200] == found


@pytest.mark.parametrize(
    "digest",
    [
        "sha256:" + "0" * 64,
        "sha256:" + "A" * 64,
        "0" * 64,
        "..",
        "%2e%2e",
        "lock",
        "sha256:",
        "x" * 4096,
    ],
)
def test_what_is_no_digest_of_a_kept_contract_is_not_found(native: Native, digest: str) -> None:
    native.locked()
    reply = native.call("GET", f"/v1/contracts/{digest}")

    assert (404, "contract_unknown") == (reply.status, reply.json["code"])


@pytest.mark.parametrize("damage", ["changed", "cut", "other", "folder"])
def test_damaged_file_is_noticed_and_judges_nothing(tmp_path: Path, damage: str) -> None:
    with Native(tmp_path) as native:
        digest = native.locked()
        other = native.locked(OTHER)
    path = tmp_path / "contracts" / f"{digest[7:]}.json"
    if damage == "changed":
        path.write_bytes(path.read_bytes().replace(b'"max": 3', b'"max": 9'))
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif damage == "other":
        path.write_bytes((path.parent / f"{other[7:]}.json").read_bytes())
    else:
        path.unlink()
        path.mkdir()
    with Native(tmp_path) as native:
        read = native.call("GET", f"/v1/contracts/{digest}")
        judged = native.call("POST", "/v1/verify", {"contract": digest, "output": GOOD})

    assert (500, "store_unusable") == (read.status, read.json["code"])
    assert (500, "store_unusable") == (judged.status, judged.json["code"])
    assert str(tmp_path) not in read.body.decode()


def test_other_workers_know_what_one_has_locked(tmp_path: Path) -> None:
    with Native(tmp_path) as one, Native(tmp_path) as other:
        digest = one.locked()
        reply = other.call("POST", "/v1/verify", {"contract": digest, "output": GOOD})

    assert "passed" == reply.json["verdict"]["outcome"]


# -- the folder --


def test_folder_is_for_its_owner_alone(native: Native, tmp_path: Path) -> None:
    native.locked()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "contracts").iterdir()}

    assert {0o600} == modes
    assert 0o700 == stat.S_IMODE((tmp_path / "contracts").stat().st_mode)
    assert [] == [*(tmp_path / "contracts").glob("*.part")]


def test_full_folder_refuses_what_is_new_and_knows_what_it_has(tmp_path: Path) -> None:
    first, second = lock(CONTRACT, STDLIB), lock(OTHER, STDLIB)
    store = ContractStore(tmp_path, max_count=1)
    store.put(first)

    with pytest.raises(StoreFull, match="1 contracts are kept"):
        store.put(second)
    assert (encode_lock(first), False) == store.put(first)
    with pytest.raises(StoreFull, match="take 100 bytes"):
        ContractStore(tmp_path, max_bytes=100).put(second)


def test_full_folder_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ContractStore.__init__, "__kwdefaults__", {"max_count": 0, "max_bytes": 1})
    with Native(tmp_path) as native:
        reply = native.call("POST", "/v1/contracts", CONTRACT)

    assert (503, "store_full") == (reply.status, reply.json["code"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with Native(tmp_path) as native:
        reply = native.call("POST", "/v1/contracts", CONTRACT)
        ready = native.call("GET", "/ready")
    tmp_path.chmod(0o700)

    assert (500, "store_unusable") == (reply.status, reply.json["code"])
    assert (503, "not_ready") == (ready.status, ready.json["code"])


def test_file_in_the_way_makes_the_worker_unready(tmp_path: Path) -> None:
    (tmp_path / "contracts").write_text("")
    with Native(tmp_path) as native:
        reply = native.call("POST", "/v1/contracts", CONTRACT)
        ready = native.call("GET", "/ready")

    assert (500, "store_unusable") == (reply.status, reply.json["code"])
    assert (503, "not_ready") == (ready.status, ready.json["code"])
    assert ready.json["errors"][0]["detail"].startswith("contracts cannot be kept")
