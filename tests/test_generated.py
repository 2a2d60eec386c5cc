"""What is made from the code is up to date, and the published schemas fit real documents."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from signoff.document import read_document
from signoff.probes import PROBES
from signoff.verifiers import STDLIB
from tests.cli.calling import call
from tests.test_docs import ROOT, blocks
from tools.generate import SCHEMAS, generated, main, stale

FOLDER = ROOT / SCHEMAS
NAMES = ("contract", "lock", "report", "verdict", "facts")
FACTS = (
    '{"elapsed_s": 0.2, "exit_code": 0, "tools": [{"name": "search", "status": "ok"}], "input": 1}'
)

Documents = dict[str, tuple[str, Any]]


def schema(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))


def valid(name: str, document: object) -> bool:
    return jsonschema_rs.validator_for(schema(name), validate_formats=True).is_valid(document)


def test_nothing_is_stale() -> None:
    assert [] == stale(), "make docs writes them anew"


def test_nothing_else_lies_there() -> None:
    made = {name for name in generated() if name.startswith(SCHEMAS)}

    assert made == {f"{SCHEMAS}/{path.name}" for path in FOLDER.iterdir()}


def test_stale_is_noticed(tmp_path: Path) -> None:
    for name, text in generated().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")

    assert [] == stale(tmp_path)

    (tmp_path / "docs" / "verifiers.md").write_text("", "utf-8")
    (tmp_path / SCHEMAS / "signoff.d.ts").unlink()

    assert ["docs/verifiers.md", f"{SCHEMAS}/signoff.d.ts"] == stale(tmp_path)


def test_check_writes_nothing_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["--check"])
    assert "" == capsys.readouterr().out
    assert 2 == main(["--chekc"])


def test_page_has_every_verifier() -> None:
    page = (ROOT / "docs" / "verifiers.md").read_text("utf-8")

    assert [*STDLIB.ids(), *PROBES.ids()] == [
        line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")
    ]


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_one(name: str) -> None:
    assert jsonschema_rs.meta.is_valid(schema(name))


# -- real documents --


@pytest.fixture
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Documents:
    """Every kind of document, as it is really written: name of its schema and value by file."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "demo", tmp_path, dirs_exist_ok=True)
    for kind in ("yaml", "json", "toml"):
        assert 0 == call("init", kind, "--format", kind).code
    Path("facts.json").write_text(FACTS)
    Path("fast.json").write_text(
        '{"id": "f", "criteria": [{"id": "f", "verifier": "latency_under", "params": {"max": 9}}]}'
    )
    assert 0 == call("lock", "contract.yaml").code
    lock = "contract.lock.json"
    assert 0 == call("verify", lock, "good.json", "--out", "good", "--facts", "facts.json").code
    assert 1 == call("verify", lock, "bad.json", "--out", "bad", "--fail-fast").code
    assert 1 == call("verify", lock, "run.sh", "--out", "cut", "--max-depth", "99").code
    assert 1 == call("verify", lock, "run.sh", "--out", "text", "--text").code
    assert 3 == call("verify", "fast.json", "good.json", "--out", "open").code
    found: Documents = {lock: ("lock", json.loads(Path(lock).read_text()))}
    for contract in (
        "contract.yaml",
        "yaml/contract.yaml",
        "json/contract.json",
        "toml/contract.toml",
    ):
        found[contract] = ("contract", read_document(contract).value)
    for run in ("good", "bad", "cut", "text", "open"):
        for file, name in (("contract", "lock"), *((name, name) for name in NAMES[2:])):
            path = Path(run, f"{file}.json")
            if path.exists():
                found[str(path)] = (name, json.loads(path.read_text()))
    return found


def test_real_documents_are_valid(documents: Documents) -> None:
    assert {*NAMES} == {name for name, _ in documents.values()}
    assert {"good/facts.json", "cut/facts.json"} < documents.keys()
    assert [] == [file for file, (name, value) in documents.items() if not valid(name, value)]


def test_documents_are_not_taken_for_each_other(documents: Documents) -> None:
    confused = [
        (file, other)
        for file, (name, value) in documents.items()
        for other in NAMES
        if other != name and valid(other, value)
    ]

    assert [] == confused


def change(**fields: object) -> Callable[[Any], Any]:
    """A document with some of its members changed."""
    return lambda document: document | fields


def without(name: str) -> Callable[[Any], Any]:
    return lambda document: {key: value for key, value in document.items() if key != name}


