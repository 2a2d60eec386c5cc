"""Each code of the guard, provoked alone: by the guard itself, with a TaskCode given and with none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from signoff.scc import triplet
from signoff.scc.gate_report import GROUPS, encode_report
from signoff.scc.guard import Candidate
from signoff.scc.snapshot import Kind, Snapshot
from signoff.scc.triplet import HASHES, Measured, report_bytes, selftest_bytes
from signoff.scc.written import LEDGER_FILE, WrittenRun
from tests.cli.calling import call
from tests.scc.filed_run import (
    AREA,
    CONTRACT,
    LOG,
    MIRROR,
    POINTER,
    REPORT,
    REPORTS,
    RUN,
    TASK_CODE,
    FiledRun,
    Spoil,
    failed_run,
)

SELFTEST = f"{MIRROR}/selftest.log"
NONE = Measured("0" * 64, 1)


def _nothing(run: FiledRun) -> None:
    """The run is as the verifier left it."""


class Case(Struct, frozen=True, kw_only=True):
    """
    One way to spoil a run.

    Args:
        codes: Exactly what the guard finds.
        before: Done before the report lists the files and the hashes measure them.
        listed: Done when they have, and before the ledger knows of anything.
        after: Done when everything is in its place.
        known: What the ledger is told otherwise.
        make: How the run is made.
    """

    codes: tuple[str, ...]
    before: Spoil = _nothing
    listed: Spoil = _nothing
    after: Spoil = _nothing
    known: Callable[[WrittenRun], WrittenRun] = lambda known: known
    make: Callable[[Path], FiledRun] = FiledRun


def steps(*spoils: Spoil) -> Spoil:
    """One after the other."""

    def spoil(run: FiledRun) -> None:
        for one in spoils:
            one(run)

    return spoil


def removed(path: str) -> Spoil:
    return lambda run: (run.root / path).unlink()


def wrote(path: str, text: str) -> Spoil:
    def spoil(run: FiledRun) -> None:
        run.put(path, text.encode())

    return spoil


def listed(path: str, one: Measured = NONE) -> Spoil:
    return lambda run: run.hash_files(**{path: one})


def bullet(path: str) -> Spoil:
    """The report lists one path more."""

    def spoil(run: FiledRun) -> None:
        paths = [*run.below(MIRROR), f"{MIRROR}/{HASHES}", path]
        run.put(REPORT, report_bytes(run.facts, paths))
        run.hash_files()

    return spoil


def said(old: str, new: str) -> Spoil:
    """The report says something else."""

    def spoil(run: FiledRun) -> None:
        text = (run.root / REPORT).read_text()
        assert old in text
        run.put(REPORT, text.replace(old, new).encode())
        run.hash_files()

    return spoil


def log_reads(change: Callable[[str], str]) -> Spoil:
    """``selftest.log`` reads otherwise, from the beginning."""

    def spoil(run: FiledRun) -> None:
        run.put(SELFTEST, change(selftest_bytes(run.facts).decode()).encode())

    return spoil


def linked(path: str, target: str) -> Spoil:
    def spoil(run: FiledRun) -> None:
        (run.root / path).symlink_to(target)

    return spoil


def another_report(run: FiledRun) -> None:
    text = (run.root / REPORT).read_text().replace("20260131\n", "20260130\n")
    run.put(REPORT.replace("20260131", "20260130"), text.encode())
    run.hash_files()


def renamed_mirror(run: FiledRun) -> None:
    shutil.move(run.root / MIRROR, run.root / "elsewhere")
    (run.root / MIRROR).symlink_to(run.root / "elsewhere")


def spaced(text: str) -> str:
    return text.replace("EXIT_CODE=0", "EXIT_CODE = 0")


CASES = {
    "as it was left": Case(codes=()),
    "no report": Case(
        codes=("REPORT_MISSING",),
        before=removed(REPORT),
        listed=steps(removed(REPORT), FiledRun.hash_files),
    ),
    "report taken away": Case(
        codes=("REPORT_MISSING", "EVIDENCE_FILE_MISSING", "ROLLBACK_DELETE_FORBIDDEN"),
        after=removed(REPORT),
    ),
    "a report without a date": Case(
        codes=("REPORT_NAME_INVALID",), after=wrote(f"{REPORTS}/REPORT__C-1__draft.md", "# x")
    ),
    "a report of a day that does not exist": Case(
        codes=("REPORT_NAME_INVALID",), after=wrote(f"{REPORTS}/REPORT__C-1__20260231.md", "# x")
    ),
    "a report with another heading": Case(
        codes=("REPORT_NAME_INVALID",), listed=said("# REPORT__C-1", "# REPORT__C-2")
    ),
    "a report of another day than its run": Case(
        codes=("REPORT_NAME_INVALID", "REPORT_DUPLICATE"), listed=another_report
    ),
    "a report without a heading": Case(
        codes=("REPORT_NAME_INVALID",), listed=said("# REPORT__C-1", "REPORT__C-1")
    ),
    "a report that is a link": Case(
        codes=("EVIDENCE_SYMLINK", "FAKE_DIGEST_DETECTED"),
        after=steps(
            lambda run: shutil.move(run.root / REPORT, run.root / "artifacts" / "aside"),
            linked(REPORT, "../../../artifacts/aside"),
        ),
    ),
    "selftest.log that is a link": Case(
        codes=("EVIDENCE_SYMLINK",),
        after=steps(
            lambda run: shutil.move(run.root / SELFTEST, run.root / "artifacts" / "aside"),
            linked(SELFTEST, "../../../../../artifacts/aside"),
        ),
    ),
    "a path in the notes that the report lists": Case(
        codes=(), listed=said("- none", f"see {MIRROR}/{LOG}.")
    ),
    "a report of another run": Case(
        codes=("VERDICT_CONTRADICTION",), listed=said("0000abcd", "0000abce")
    ),
    "a report of another verdict": Case(
        codes=("VERDICT_CONTRADICTION",), listed=said("Verdict: PASS", "Verdict: FAIL")
    ),
    "no selftest.log": Case(
        codes=("SELFTEST_MISSING",), before=removed(SELFTEST)
    ),
    "selftest.log with text after its end": Case(
        codes=("SELFTEST_EXIT_LINE",), before=log_reads(lambda text: f"{text}done\n")
    ),
    "selftest.log that ends twice": Case(
        codes=("SELFTEST_EXIT_LINE",), before=log_reads(lambda text: f"{text}EXIT_CODE=0\n")
    ),
    "selftest.log that ends with spaces": Case(
        codes=("SELFTEST_EXIT_LINE",), before=log_reads(spaced)
    ),
    "selftest.log that ends indented": Case(
        codes=("SELFTEST_EXIT_LINE",), before=log_reads(lambda t: t.replace("EXIT", " EXIT"))
    ),
    "selftest.log with a space at its end": Case(
        codes=("SELFTEST_EXIT_LINE",), before=log_reads(lambda t: t.replace("CODE=0", "CODE=0 "))
    ),
    "selftest.log of another exit code": Case(
        codes=("SELFTEST_CONTRADICTION",), before=log_reads(lambda t: t.replace("CODE=0", "CODE=1"))
    ),
    "selftest.log of another time": Case(
        codes=("SELFTEST_CONTRADICTION",), before=log_reads(lambda t: t.replace("12:00", "12:01"))
    ),
    "selftest.log in which something fails": Case(
        codes=("SELFTEST_CONTRADICTION",),
        make=lambda root: FiledRun(root, lines=(triplet.TestLine(id="a", status="fail"),)),
    ),
    "selftest.log of another run": Case(
        codes=("SELFTEST_USER_SUPPLIED",), before=log_reads(lambda t: t.replace("abcd", "abce"))
    ),
    "selftest.log that the ledger does not know": Case(
        codes=("SELFTEST_USER_SUPPLIED",),
        known=lambda known: replace(known, files={**known.files, SELFTEST: "0" * 64}),
    ),
    "no artifacts": Case(
        codes=(
            "SELFTEST_MISSING", "EVIDENCE_DIR_MISSING", "EVIDENCE_FILE_MISSING", "VERDICT_MISSING",
            "ROLLBACK_DELETE_FORBIDDEN",
        ),
        after=lambda run: shutil.rmtree(run.root / MIRROR),
    ),
    "no hashes": Case(
        codes=("EVIDENCE_HASHES_MISSING",), listed=removed(f"{MIRROR}/{HASHES}")
    ),
    "hashes that are no JSON": Case(
        codes=("EVIDENCE_HASHES_MISSING",), listed=wrote(f"{MIRROR}/{HASHES}", "{}{}")
    ),
    "hashes without digests": Case(
        codes=("EVIDENCE_HASHES_MISSING",), listed=wrote(f"{MIRROR}/{HASHES}", '{"a": "b"}')
    ),
    "a hash of nothing": Case(
        codes=("EVIDENCE_FILE_MISSING",), listed=listed(f"{MIRROR}/logs/002.txt")
    ),
    "a bullet of nothing": Case(
        codes=("EVIDENCE_FILE_MISSING",), listed=bullet(f"{MIRROR}/logs/002.txt")
    ),
    "a file beside": Case(
        codes=("EVIDENCE_UNLISTED",), after=wrote(f"{MIRROR}/logs/002.txt", "x")
    ),
    "a verdict deeper inside": Case(
        codes=("EVIDENCE_UNLISTED",), after=wrote(f"{MIRROR}/logs/verdict.json", "{}")
    ),
    "a false digest": Case(
        codes=("FAKE_DIGEST_DETECTED",), listed=listed(f"{MIRROR}/{LOG}")
    ),
    "hashes that the ledger does not know": Case(
        codes=("FAKE_DIGEST_DETECTED",),
        known=lambda known: replace(known, files={**known.files, f"{MIRROR}/{HASHES}": "0" * 64}),
    ),
    "changed evidence": Case(
        codes=("FAKE_DIGEST_DETECTED", "VERDICT_MISSING"),
        after=wrote(f"{MIRROR}/{LOG}", "EXIT_CODE=1\n"),
    ),
    "evidence and hashes rewritten together": Case(
        codes=("FAKE_DIGEST_DETECTED",),
        after=steps(
            lambda run: run.put(REPORT, (run.root / REPORT).read_bytes().replace(b"none", b"nine")),
            FiledRun.hash_files,
        ),
    ),
    "a hash of another TaskCode's file": Case(
        codes=("EVIDENCE_SCOPE_VIOLATION",), listed=listed(f"{REPORTS}/artifacts/C-2/a.txt")
    ),
    "a hash that climbs": Case(
        codes=("EVIDENCE_SCOPE_VIOLATION",), listed=listed(f"{MIRROR}/../C-2/a.txt")
    ),
    "a bullet of another TaskCode's file": Case(
        codes=("EVIDENCE_SCOPE_VIOLATION",), listed=bullet(f"{REPORTS}/artifacts/C-2/a.txt")
    ),
    "an absolute hash": Case(
        codes=("ABSOLUTE_PATH_IN_EVIDENCE",), listed=listed("/etc/passwd")
    ),
    "a hash on a drive": Case(
        codes=("ABSOLUTE_PATH_IN_EVIDENCE",), listed=listed("C:/a.txt")
    ),
    "an absolute bullet": Case(
        codes=("ABSOLUTE_PATH_IN_EVIDENCE",), listed=bullet("/etc/passwd")
    ),
    "a link beside": Case(
        codes=("EVIDENCE_SYMLINK",), after=linked(f"{MIRROR}/logs/x.txt", "001_a.stdout.txt")
    ),
    "a link to a folder beside": Case(
        codes=("EVIDENCE_SYMLINK",), after=linked(f"{MIRROR}/more", "logs")
    ),
    "a named pipe beside": Case(
        codes=("EVIDENCE_SYMLINK",), after=lambda run: os.mkfifo(run.root / MIRROR / "pipe")
    ),
    "evidence spelt otherwise": Case(
        codes=("EVIDENCE_CASE_MISMATCH",),
        before=wrote(f"{MIRROR}/collected/A.txt", "x"),
        listed=lambda run: (run.root / MIRROR / "collected/A.txt").rename(
            run.root / MIRROR / "collected/a.txt"
        ),
    ),
    "a path in the notes": Case(
        codes=("REPORT_UNDECLARED_PATH",),
        listed=said("- none", f"see {REPORTS}/artifacts/C-2/a.txt."),
    ),
    "a path in other letters in the notes": Case(
        codes=("REPORT_UNDECLARED_PATH",), listed=said("- none", "see DOCS\\report\\a\\b")
    ),
    "no verdict": Case(
        codes=("VERDICT_MISSING", "ROLLBACK_DELETE_FORBIDDEN"),
        after=removed(f"{MIRROR}/verdict.json"),
    ),
    "no pointer": Case(
        codes=("VERDICT_MISSING",), after=removed(f"{POINTER}/verdict.json")
    ),
    "no sidecar of the pointer": Case(
        codes=("VERDICT_MISSING",), after=removed(f"{POINTER}/pointer.json")
    ),
    "a verdict that the ledger does not know": Case(
        codes=("VERDICT_CONTRADICTION",),
        known=lambda known: replace(known, verdict_sha256="0" * 64),
    ),
    "a run that says otherwise": Case(
        codes=("VERDICT_MISSING", "VERDICT_CONTRADICTION"),
        after=wrote(f"{RUN}/evidence/verdict.json", "{}"),
    ),
    "a pointer that says otherwise": Case(
        codes=("VERDICT_MISSING", "VERDICT_CONTRADICTION"),
        after=wrote(f"{POINTER}/verdict.json", "{}"),
    ),
    "a changed source": Case(codes=("VERDICT_STALE",), after=wrote("src/a.py", "a = 2\n")),
    "a source more": Case(codes=("VERDICT_STALE",), after=wrote("src/b.py", "")),
    "a changed contract": Case(codes=("VERDICT_STALE",), after=wrote(CONTRACT, "{}")),
    "a FAIL": Case(codes=("VERDICT_FAIL",), make=failed_run),
    "a log of the run taken away": Case(
        codes=("ROLLBACK_DELETE_FORBIDDEN",), after=removed(f"{RUN}/{LOG}")
    ),
    "the whole run taken away": Case(
        codes=("ROLLBACK_DELETE_FORBIDDEN",), after=lambda run: shutil.rmtree(run.root / RUN)
    ),
}  # fmt: skip


def spoiled(case: Case, root: Path) -> tuple[FiledRun, WrittenRun]:
    run = case.make(root)
    case.before(run)
    run.list_files()
    case.listed(run)
    run.publish()
    known = case.known(run.known())
    case.after(run)
    return run, known


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An initialised workspace."""
    for name in ("SCC_OID_PG_DSN", "SCC_OID_DATABASE_URL", "TASK_CODE", "AREA", "MVM_VERDICT_OUT"):
        monkeypatch.delenv(name, raising=False)
    assert 0 == call("scc", "init", "--workspace", tmp_path).code
    return tmp_path


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_the_guard_finds_exactly_what_is_wrong(case: Case, root: Path) -> None:
    run, known = spoiled(case, root)
    report = run.judged(known)

    assert {*case.codes} == {*report.fail_codes}, report.findings
    assert report.passed is (not case.codes)


