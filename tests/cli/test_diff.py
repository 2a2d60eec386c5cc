"""``signoff diff``: what changed, also between formats and lock files."""

from __future__ import annotations

from pathlib import Path

from tests.cli.calling import CONTRACT, call, wrote


def test_lock_file_and_its_contract_are_the_same(folder: Path) -> None:
    called = call("diff", "contract.lock.json", "contract.yaml", "--exit-code")

    assert (0, "") == (called.code, called.err)
    assert called.out.startswith("the same contract, sha256:")


def test_every_kind_of_change_is_shown(folder: Path) -> None:
    changed = """\
id: answers
title: Two to nine answers
criteria:
  - {id: whole, verifier: json_object, required: false}
  - {id: best-first, verifier: sorted_by, params: {field: score, path: /list}, description: new}
"""
    wrote(folder, "new.yaml", changed)
    called = call("diff", "contract.yaml", "new.yaml")

    assert 0 == called.code
    assert [
        'title: "Two to three answers, best first" -> "Two to nine answers"',
        "- enough: count_between max=3, min=2",
        "+ whole (advisory): json_object",
        "~ best-first",
        '    description: "" -> "new"',
        '    params.order: "desc" -> absent',
        '    params.path: absent -> "/list"',
    ] == called.out.splitlines()[:-2]
    assert 1 == call("diff", "contract.yaml", "new.yaml", "--exit-code").code


def test_other_order_is_told(folder: Path) -> None:
    head, first, second = CONTRACT.partition("  - id: enough")
    first, mark, last = second.partition("  - id: best-first")
    wrote(folder, "new.yaml", f"{head}{mark}{last}  - id: enough{first}")

    assert "the criteria stand in another order\n" in call("diff", "contract.yaml", "new.yaml").out


def test_json_has_both_digests(folder: Path) -> None:
    wrote(folder, "new.yaml", CONTRACT.replace("max: 3", "max: 4"))
    document = call("diff", "contract.yaml", "new.yaml", "--json").json

    assert (False, False, [], []) == tuple(
        document[name] for name in ("equal", "reordered", "added", "removed")
    )
    assert document["before"] != document["after"]
    change = {"key": "params.max", "before": 3, "after": 4, "added": False, "removed": False}
    assert [{"id": "enough", "changes": [change]}] == document["changed"]


def test_contract_with_faults_cannot_be_compared(folder: Path) -> None:
    wrote(folder, "new.yaml", "id: x\n")

    assert 2 == call("diff", "contract.yaml", "new.yaml").code
