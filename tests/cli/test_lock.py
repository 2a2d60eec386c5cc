"""``signoff lock``: every fault with its place, or a lock file that lasts."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.lockfile import read_lock
from signoff.strictjson import loads
from tests.cli.calling import CONTRACT, call, wrote

FAULTY = """\
id: answers
titel: misspelt
criteria:
  - id: enough
    verifier: count_betwen
    params: {min: 2}
  - id: sorted
    verifier: sorted_by
    params: {feild: score, order: up}
"""


def test_lock_file_stands_beside_the_contract(folder: Path) -> None:
    (folder / "sub").mkdir()
    wrote(folder / "sub", "agreed.yaml", CONTRACT)
    called = call("lock", "sub/agreed.yaml")
    locked = read_lock(loads((folder / "sub" / "agreed.lock.json").read_bytes()))

    assert (
        0,
        (
            "locked: sub/agreed.lock.json\n"
            "    contract  answers: 2 criteria (2 required)\n"
            f"    digest    {locked.digest}\n"
        ),
        "",
    ) == called


@pytest.mark.parametrize("name", ["", ".", "./", "..", "/"])
def test_name_that_no_file_has_is_refused_in_one_sentence(folder: Path, name: str) -> None:
    called = call("lock", name)

    assert (2, "") == (called.code, called.out)
    assert called.err.startswith(f"signoff: {name}: unknown kind of document; the name must end in")


def test_locking_again_changes_nothing(folder: Path) -> None:
    before = (folder / "contract.lock.json").stat()
    called = call("lock", "contract.yaml")

    assert called.out.startswith("up to date: contract.lock.json\n")
    assert before.st_mtime_ns == (folder / "contract.lock.json").stat().st_mtime_ns


def test_every_fault_has_a_place_and_a_suggestion(folder: Path) -> None:
    wrote(folder, "faulty.yaml", FAULTY)
    called = call("lock", "faulty.yaml")

    assert (2, "") == (called.code, called.out)
    assert [
        'faulty.yaml:2:1: titel is not a field of a contract; did you mean "title"? (/titel)',
        'faulty.yaml:5:5: No verifier registered for "count_betwen"; did you mean "count_between"? (/criteria/0/verifier)',
        'faulty.yaml:9:14: params.feild is not a parameter of sorted_by; did you mean "field"? (/criteria/1/params/feild)',
        "faulty.yaml:9:13: params.field is required (/criteria/1/params)",
        'faulty.yaml:9:35: params.order must be "asc" or "desc" (/criteria/1/params/order)',
        "signoff: faulty.yaml cannot be locked: 5 faults",
        "next: signoff verifiers ID shows what a verifier takes",
    ] == called.err.splitlines()
    assert not (folder / "faulty.lock.json").exists()


def test_hundreds_of_faults_are_counted(folder: Path) -> None:
    names = ", ".join(f"{'x' * 200}{n}: 1" for n in range(150))
    wrote(folder, "faulty.yaml", f"id: x\ncriteria: [{{id: a, verifier: not_empty, {names}}}]\n")
    called = call("lock", "faulty.yaml")

    assert 103 == len(called.err.splitlines())
    assert "and 50 more; --json lists all of them\n" in called.err
    assert 150 == len(call("lock", "faulty.yaml", "--json").json["error"]["faults"])


def test_faults_are_json_where_asked(folder: Path) -> None:
    wrote(folder, "faulty.yaml", FAULTY)
    called = call("lock", "faulty.yaml", "--json")
    error = called.json["error"]

    assert (2, "") == (called.code, called.err)
    assert ("faulty.yaml", 5) == (error["source"], len(error["faults"]))
    assert {
        "pointer": "/titel",
        "line": 2,
        "column": 1,
        "message": "titel is not a field of a contract",
        "did_you_mean": "title",
    } == error["faults"][0]


def test_json_says_what_was_locked(folder: Path) -> None:
    called = call("lock", "contract.yaml", "--json", "-o", "other.json")

    assert (0, "") == (called.code, called.err)
    assert ("answers", 2, "other.json", True) == tuple(
        called.json[name] for name in ("contract_id", "criteria", "lock_file", "written")
    )


def test_check_fails_when_stale_or_absent_and_writes_nothing(folder: Path) -> None:
    assert 0 == call("lock", "contract.yaml", "--check").code
    before = (folder / "contract.lock.json").read_bytes()
    wrote(folder, "contract.yaml", CONTRACT.replace("max: 3", "max: 4"))
    called = call("lock", "contract.yaml", "--check")
    assert (1, "stale: contract.lock.json is not the lock of contract.yaml\n") == called[:2]
    assert before == (folder / "contract.lock.json").read_bytes()
    (folder / "contract.lock.json").unlink()
    assert 1 == call("lock", "contract.yaml", "--check").code
    assert not (folder / "contract.lock.json").exists()
    assert False is call("lock", "contract.yaml", "--check", "--json").json["up_to_date"]


def test_lock_file_is_not_locked_again(folder: Path) -> None:
    called = call("lock", "contract.lock.json")

    assert 2 == called.code
    assert "contract.lock.json is a lock file already" in called.err


def test_contract_is_never_replaced_by_its_lock(folder: Path) -> None:
    called = call("lock", "contract.yaml", "-o", "contract.yaml")

    assert 2 == called.code
    assert CONTRACT == (folder / "contract.yaml").read_text()


@pytest.mark.parametrize("target", ["nowhere/x.json", ".", "good.json/x.json"])
def test_lock_that_cannot_be_written_is_code_4(folder: Path, target: str) -> None:
    called = call("lock", "contract.yaml", "-o", target)

    assert (4, "") == (called.code, called.out)
    assert "cannot be written" in called.err


def test_lock_that_was_edited_is_refused(folder: Path) -> None:
    lock = folder / "contract.lock.json"
    lock.write_text(lock.read_text().replace('"max": 3', '"max": 300'))
    called = call("verify", "contract.lock.json", "good.json")

    assert (2, "") == (called.code, called.out)
    assert "signoff: contract.lock.json was changed after it was locked" in called.err
    assert "(/digest)" in called.err


def test_warnings_are_notes(folder: Path) -> None:
    text = '{"id": "w", "criteria": [{"id": "s", "verifier": "json_schema", "params": {"schema": {"type": "object", "tyep": 1}}}]}'
    wrote(folder, "w.json", text)
    called = call("lock", "w.json")

    assert 0 == called.code
    assert "note: s: unknown keyword /tyep\n" == called.err