@pytest.mark.parametrize("given", ["given", "none"])
@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_the_gate_finds_it_with_a_task_code_and_with_none(
    case: Case, given: str, root: Path
) -> None:
    run, known = spoiled(case, root)
    run.record(known)
    name = ("--area", AREA, "--taskcode", TASK_CODE) if given == "given" else ()
    called = call("scc", "verdict", "--case", "basic", "--workspace", root, *name)
    written = json.loads((root / "mvm/verdict/verdict.json").read_text())

    assert (1 if case.codes else 0) == called.code, called.err
    assert ("FAIL" if case.codes else "PASS") == written["status"]
    assert {*case.codes} == {*written["fail_codes"]}, called.err
    assert f"{AREA}/{TASK_CODE}" in called.out


def test_every_code_is_provoked() -> None:
    provoked = {code for case in CASES.values() for code in case.codes}

    assert {code for codes in GROUPS.values() for code in codes} == {*provoked, "EVIDENCE_CHANGED"}


@pytest.mark.parametrize("name", ["selftest.log", LOG, HASHES, "verdict.json"])
@pytest.mark.parametrize("how", ["changed", "swapped"])
def test_a_file_that_changes_while_the_guard_reads_is_refused(
    root: Path, name: str, how: str
) -> None:
    """Something writes or exchanges a file when the guard has opened it."""
    run, known = spoiled(CASES["as it was left"], root)
    run.record(known)
    place = root / MIRROR / name
    script = MEDDLER.format(place=str(place), name=place.name, how=how, aside=str(root / "aside"))
    done = subprocess.run(
        [sys.executable, "-c", script, "scc", "verdict", "--workspace", root],
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert 1 == done.returncode, done.stderr
    assert b"EVIDENCE_CHANGED: " in done.stderr, done.stderr


# The file is as it was when the guard opens it, and is exchanged once it has the next one open.
MEDDLER = """
import os, sys
seen = 0
def meddle(event, args):
    global seen
    if event != "open" or seen == 2:
        return
    if seen == 0:
        seen = args[0] == {name!r} or args[0] == {place!r}
        return
    seen = 2
    data = open({place!r}, "rb").read()
    if {how!r} == "changed":
        with open({place!r}, "r+b") as file:
            file.write(data)
        os.utime({place!r}, ns=(0, 0))
    else:
        os.rename({place!r}, {aside!r})
        os.symlink({aside!r}, {place!r})
sys.addaudithook(meddle)
from signoff.cli import main
main()
"""


def test_what_is_seen_is_what_was_there_first(root: Path) -> None:
    run = FiledRun(root)
    snapshot = Snapshot(run.workspace)
    before = snapshot.look(f"{MIRROR}/{LOG}", keep=True)
    kinds = snapshot.below(MIRROR)
    run.put(f"{MIRROR}/{LOG}", b"x")
    run.put(f"{MIRROR}/logs/more.txt", b"x")

    assert before == snapshot.look(f"{MIRROR}/{LOG}", keep=True)
    assert {Kind.FILE} == {*kinds.values()}
    assert (f"{MIRROR}/logs", f"{MIRROR}/{LOG}") == snapshot.changed()


def test_a_link_is_seen_as_one_and_not_followed(root: Path) -> None:
    run = FiledRun(root)
    (root / "link").symlink_to(CONTRACT)
    (root / "folder").symlink_to("src")
    snapshot = Snapshot(run.workspace)

    assert Kind.FILE is snapshot.look(CONTRACT).kind
    assert {Kind.ODD} == {snapshot.look(path).kind for path in ("link", "folder", "folder/a.py")}
    assert Kind.ODD is snapshot.names("folder")[0]


def test_what_was_absent_and_came_is_a_change(root: Path) -> None:
    run = FiledRun(root)
    snapshot = Snapshot(run.workspace)

    assert Kind.ABSENT is snapshot.look("docs/later").kind
    assert () == snapshot.changed()
    run.put("docs/later", b"")
    assert ("docs/later",) == snapshot.changed()


CANDIDATE_CASES = {
    name: case
    for name, case in CASES.items()
    # These are about places where a candidate is not yet.
    if name not in {"no verdict", "no pointer", "no sidecar of the pointer",
                    "a verdict that the ledger does not know", "a run that says otherwise",
                    "a pointer that says otherwise", "a log of the run taken away",
                    "the whole run taken away"}
}  # fmt: skip


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CANDIDATE_CASES.items()]
)
def test_a_candidate_is_judged_by_the_same_rules(case: Case, root: Path) -> None:
    run = case.make(root)
    case.before(run)
    run.list_files()
    case.listed(run)
    known = case.known(run.known())
    case.after(run)
    report = run.judged(known, candidate=Candidate(verdict=run.verdict))

    assert {*case.codes} == {*report.fail_codes}, report.findings


