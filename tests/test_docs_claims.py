"""What the documents list is what there is: options, causes, laws, limits, names, the workflow."""

from __future__ import annotations

import json
import os
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from signoff.cli.commands import COMMANDS, Commands
from signoff.document import parse_yaml
from signoff.status import Cause, Status
from tests.sandbox.confined import need
from tests.test_docs import ROOT, Session, blocks

DOCS = ROOT / "docs"
WORKFLOW = ROOT / "examples" / "ci" / "signoff.yml"
ROW = re.compile(r"^\| (.*?) \|(.*)\|$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
EASIER = (
    "cp bad.json head/result.json && head -n 8 contract.yaml > few.yaml"
    " && signoff verify few.yaml bad.json --out head/signoff-run"
)
AS_TEXT = (
    "echo '{id: c, criteria: [{id: some, verifier: not_empty}]}' > few.yaml"
    " && signoff lock few.yaml -o base/contract.lock.json && echo '{}' > head/result.json"
    " && signoff verify base/contract.lock.json head/result.json --out head/signoff-run --text"
)
LENIENT = (
    "sed 's/: 6,/: 99, \"minutes\": 6,/' good.json > head/result.json && signoff verify"
    " base/contract.lock.json head/result.json --out head/signoff-run --duplicate-keys last"
)


def text(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next one of its level."""
    level = heading.partition(" ")[0]
    found = re.search(
        rf"^{re.escape(heading)}\n(.*?)(?=^{level} |\Z)", page, re.MULTILINE | re.DOTALL
    )
    assert found, heading
    return found[1]


# -- cli.md --


def command(name: str) -> click.Command:
    found: click.Command = import_module(f"signoff.cli.{name}").command if name else Commands()
    return found


def options(of: click.Command) -> set[str]:
    return {
        name
        for param in of.params
        if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    }


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_option_is_in_its_table(name: str) -> None:
    table = section(text("cli.md"), f"## signoff {name}".rstrip())
    listed = {
        code.split()[0]
        for cells in ROW.findall(table)
        for code in CODE.findall(cells[0])
        if code.startswith("-")
    }
    usual = {"-h", "--help"} if name else set()

    assert options(command(name)) - usual == listed


@pytest.mark.parametrize("name", COMMANDS)
def test_exit_codes_are_those_of_the_help(name: str) -> None:
    codes = re.compile(r"Exit\s+codes:([^.]*)")
    page = section(text("cli.md"), f"## signoff {name}")
    told = codes.search(command(name).help or "")
    listed = codes.search(page)

    assert listed, "there is no line with exit codes"
    if told:
        assert {*re.findall(r"\d+", told[1])} == {*re.findall(r"\d+", listed[1])}


def test_every_command_is_in_the_pages() -> None:
    headings = re.findall(r"^## signoff (\w+)$", text("cli.md"), re.MULTILINE)

    assert list(COMMANDS) == headings


# -- verdicts.md, concepts.md --


def test_statuses_stand_in_their_order() -> None:
    rows = ROW.findall(section(text("verdicts.md"), "## Statuses"))
    listed = [(CODE.findall(name)[0], CODE.findall(rest)[-1]) for name, rest in rows[2:]]

    assert [(one.value, one.outcome.value) for one in Status] == listed


def test_statuses_of_the_readme_are_whole() -> None:
    page = section((ROOT / "README.md").read_text("utf-8"), "## Results, verdicts, exit codes")

    assert [one.value for one in Status] == [
        CODE.findall(name)[0] for name, _ in ROW.findall(page)[2:]
    ]


def test_causes_are_whole_and_go_with_their_status() -> None:
    rows = ROW.findall(section(text("verdicts.md"), "## Causes"))[2:]
    listed = {CODE.findall(name)[0]: CODE.findall(rest)[0] for name, rest in rows}

    assert {one.value: one.status.value for one in Cause} == listed


def test_laws_are_those_that_are_tested() -> None:
    tests = (ROOT / "tests" / "property" / "test_fold_laws.py").read_text("utf-8")
    laws = re.findall(r'^class Test\w+:\n    """(.*?)"""', tests, re.MULTILINE)
    rows = ROW.findall(section(text("verdicts.md"), "## The fold"))[2:]

    assert 7 == len(laws)
    assert laws == [rest.strip() for _, rest in rows]


def test_glossary_is_sorted() -> None:
    words = [name for name, _ in ROW.findall(section(text("concepts.md"), "## The words"))][2:]

    assert sorted(words) == words


# -- ci.md and the workflow --


def workflow() -> dict[str, Any]:
    value = parse_yaml(WORKFLOW.read_bytes())
    assert isinstance(value, dict)
    return value


def test_page_shows_the_workflow() -> None:
    shown = [block.text for block in blocks(text("ci.md")) if block.language == "yaml"]

    assert [WORKFLOW.read_text("utf-8")] == shown


def test_workflow_has_few_rights_and_pinned_actions() -> None:
    jobs = workflow()["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]

    assert {"contents": "read"} == workflow()["permissions"]
    assert "secrets" not in WORKFLOW.read_text("utf-8")
    assert [] == [name for name, job in jobs.items() if "permissions" in job or "env" in job]
    assert used
    assert [] == [one for one in used if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one)]
    assert all(
        step["with"]["persist-credentials"] is False for step in steps if "checkout" in str(step)
    )
    assert [] == [step["run"] for step in steps if "${{" in step.get("run", "")]


def prepared(folder: Path) -> Session:
    """A runner at the last step: a contract in the base, and a good run in the pull request."""
    session = Session(folder)
    for name in ("base", "head"):
        (session.folder / name).mkdir()
    session.run("signoff lock contract.yaml -o base/contract.lock.json")
    session.run("cp good.json head/result.json")
    session.run("signoff verify base/contract.lock.json head/result.json --out head/signoff-run")
    assert 0 == session.exit_code
    session.env |= workflow()["env"]
    return session


def judged(session: Session, job: str = "gate") -> int:
    """The exit code of a job's last step, run as a runner runs it."""
    script = workflow()["jobs"][job]["steps"][-1]["run"]
    (session.folder / "step.sh").write_text(script)
    session.run("bash --noprofile --norc -eo pipefail step.sh")
    return session.exit_code


@pytest.mark.skipif(shutil.which("bash") is None, reason="a runner's shell is bash")
@pytest.mark.parametrize(
    ("trick", "code"),
    [
        ("true", 0),
        ("cp bad.json head/result.json", 1),
        ("rm head/result.json", 2),
        ("rm -r head/signoff-run", 1),
        ("cp good.json base/ && ln -sf ../base/good.json head/result.json", 1),
        ("mv head/result.json head/other.json && ln -s other.json head/result.json", 1),
        (EASIER, 1),
        (LENIENT, 1),
        (AS_TEXT, 1),
    ],
    ids=[
        "honest",
        "other output",
        "no output",
        "no run",
        "link out",
        "link",
        "other contract",
        "lenient",
        "as text",
    ],
)
def test_workflow_judges(trick: str, code: int, tmp_path: Path) -> None:
    session = prepared(tmp_path)
    session.run(trick)
    assert 0 == session.exit_code

    assert code == judged(session)


# -- the job that judges code --

SLUGS = """\
id: slugs
criteria:
  - id: tests
    verifier: pytest
    params: {required_tests: ["test_slug.py::test_words_are_joined"], max_skipped: 0}
  - id: scope
    verifier: changes_within
    params: {base: refs/remotes/origin/main, allowed: [slug.py]}
"""
IDENTITY = [f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
WORKS = 'echo \'def slug(title): return title.strip().lower().replace(" ", "-")\' > slug.py'
COMMIT = "git add . && git commit -q -m work"


def proposed(folder: Path, work: str) -> Session:
    """A runner at the last step: a contract in the base, and a clone of the pull request's head."""
    session = Session(folder)
    session.env |= workflow()["env"] | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "RUNNER_TEMP": str(folder / "runner"),
        **dict.fromkeys(IDENTITY, "work@shop.example"),
    }
    (folder / "runner").mkdir()
    (session.folder / "code.yaml").write_text(SLUGS, "utf-8")
    for command in (
        "mkdir base && signoff lock code.yaml -o base/code.lock.json",
        f"git init -q -b main slugs && cd slugs && echo > slug.py && {COMMIT}",
        f"cd slugs && git checkout -q -b proposed && {work} && {COMMIT}",
        "git clone -q --no-checkout slugs head && cd head && git checkout -q origin/proposed",
    ):
        shown = session.run(command)
        assert 0 == session.exit_code, shown
    return session


@pytest.mark.skipif(shutil.which("bash") is None, reason="a runner's shell is bash")
@pytest.mark.parametrize(
    ("work", "blockers"),
    [
        (WORKS, []),
        ("echo 'def slug(title): return title' > slug.py", ["tests"]),
        (f"{WORKS} && printf 'import os\\nos._exit(0)\\n' > conftest.py", ["tests", "scope"]),
        (f"echo > other.py && {COMMIT} && git tag origin/main && {WORKS}", ["scope"]),
    ],
    ids=["honest", "not done", "ends the tests", "moves the base"],
)
def test_workflow_judges_code(work: str, blockers: list[str], tmp_path: Path) -> None:
    need("L3")
    session = proposed(tmp_path, work)

    assert bool(blockers) == judged(session, "code")
    verdict = json.loads((tmp_path / "runner" / "signoff-run" / "verdict.json").read_bytes())
    assert blockers == verdict["blockers"]
