"""A run directory reads as what was committed in it, or as a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.canonical import digest_bytes
from signoff.errors import RunUnreadable, RunUnwritable
from signoff.model import Evidence, Subject, passed
from signoff.record import DUPLICATE_KEYS_LAST, VerdictFile, encode_report, subject_of
from signoff.registry import Check, Registry, Verifier
from signoff.rundir import begin_run, read_run
from signoff.status import Outcome
from signoff.strictjson import Limits
from signoff.verifiers import STDLIB
from tests import sample_run as sample

Edit = Callable[[Any], Any]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return sample.written(tmp_path / "run")


def problems(folder: Path | str) -> str:
    with pytest.raises(RunUnreadable) as caught:
        read_run(folder)

    assert caught.value.problems
    return str(caught.value)


# -- what was written comes back --


def test_run_comes_back(run: Path) -> None:
    read = read_run(run)

    assert Outcome.PASSED is read.verdict.outcome
    assert sample.locked() == read.locked
    assert [1, {"a": 2.5}] == read.subject.output
    assert 2.0 == read.subject.elapsed_s
    assert ("search",) == tuple(call.name for call in read.subject.tools or ())
    assert run == read.folder
    assert sample.GOOD == (run / "output.json").read_bytes()


def test_folder_holds_what_is_documented(run: Path) -> None:
    assert {*sample.FILES, "evidence", ".signoff-run"} == {path.name for path in run.iterdir()}


def test_failed_run_comes_back(tmp_path: Path) -> None:
    read = read_run(sample.written(tmp_path / "run", sample.BAD))

    assert Outcome.FAILED is read.verdict.outcome
    assert ("few",) == read.verdict.blockers


def test_text_comes_back_as_text(tmp_path: Path) -> None:
    folder = sample.written(tmp_path / "run", b"[1, 2]", text=True)

    assert "[1, 2]" == read_run(folder).subject.output
    assert (folder / "output.txt").exists()


@pytest.mark.parametrize(("data", "text"), [(b"[1, 2", False), (b"\xff", True), (b"", False)])
def test_unreadable_output_comes_back_as_a_failure(tmp_path: Path, data: bytes, text: bool) -> None:
    read = read_run(sample.written(tmp_path / "run", data, text=text))

    assert Outcome.FAILED is read.verdict.outcome
    assert read.subject.output_fault is not None


def commit(
    folder: Path, subject: Subject, registry: Registry = STDLIB, **options: Any
) -> VerdictFile:
    contract = options.pop("contract", sample.CONTRACT)
    weakened = options.pop("weakened", ())
    locked = sample.locked(contract, registry)
    report = sample.engine(registry).verify(locked, subject, weakened=weakened)
    with begin_run(folder) as run:
        return run.commit(locked, report, subject, **options)


def test_value_without_bytes_is_written_canonically(tmp_path: Path) -> None:
    commit(tmp_path / "run", Subject(output=[1.0, {"b": 1, "a": 2}]))

    assert b'[1,{"a":2,"b":1}]' == (tmp_path / "run" / "output.json").read_bytes()


def test_run_without_output_comes_back_inconclusive(tmp_path: Path) -> None:
    commit(tmp_path / "run", Subject())

    assert Outcome.INCONCLUSIVE is read_run(tmp_path / "run").verdict.outcome
    assert {".signoff-run", "contract.json", "report.json", "verdict.json"} == {
        path.name for path in (tmp_path / "run").iterdir()
    }


def test_limits_come_back(tmp_path: Path) -> None:
    limits, data = Limits(last_key_wins=True), b'[{"a": 1, "a": 2}]'
    subject = subject_of(data, limits=limits)
    commit(tmp_path / "run", subject, output=data, limits=limits, weakened=(DUPLICATE_KEYS_LAST,))

    assert [{"a": 2}] == read_run(tmp_path / "run").subject.output


def test_duplicate_keys_are_let_through_only_openly(tmp_path: Path) -> None:
    limits, data = Limits(last_key_wins=True), b'[{"a": 1, "a": 2}]'

    with pytest.raises(RunUnwritable, match="duplicate_keys_last"):
        commit(tmp_path / "run", subject_of(data, limits=limits), output=data, limits=limits)


def test_integer_score_comes_back(tmp_path: Path) -> None:
    def scored() -> Check:
        return lambda _: msgspec.structs.replace(passed("x"), score=1, data={"b": 1, "a": [2.0]})

    registry = Registry([Verifier(id="scored", factory=scored, description="")])
    contract = {"id": "c", "criteria": [{"id": "a", "verifier": "scored"}]}
    commit(tmp_path / "run", Subject(output=1), registry, contract=contract)

    assert 1.0 == read_run(tmp_path / "run").report.result("a").finding.score


def test_run_can_be_copied_and_renamed(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "copy")
    (tmp_path / "copy" / ".signoff-run").unlink()

    assert Outcome.PASSED is read_run(tmp_path / "copy").verdict.outcome
    sample.written(tmp_path / "copy", sample.BAD)
    assert Outcome.FAILED is read_run(tmp_path / "copy").verdict.outcome
    assert Outcome.PASSED is read_run(run).verdict.outcome


def test_hard_links_are_never_written_through(run: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    shutil.copytree(run, twin, copy_function=os.link)
    (twin / ".signoff-run").unlink()
    sample.written(twin, sample.BAD)

    assert Outcome.PASSED is read_run(run).verdict.outcome
    assert Outcome.FAILED is read_run(twin).verdict.outcome


def test_slash_at_the_end_does_no_harm(run: Path) -> None:
    assert Outcome.PASSED is read_run(f"{run}/").verdict.outcome


# -- claiming --


def test_claim_removes_the_older_run(run: Path) -> None:
    with begin_run(run):
        assert {".signoff-run", "evidence"} == {path.name for path in run.iterdir()}
        assert [] == list((run / "evidence").iterdir())


def test_abandoned_run_reads_as_failure(run: Path) -> None:
    with begin_run(run) as claimed:
        claimed.store.put(b"x")

    assert "verdict.json: is missing" in problems(run)


def test_error_inside_leaves_no_verdict(run: Path) -> None:
    with pytest.raises(KeyboardInterrupt), begin_run(run):
        raise KeyboardInterrupt

    assert "verdict.json: is missing" in problems(run)


def test_second_writer_is_refused_and_the_first_unharmed(tmp_path: Path) -> None:
    with begin_run(tmp_path / "run") as first:
        with pytest.raises(RunUnwritable, match="in use by another run"):
            begin_run(tmp_path / "run")
        sample.fill(first)

    assert Outcome.PASSED is read_run(tmp_path / "run").verdict.outcome


def test_claim_ends_with_the_commit(tmp_path: Path) -> None:
    first = begin_run(tmp_path / "run")
    sample.fill(first)
    sample.written(tmp_path / "run", sample.BAD)

    assert Outcome.FAILED is read_run(tmp_path / "run").verdict.outcome
    with pytest.raises(RunUnwritable, match="the run has ended"):
        sample.fill_again(first)
    with pytest.raises(RunUnwritable):
        first.store.put(b"x")
    assert Outcome.FAILED is read_run(tmp_path / "run").verdict.outcome


def test_working_folder_may_change_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with begin_run("run") as claimed:
        monkeypatch.chdir("/")
        sample.fill(claimed)

    assert Outcome.PASSED is read_run(tmp_path / "run").verdict.outcome


def test_folder_that_was_replaced_meanwhile_is_not_committed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with begin_run(folder) as claimed:
        folder.rename(tmp_path / "moved")
        sample.written(folder, sample.BAD)
        with pytest.raises(RunUnwritable, match="moved or taken"):
            sample.fill(claimed)

    assert Outcome.FAILED is read_run(folder).verdict.outcome
    assert "verdict.json: is missing" in problems(tmp_path / "moved")


def test_claim_that_was_taken_meanwhile_is_not_committed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with begin_run(folder) as claimed:
        (folder / ".signoff-run").unlink()
        with begin_run(folder), pytest.raises(RunUnwritable, match="moved or taken"):
            sample.fill(claimed)

    assert "verdict.json: is missing" in problems(folder)


@pytest.mark.parametrize(
    "names",
    [
        ["notes.txt"],
        ["contract.json", "output.json"],  # a person's own, beside which --out was pointed
        ["verdict.json"],
        ["Verdict.json", ".signoff-run"],
        ["evidence/notes.txt", ".signoff-run"],
        [".unfinished-0", ".signoff-run"],
        ["contract.json/x", ".signoff-run"],
    ],
)
def test_what_no_run_has_written_is_not_touched(tmp_path: Path, names: list[str]) -> None:
    folder = tmp_path / "run"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    before = sorted(folder.rglob("*"))

    with pytest.raises(RunUnwritable):
        begin_run(folder)
    assert before == sorted(folder.rglob("*"))


def test_folder_of_many_files_is_not_touched(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / str(number)).write_bytes(b"")

    with pytest.raises(RunUnwritable, match="holds more than 64 files"):
        begin_run(tmp_path)


def test_leftovers_of_a_killed_run_are_removed(run: Path) -> None:
    leftover = ".unfinished-0123456789abcdef"
    (run / leftover).write_bytes(b"half")
    (run / "evidence" / leftover).write_bytes(b"half")
    sample.written(run)

    assert Outcome.PASSED is read_run(run).verdict.outcome


@pytest.mark.parametrize("name", ["run", "run/"])
def test_link_is_neither_claimed_nor_read(run: Path, tmp_path: Path, name: str) -> None:
    run.rename(tmp_path / "real")
    run.symlink_to(tmp_path / "real")

    assert "is a symbolic link" in problems(f"{tmp_path}/{name}")
    with pytest.raises(RunUnwritable, match="is a symbolic link"):
        begin_run(f"{tmp_path}/{name}")
    assert Outcome.PASSED is read_run(tmp_path / "real").verdict.outcome


def test_dangling_link_is_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to(tmp_path / "nowhere")

    with pytest.raises(RunUnwritable, match="is a symbolic link"):
        begin_run(tmp_path / "run")
    assert not (tmp_path / "nowhere").exists()


def test_file_is_neither_claimed_nor_read(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"")

    assert "is a file, not a folder" in problems(tmp_path / "run")
    with pytest.raises(RunUnwritable, match="is a file, not a folder"):
        begin_run(tmp_path / "run")
    with pytest.raises(RunUnwritable):
        begin_run(tmp_path / "run" / "below")


@pytest.mark.parametrize("name", ["absent", "a\0b", "\ud800", "x" * 300])
def test_name_of_no_folder_reads_as_failure(tmp_path: Path, name: str) -> None:
    problems(tmp_path / name)


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_name_of_no_folder_is_not_claimed(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunUnwritable):
        begin_run(tmp_path / name)


def test_mark_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".signoff-run").symlink_to(tmp_path / "made")

    with pytest.raises(RunUnwritable):
        begin_run(folder)
    assert not (tmp_path / "made").exists()


# -- what would not read back is not written --


def test_report_on_another_output_is_not_committed(tmp_path: Path) -> None:
    locked, subject = sample.locked(), subject_of(sample.GOOD)
    report = sample.engine().verify(locked, subject)

    with begin_run(tmp_path / "run") as run, pytest.raises(RunUnwritable, match="output_digest"):
        run.commit(locked, report, subject, output=sample.BAD)
    problems(tmp_path / "run")


def test_report_under_another_contract_is_not_committed(tmp_path: Path) -> None:
    subject = subject_of(sample.GOOD)
    report = sample.engine().verify(sample.locked(), subject)
    other = sample.locked({"id": "sample", "criteria": sample.CONTRACT["criteria"]})

    with begin_run(tmp_path / "run") as run, pytest.raises(RunUnwritable, match="contract_digest"):
        run.commit(other, report, subject, output=sample.GOOD)
    problems(tmp_path / "run")


def test_finding_without_its_evidence_is_not_committed(tmp_path: Path) -> None:
    def claims() -> Check:
        kept = Evidence(digest=f"sha256:{'0' * 64}", size=1)
        return lambda _: msgspec.structs.replace(passed("x"), evidence=(kept,))

    registry = Registry([Verifier(id="claims", factory=claims, description="")])
    contract = {"id": "c", "criteria": [{"id": "a", "verifier": "claims"}]}

    with pytest.raises(RunUnwritable, match="is missing"):
        commit(tmp_path / "run", Subject(output=1), registry, contract=contract)


@pytest.mark.parametrize(
    "facts",
    [
        {"elapsed_s": float("nan")},
        {"elapsed_s": float("inf")},
        {"input": {"a": float("nan")}},
        {"input": {1}},
        {"input": "\ud800"},
        {"exit_code": "0"},
    ],
    ids=str,
)
def test_facts_that_are_not_json_are_not_committed(tmp_path: Path, facts: dict[str, Any]) -> None:
    with pytest.raises(RunUnwritable):
        commit(tmp_path / "run", subject_of(sample.GOOD, **facts))
    problems(tmp_path / "run")


def test_file_that_would_be_too_large_to_read_is_not_committed(tmp_path: Path) -> None:
    with pytest.raises(RunUnwritable, match=r"facts\.json is larger than 67108864 bytes"):
        commit(tmp_path / "run", subject_of(sample.GOOD, input="x" * 2**26))
    problems(tmp_path / "run")


def test_text_beyond_its_limit_is_a_fault() -> None:
    assert (
        "larger than 2 bytes"
        == subject_of(b"abc", text=True, limits=Limits(max_bytes=2)).output_fault
    )


def test_output_without_bytes_that_is_no_json_is_not_committed(tmp_path: Path) -> None:
    with pytest.raises(RunUnwritable, match="bytes were not given"):
        commit(tmp_path / "run", subject_of(b"["))


# -- tampering: the file itself --


def huge(path: Path) -> int:
    handle = os.open(path, os.O_CREAT | os.O_WRONLY)
    os.truncate(handle, 2**40)
    return handle


REPLACEMENTS: dict[str, Callable[[Path], object]] = {
    "absent": lambda path: None,
    "empty": lambda path: path.write_bytes(b""),
    "blank": lambda path: path.write_bytes(b"\n"),
    "null": lambda path: path.write_bytes(b"null\n"),
    "list": lambda path: path.write_bytes(b"[]\n"),
    "deep": lambda path: path.write_bytes(b"[" * 200_000),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "sparse": lambda path: os.close(huge(path)),
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "dangling": lambda path: path.symlink_to("nowhere"),
    "loop": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("kind", REPLACEMENTS)
@pytest.mark.parametrize("name", sample.FILES)
def test_replaced_file_reads_as_failure(run: Path, name: str, kind: str) -> None:
    (run / name).unlink()
    REPLACEMENTS[kind](run / name)

    problems(run)


@pytest.mark.parametrize("name", [*sample.FILES, "evidence"])
def test_link_to_the_same_bytes_reads_as_failure(run: Path, tmp_path: Path, name: str) -> None:
    (run / name).rename(tmp_path / "elsewhere")
    (run / name).symlink_to(tmp_path / "elsewhere")

    assert f"{name}: is a symbolic link" in problems(run)


@pytest.mark.parametrize("name", sample.FILES)
def test_name_in_other_case_reads_as_failure(run: Path, name: str) -> None:
    (run / name).rename(run / name.upper())

    problems(run)


@pytest.mark.parametrize(
    "name", ["notes.txt", "Verdict.json", "verdict.json.bak", ".hidden", "output.txt", "a\nb"]
)
def test_stray_file_reads_as_failure(run: Path, name: str) -> None:
    (run / name).write_bytes(b"x")

    assert name.replace("\n", "\\u000a") in problems(run)


@pytest.mark.parametrize("name", ["notes.txt", "0" * 64, "A" * 64, ".unfinished-0123456789abcdef"])
def test_stray_evidence_reads_as_failure(run: Path, name: str) -> None:
    (run / "evidence" / name).write_bytes(b"x")

    assert f"evidence/{name}" in problems(run)


def test_true_evidence_that_nobody_kept_reads_as_failure(run: Path) -> None:
    with begin_run(run.parent / "other") as other:
        kept = other.store.put(b"planted").digest.removeprefix("sha256:")
        shutil.copy(run.parent / "other" / "evidence" / kept, run / "evidence" / kept)

    assert "verdict.json: evidence does not agree" in problems(run)


def test_changed_evidence_reads_as_failure(run: Path) -> None:
    (file,) = (run / "evidence").iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"?")

    assert "has the digest" in problems(run)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_absent_evidence_reads_as_failure(run: Path, what: str) -> None:
    (file,) = (run / "evidence").iterdir()
    file.unlink()
    if what == "folder":
        file.parent.rmdir()

    assert "is missing" in problems(run)


def test_mark_with_content_reads_as_failure(run: Path) -> None:
    (run / ".signoff-run").write_bytes(b"x")

    assert ".signoff-run: is larger than 0 bytes" in problems(run)


@pytest.mark.parametrize("name", sample.FILES)
def test_file_of_another_run_reads_as_failure(run: Path, tmp_path: Path, name: str) -> None:
    other = tmp_path / "other"
    with begin_run(other) as claimed:
        contract = sample.locked({"id": "sample", "criteria": sample.CONTRACT["criteria"][:1]})
        kept = claimed.store.put(b"other")
        subject = subject_of(b"[3]", elapsed_s=1, evidence=(kept,))
        report = sample.engine().verify(contract, subject)
        claimed.commit(contract, report, subject, output=b"[3]")
    shutil.copy(other / name, run / name)

    problems(run)


def test_verdict_of_the_run_before_reads_as_failure(run: Path) -> None:
    old = (run / "verdict.json").read_bytes()
    sample.written(run, sample.BAD)
    (run / "verdict.json").write_bytes(old)

    problems(run)


def test_verdict_put_back_into_an_unfinished_run_reads_as_failure(run: Path) -> None:
    old = (run / "verdict.json").read_bytes()
    with begin_run(run):
        (run / "verdict.json").write_bytes(old)

        problems(run)


def test_json_called_text_reads_as_failure(run: Path) -> None:
    (run / "output.json").rename(run / "output.txt")
    sample.reseal(run)

    assert "output_digest" in problems(run)


def test_text_called_json_reads_as_failure(tmp_path: Path) -> None:
    folder = sample.written(tmp_path / "run", b"[1, 2]", text=True)
    (folder / "output.txt").rename(folder / "output.json")
    sample.reseal(folder)

    assert "output_digest" in problems(folder)


# -- tampering: what a file says, with a verdict made to agree --


def first(report: Any) -> Any:
    return report["results"][0]


FORGED: dict[str, tuple[str, Edit, str]] = {
    "result dropped": ("report.json", lambda r: r["results"].pop(), "not one for each"),
    "results dropped": ("report.json", lambda r: r.update(results=[]), "not one for each"),
    "result repeated": ("report.json", lambda r: r["results"].append(first(r)), "not one for each"),
    "results reordered": ("report.json", lambda r: r["results"].reverse(), "not one for each"),
    "result renamed": ("report.json", lambda r: first(r).update(criterion="x"), "not one for each"),
    "blockers of a pass": (
        "report.json",
        lambda r: r["verdict"].update(blockers=["few"]),
        "does not follow",
    ),
    "cause of a pass": (
        "report.json",
        lambda r: r["verdict"].update(cause="no_result"),
        "does not follow",
    ),
    "status failed": (
        "report.json",
        lambda r: first(r)["finding"].update(status="fail"),
        "does not follow",
    ),
    "pass with a cause": (
        "report.json",
        lambda r: r["results"][0]["finding"].update(cause="no_result"),
        "holds and has a cause",
    ),
    "unknown status": (
        "report.json",
        lambda r: first(r)["finding"].update(status="PASS"),
        "report.json: ",
    ),
    "local time": (
        "report.json",
        lambda r: r.update(started="2026-05-04T03:02:01+02:00"),
        "not in UTC",
    ),
    "naive time": ("report.json", lambda r: r.update(started="2026-05-04T03:02:01"), "not in UTC"),
    "unknown field": ("report.json", lambda r: r.update(extra=1), "not written as"),
    "isolation of no command": (
        "report.json",
        lambda r: r.update(isolation="L3", assurance="report"),
        "do not follow",
    ),
    "isolation that is no level": ("report.json", lambda r: r.update(isolation="L4"), "L4"),
    "what is missing of nothing": (
        "report.json",
        lambda r: r.update(missing=["x"]),
        "do not follow",
    ),
    "isolation hidden": (
        "report.json",
        lambda r: first(r)["finding"].update(isolation="L1"),
        "do not follow",
    ),
    "isolation below that of any command": (
        "report.json",
        lambda r: (
            first(r)["finding"].update(isolation="L0"),
            r.update(isolation="L0", assurance="exit_code"),
        ),
        'result "few" holds below the isolation that is wanted',
    ),
    "no results": ("report.json", lambda r: r.pop("results"), "results"),
    "elapsed null": ("report.json", lambda r: r.update(elapsed_s=None), "report.json: "),
    "elapsed huge": ("report.json", lambda r: r.update(elapsed_s=10**400), "report.json: "),
    "another contract id": ("report.json", lambda r: r.update(contract_id="x"), "contract_id"),
    "another contract": (
        "report.json",
        lambda r: r.update(contract_digest="sha256:" + "0" * 64),
        "contract_digest",
    ),
    "another output": (
        "report.json",
        lambda r: r.update(output_digest="sha256:" + "0" * 64),
        "output_digest",
    ),
    "no output": ("report.json", lambda r: r.update(output_digest=None), "output_digest"),
    "criterion dropped": ("contract.json", lambda c: c["contract"]["criteria"].pop(), "digest"),
    "criterion advisory": (
        "contract.json",
        lambda c: c["contract"]["criteria"][0].update(required=False),
        "contract.json: ",
    ),
    "contract unlocked": ("contract.json", lambda c: c.pop("digest"), "contract.json: "),
    "contract format": ("contract.json", lambda c: c.update(format="x"), "format"),
    "contract extra": ("contract.json", lambda c: c.update(extra=1), "contract.json: "),
    "facts empty": ("facts.json", lambda f: f.clear(), "says nothing"),
    "facts unknown": ("facts.json", lambda f: f.update(extra=1), "facts.json: "),
    "facts of odd limits": (
        "facts.json",
        lambda f: f.update(limits={"max_depth": 4096}),
        "facts.json: ",
    ),
    "evidence resized": ("facts.json", lambda f: f["evidence"][0].update(size=1), "size must be"),
    "evidence elsewhere": (
        "facts.json",
        lambda f: f["evidence"][0].update(digest="../../x"),
        "../../x: is missing",
    ),
    "duplicate keys let through": (
        "facts.json",
        lambda f: f.update(limits=msgspec.to_builtins(Limits(last_key_wins=True))),
        "weakened does not say duplicate_keys_last",
    ),
    "a depth that was raised in secret": (
        "facts.json",
        lambda f: f.update(limits=msgspec.to_builtins(Limits(max_depth=100))),
        "weakened does not say max_depth=100",
    ),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_document_reads_as_failure(run: Path, case: str) -> None:
    name, edit, says = FORGED[case]
    sample.forge(run, name, edit)

    assert says in problems(run)


def test_pass_of_an_unreadable_output_reads_as_failure(run: Path) -> None:
    (run / "output.json").write_bytes(b"[1, 2")
    digest = subject_of(b"[1, 2").output_digest
    sample.forge(run, "report.json", lambda r: r.update(output_digest=digest))

    assert "cannot be read" in problems(run)


def test_both_kinds_of_output_read_as_failure(run: Path) -> None:
    (run / "output.txt").write_bytes(b"x")
    sample.reseal(run)

    assert "output" in problems(run)


VERDICT_EDITS: dict[str, Edit] = {
    "passed with blockers": lambda v: v.update(blockers=["few"]),
    "failed": lambda v: v.update(outcome="failed"),
    "cause": lambda v: v.update(cause="no_result"),
    "format": lambda v: v.update(format="signoff-verdict/2"),
    "contract id": lambda v: v.update(contract_id="other"),
    "file dropped": lambda v: v["files"].pop("facts.json"),
    "file added": lambda v: v["files"].update({"../x": "sha256:" + "0" * 64}),
    "file elsewhere": lambda v: v["files"].update(
        {"../output.json": v["files"].pop("output.json")}
    ),
    "evidence dropped": lambda v: v["evidence"].clear(),
    "evidence added": lambda v: v["evidence"].update({"sha256:" + "0" * 64: 1}),
    "engine": lambda v: v["engines"].update(signoff="9"),
    "time": lambda v: v.update(when="2026-05-04T03:02:01.987653Z"),
    "weakened": lambda v: v.update(weakened=["x"]),
    "unknown field": lambda v: v.update(extra=None),
    "field dropped": lambda v: v.pop("weakened"),
}


@pytest.mark.parametrize("case", VERDICT_EDITS)
def test_edited_verdict_reads_as_failure(run: Path, case: str) -> None:
    value = sample.document(run, "verdict.json")
    VERDICT_EDITS[case](value)
    sample.put_document(run, "verdict.json", value)

    assert "verdict" in problems(run)


@pytest.mark.parametrize("name", ["contract.json", "facts.json", "report.json", "verdict.json"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'{\n  "', b'{\n  "format": 1,\n  "'),
        (b"{", b'{"contract_id": "sample", '),
        (b"\n", b" \n"),
        (b": ", b":"),
        (b"}\n", b"}"),
        (b"}\n", b"}\n\n"),
        (b"{", b"\xef\xbb\xbf{"),
        (b'"c', b'"\\u0063'),
        (b"0", b"0e0"),
        (b"1", b"NaN"),
        (b"null", b"NaN"),
    ],
)
def test_other_spelling_reads_as_failure(run: Path, name: str, old: bytes, new: bytes) -> None:
    data = (run / name).read_bytes()
    (run / name).write_bytes(data.replace(old, new, 1))
    if old not in data:
        return
    if name != "verdict.json":
        contents = sample.document(run, "verdict.json")
        contents["files"][name] = digest_bytes((run / name).read_bytes())
        sample.put_document(run, "verdict.json", contents)

    problems(run)


# -- every byte --


def spoilt(data: bytes) -> Iterator[bytes]:
    """At every place two single-byte edits, never the same two at neighbouring places."""
    for i, byte in enumerate(data):
        yield data[:i] + bytes([byte ^ 1 << i % 8]) + data[i + 1 :]
        yield (data[:i], data[:i] + data[i + 1 :], data[:i] + b" " + data[i:])[i % 3]


def spoilt_thoroughly(data: bytes) -> Iterator[bytes]:
    """Every single-byte edit of a dozen kinds, every cut, every byte more or less."""
    for i, byte in enumerate(data):
        for bit in range(8):
            yield data[:i] + bytes([byte ^ 1 << bit]) + data[i + 1 :]
        for other in (b" ", b"0", b"\n", b'"'):
            yield data[:i] + other + data[i + 1 :]
            yield data[:i] + other + data[i:]
        yield data[:i]
        yield data[:i] + data[i + 1 :]


EVERY_FILE = pytest.mark.parametrize("name", [*sample.FILES, "evidence"])


def unnoticed(run: Path, name: str, spoil: Callable[[bytes], Iterator[bytes]]) -> list[bytes]:
    path = next((run / "evidence").iterdir()) if name == "evidence" else run / name
    data, found = path.read_bytes(), []
    for edited in spoil(data):
        path.write_bytes(edited)
        try:
            read_run(run)
        except RunUnreadable:
            continue
        if edited != data:
            found.append(edited)
    return found


@EVERY_FILE
def test_changed_byte_reads_as_failure_wherever_it_is(run: Path, name: str) -> None:
    assert [] == unnoticed(run, name, spoilt)


@pytest.mark.long
@EVERY_FILE
def test_every_changed_byte_reads_as_failure(run: Path, name: str) -> None:
    assert [] == unnoticed(run, name, spoilt_thoroughly)


# -- the same inputs give the same bytes --

PROGRAM = """
import pathlib, sys
from signoff.record import subject_of
from signoff.rundir import begin_run
from tests import sample_run as sample