def test_a_candidate_may_lie_elsewhere_as_yet(root: Path) -> None:
    run = FiledRun(root)
    known = run.known()
    staged = ".signoff/staging/x"
    name = REPORT.rpartition("/")[2]
    (root / staged).mkdir(parents=True)
    shutil.move(root / MIRROR, root / staged / "mirror")
    shutil.move(root / REPORT, root / staged / name)
    candidate = Candidate(verdict=run.verdict, mirror=f"{staged}/mirror", report=f"{staged}/{name}")
    report = run.judged(known, candidate=candidate)

    assert () == report.findings
    assert {f"{MIRROR}/{LOG}", REPORT} <= {*report.evidence_hashes}
    (root / staged / "mirror" / LOG).write_bytes(b"")
    assert "FAKE_DIGEST_DETECTED" in run.judged(known, candidate=candidate).fail_codes


def test_a_candidate_that_no_reader_accepts_is_missing(root: Path) -> None:
    run = FiledRun(root)
    report = run.judged(run.known(), candidate=Candidate(verdict=b"{}"))

    assert "VERDICT_MISSING" in report.fail_codes


def test_without_a_ledger_nothing_vouches_for_a_run(root: Path) -> None:
    run, _ = spoiled(CASES["as it was left"], root)

    assert ("SELFTEST_USER_SUPPLIED",) == run.judged(None).fail_codes