def first(list_: str, breaking: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A document with the first entry of a list broken."""
    return lambda document: document | {list_: [breaking(document[list_][0]), *document[list_][1:]]}


def inside(name: str, breaking: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda document: document | {name: breaking(document[name])}


BREAKING = [
    ("contract.yaml", change(requierd=True)),
    ("contract.yaml", change(id="")),
    ("contract.yaml", change(id="a\nb")),
    ("contract.yaml", change(min_isolation="L4")),
    ("contract.yaml", change(criteria=[])),
    ("contract.yaml", change(criteria=[{"id": "a", "verifier": "b", "required": False}])),
    ("contract.yaml", without("id")),
    ("contract.yaml", first("criteria", change(required="yes"))),
    ("contract.yaml", first("criteria", change(params=[]))),
    ("contract.yaml", first("criteria", without("verifier"))),
    ("contract.lock.json", change(format="signoff-lock/2")),
    ("contract.lock.json", change(digest="sha256:12")),
    ("contract.lock.json", inside("contract", without("criteria"))),
    ("good/report.json", without("weakened")),
    ("good/report.json", change(started="yesterday")),
    ("good/report.json", change(isolation="L9")),
    ("good/report.json", inside("verdict", change(outcome="pass"))),
    ("good/report.json", first("results", without("finding"))),
    ("good/report.json", first("results", inside("finding", change(status="passed")))),
    ("bad/report.json", first("results", inside("finding", change(cause="bad_luck")))),
    ("good/verdict.json", change(format="signoff-verdict/2")),
    ("good/verdict.json", change(outcome=True)),
    ("good/verdict.json", change(output_digest="md5:0")),
    ("good/verdict.json", change(files={"report.json": ""})),
    ("good/verdict.json", change(evidence={"a": 1})),
    ("good/verdict.json", without("contract_digest")),
    ("good/facts.json", change(elapsed="0.2")),
    ("good/facts.json", first("tools", without("name"))),
    ("cut/facts.json", inside("limits", change(max_depth=129))),
]


def test_broken_documents_are_refused(documents: Documents) -> None:
    accepted = []
    for index, (file, breaking) in enumerate(BREAKING):
        name, value = documents[file]
        broken = breaking(deepcopy(value))
        assert broken != value, f"{index} breaks nothing"
        if valid(name, broken):
            accepted.append((index, file))

    assert [] == accepted


# -- TypeScript --

COMPILER = "typescript@5.9.3"
PROGRAM = """\
import type { Contract, Facts, LockFile, Report, VerdictFile } from "./signoff";

const contract: Contract = CONTRACT;
const lock: LockFile = LOCK;
const reports: Report[] = REPORTS;
const verdict: VerdictFile = VERDICT;
const facts: Facts = FACTS;

export const blockers = reports.flatMap((report) =>
  report.verdict.outcome === "passed" ? [] : report.verdict.blockers,
);
export const details: string[] = reports.flatMap((report) =>
  report.results.map((result) => `${result.criterion}: ${result.finding.detail}`),
);
// @ts-expect-error: the type notices an outcome that does not exist
export const wrong = verdict.outcome === "pass";
// @ts-expect-error: a report does not stand for a verdict
export const other: VerdictFile = reports[0];
export const all = [contract, lock, facts];
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is needed to get the compiler")
def test_types_compile_with_real_documents(documents: Documents) -> None:
    reports = [value for name, value in documents.values() if name == "report"]
    parts = {
        "CONTRACT": documents["contract.yaml"][1],
        "LOCK": documents["contract.lock.json"][1],
        "REPORTS": reports,
        "VERDICT": documents["good/verdict.json"][1],
        "FACTS": documents["good/facts.json"][1],
    }
    program = PROGRAM
    for name, value in parts.items():
        program = program.replace(f"= {name};", f"= {json.dumps(value)};")
    Path("program.ts").write_text(program)
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    shown = [block.text for block in blocks(page) if block.language == "ts"]
    assert shown
    Path("shown.ts").write_text("\n".join(shown))
    shutil.copy(FOLDER / "signoff.d.ts", "signoff.d.ts")
    got = subprocess.run(
        ["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", COMPILER],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if got.returncode:
        pytest.skip(f"npm cannot get {COMPILER}: {got.stderr[-200:]}")
    compiler = [
        "node",
        "node_modules/typescript/bin/tsc",
        "--noEmit",
        "--strict",
        "--target",
        "es2022",
    ]
    done = subprocess.run(
        [*compiler, "program.ts", "shown.ts"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stdout)