folder = pathlib.Path(sys.argv[1])
with begin_run(folder) as run:
    kept = [run.store.put(b"%d" % n) for n in range(9)]
    subject = subject_of(sample.GOOD, input={"z": 1, "\u00e4": [1.50, "I"]}, evidence=tuple(kept))
    report = sample.timeless(sample.engine().verify(sample.locked(), subject))
    run.commit(sample.locked(), report, subject, output=sample.GOOD)
"""


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_same_inputs_give_the_same_bytes_everywhere(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parent.parent
    found = []
    for number, (seed, locale, zone) in enumerate(
        [
            ("0", "C", "UTC"),
            ("1", "C.UTF-8", "Asia/Kathmandu"),
            ("424242", "tr_TR.UTF-8", "America/St_Johns"),
            ("random", "POSIX", "Pacific/Apia"),
        ]
    ):
        folder = tmp_path / str(number)
        paths = os.pathsep.join([str(root), *sys.path])
        surroundings = {"PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": zone, "PYTHONPATH": paths}
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder)], env=os.environ | surroundings, check=True
        )
        found.append(contents(folder))

    assert 15 == len(found[0])
    assert [found[0]] * 4 == found


def test_verdicts_of_two_times_differ_in_times_alone(tmp_path: Path) -> None:
    one, two = (sample.written(tmp_path / name) for name in ("one", "two"))
    documents = [sample.document(folder, "verdict.json") for folder in (one, two)]
    for found in documents:
        found["files"].pop("report.json")  # it holds the durations

    assert documents[0] == documents[1]


def test_engines_are_written_in_the_order_of_their_names() -> None:
    report = sample.timeless(sample.engine().verify(sample.locked(), subject_of(sample.GOOD)))
    names = {"b": "1", "a": "2"}
    turned = dict(reversed(names.items()))

    assert encode_report(msgspec.structs.replace(report, engines=names)) == encode_report(
        msgspec.structs.replace(report, engines=turned)
    )