def test_a_report_of_a_task_code_that_begins_alike_is_no_report_of_this(root: Path) -> None:
    run, known = spoiled(CASES["as it was left"], root)
    run.put(f"{REPORTS}/REPORT__{TASK_CODE}__MORE__20260131.md", b"# x\n")

    assert () == run.judged(known).findings


def test_a_ledger_that_cannot_be_read_vouches_for_nothing(root: Path) -> None:
    """And no report of the gate is left from which somebody could read a PASS."""
    run, known = spoiled(CASES["as it was left"], root)
    run.record(known)
    assert 0 == call("scc", "verdict", "--workspace", root).code
    (root / LEDGER_FILE).write_bytes(b"no database" * 1_000)
    called = call("scc", "verdict", "--workspace", root)

    assert 0 != called.code
    assert LEDGER_FILE.rpartition("/")[2] in called.err
    assert not (root / "mvm/verdict/verdict.json").exists()


def test_a_contract_taken_away_makes_the_verdict_stale(root: Path) -> None:
    run, known = spoiled(CASES["as it was left"], root)
    run.record(known)
    (root / CONTRACT).unlink()
    called = call("scc", "verdict", "--workspace", root, "--json")

    assert (1, ["VERDICT_STALE"]) == (called.code, called.json["fail_codes"])


def test_a_ledger_that_is_a_link_vouches_for_nothing(root: Path) -> None:
    run, known = spoiled(CASES["as it was left"], root)
    run.record(known)
    shutil.move(root / LEDGER_FILE, root / "elsewhere")
    (root / LEDGER_FILE).symlink_to(root / "elsewhere")
    called = call("scc", "verdict", "--workspace", root)

    assert 0 != called.code
    assert "is a symbolic link" in called.err
    assert not (root / "mvm/verdict/verdict.json").exists()


@pytest.mark.parametrize("area", [AREA, ""])
def test_a_folder_of_reports_that_is_a_link_is_none(root: Path, area: str) -> None:
    run, known = spoiled(CASES["as it was left"], root)
    run.record(known)
    shutil.move(root / REPORTS, root / "elsewhere")
    (root / REPORTS).symlink_to(root / "elsewhere")
    named = ("--area", area) if area else ()
    called = call("scc", "verdict", "--workspace", root, *named, "--json")

    assert 1 == called.code
    assert "EVIDENCE_SYMLINK" in called.json["fail_codes"]


def test_an_earlier_run_copied_back_is_refused(root: Path) -> None:
    run, earlier = spoiled(CASES["as it was left"], root)
    run.record(earlier)
    assert 0 == call("scc", "verdict", "--workspace", root).code
    changed = dict.fromkeys(earlier.files, "1" * 64)
    run.record(replace(earlier, verdict_sha256="1" * 64, files=changed))
    called = call("scc", "verdict", "--workspace", root, "--json")

    assert 1 == called.code
    assert {"SELFTEST_USER_SUPPLIED", "VERDICT_CONTRADICTION", "FAKE_DIGEST_DETECTED"} <= {
        *called.json["fail_codes"]
    }


def test_a_later_task_code_may_own_the_pointer(root: Path) -> None:
    run, known = spoiled(CASES["as it was left"], root)
    other = f"{REPORTS}/artifacts/C-2"
    shutil.copytree(root / MIRROR, root / other)
    meta = json.loads((root / other / "evidence/run_meta.json").read_text())
    run.put(f"{other}/evidence/run_meta.json", json.dumps({**meta, "task_code": "C-2"}).encode())
    sidecar = json.loads((root / POINTER / "pointer.json").read_text())
    changes = {"task_code": "C-2", "artifacts_dir": other}
    run.put(f"{POINTER}/pointer.json", json.dumps({**sidecar, **changes}).encode())

    # The index of that mirror no longer agrees, so the pointer cannot be read.
    assert ("VERDICT_MISSING",) == run.judged(known).fail_codes
    index = json.loads((root / other / "evidence/index.json").read_text())
    for entry in index:
        one = run.measured(f"{other}/{entry['path']}")
        entry["sha256"], entry["size"] = one.sha256, one.size
    run.put(f"{other}/evidence/index.json", json.dumps(index).encode())
    assert () == run.judged(known).findings


def test_the_report_of_a_gate_says_what_was_found(root: Path) -> None:
    run, known = spoiled(CASES["a FAIL"], root)
    document: Any = json.loads(encode_report(run.judged(known)))

    assert [
        "status", "status_normalized", "fail_codes", "task_code", "area", "commit_sha", "guard",
        "evidence_hashes", "checks",
    ] == [*document]  # fmt: skip
    assert ("FAIL", "FAIL") == (document["status"], document["guard"]["status"])
    assert "f" * 40 == document["commit_sha"]
    assert {"name": "verdict", "status": "FAIL"} in document["checks"]
    assert {"name": "report", "status": "PASS"} in document["checks"]
    assert vars_of(run) == document["evidence_hashes"]


def vars_of(run: FiledRun) -> dict[str, Any]:
    listed: dict[str, Any] = json.loads((run.root / MIRROR / HASHES).read_text())
    return listed
