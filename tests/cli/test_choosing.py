"""Verifiers count when the configuration or the command line names them, and only then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calling import call, wrote
from tests.cli.streams import ENTRY, environment
from tests.importing import HOUSE, forgotten, install

CONTRACT = "id: c\ncriteria:\n- {id: a, verifier: greets}\n"


@pytest.fixture
def house(folder: Path) -> Iterator[Path]:
    """The folder with the module ``house``, a contract that needs it, and its lock file."""
    wrote(folder, "house.py", HOUSE)
    wrote(folder, "greeting.yaml", CONTRACT)
    wrote(folder, "hello.json", b'"hello"')
    with forgotten(folder):
        assert 0 == call("lock", "greeting.yaml", "--with", "house:greets").code
        yield folder


def test_own_verifier_counts_where_it_is_named(house: Path) -> None:
    argv = ["verify", "greeting.lock.json", "hello.json", "--out", "run"]

    assert 0 == call(*argv, "--with", "house:greets").code
    gate = call(
        "gate", "run", "--contract", "greeting.lock.json", "--with", "house:greets", "--json"
    )
    assert (0, ["a"]) == (gate.code, gate.json["rechecked"])
    assert (
        0
        == call(
            "diff", "greeting.yaml", "greeting.lock.json", "--with", "house:both", "--exit-code"
        ).code
    )


def test_own_verifier_does_not_count_where_it_is_not_named(house: Path) -> None:
    called = call("verify", "greeting.lock.json", "hello.json")

    assert 1 == called.code
    assert 'error  a  No verifier registered for "greets".' in called.out
    assert "next      name what brings it: --plugin NAME, --with MODULE:NAME" in called.out
    assert 2 == call("lock", "greeting.yaml").code
    assert (
        0
        == call(
            "verify", "greeting.lock.json", "hello.json", "--with", "house:greets", "--out", "run"
        ).code
    )
    assert 1 == call("gate", "run", "--contract", "greeting.lock.json").code


def test_lock_file_says_where_a_verifier_comes_from(house: Path) -> None:
    assert {"greets": "house"} == json.loads(Path("greeting.lock.json").read_bytes())["verifiers"]


def test_configuration_of_the_folder_is_used_unless_it_is_not_wanted(house: Path) -> None:
    wrote(
        house, "signoff.toml", '[plugins]\nmodules = ["house:greets"]\n[limits]\nmax_depth = 99\n'
    )

    called = call("verify", "greeting.lock.json", "hello.json")
    assert (0, True) == (called.code, "weakened  max_depth=99" in called.out)
    assert 1 == call("verify", "greeting.lock.json", "hello.json", "--no-config").code


def test_gate_reads_no_configuration_that_is_not_named(house: Path) -> None:
    wrote(house, "signoff.toml", '[plugins]\nmodules = ["house:greets"]\n')
    assert 0 == call("verify", "greeting.lock.json", "hello.json", "--out", "run").code
    argv = ["gate", "run", "--contract", "greeting.lock.json"]

    assert 1 == call(*argv).code
    assert 0 == call(*argv, "--config", "signoff.toml").code


def test_command_line_comes_before_the_configuration(house: Path) -> None:
    wrote(house, "signoff.toml", "[limits]\nmax_depth = 1\nmax_bytes = 30\n")
    wrote(house, "deep.json", b"[[[1]]]")
    argv = ["verify", "contract.yaml", "deep.json"]

    assert "nested deeper than 1 levels" in call(*argv).out
    assert "nested deeper than 2 levels" in call(*argv, "--max-depth", "2").out
    assert "larger than 30 bytes" in call("verify", "contract.yaml", "bad.json").err
    assert (
        1
        == call("verify", "contract.yaml", "bad.json", "--max-depth", "3", "--max-bytes", "99").code
    )


def test_configuration_and_none_exclude_each_other(house: Path) -> None:
    called = call("verify", "contract.yaml", "good.json", "--config", "x.toml", "--no-config")

    assert (2, True) == (called.code, "exclude each other" in called.err)


def test_fault_of_the_configuration_leaves_no_older_answer(house: Path) -> None:
    argv = ["verify", "contract.lock.json", "good.json", "--out", "run", "--junit", "j.xml"]
    assert 0 == call(*argv).code
    wrote(house, "signoff.toml", "[limits]\nmax_depth = 0\n")

    assert 2 == call(*argv).code
    assert (False, False) == (Path("run/verdict.json").exists(), Path("j.xml").exists())


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--with", "house"], '--with must be package.module:name, got "house"'),
        (["--with", "house:nothing"], '--with: house:nothing: no "nothing" in '),
        (["--with", "absent_house:x"], "--with: absent_house:x cannot be imported: ModuleNotFoundError"),
        (["--with", "house:both", "--with", "house:polite"], 'verifier "polite" comes twice: from house (--with: house:both), and from house (--with: house:polite)'),
        (["--with", "signoff.verifiers:STDLIB"], 'verifier "contains_fields" comes twice: from signoff 0.1.0, and from'),
        (["--plugin", "absent-plugin"], "--plugin: absent-plugin is no installed plug-in"),
        (["--config", "absent.toml"], "absent.toml: no such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_sentence(house: Path, argv: list[str], says: str) -> None:
    for command in (
        ["lock", "greeting.yaml"],
        ["verify", "greeting.yaml", "hello.json"],
        ["verifiers"],
    ):
        called = call(*command, *argv)
        assert (2, "") == (called.code, called.out)
        assert says in called.err
        assert 2 == len(called.err.splitlines())


# -- plug-ins --


@pytest.fixture
def site(house: Path) -> Path:
    """A folder of installed packages, elsewhere, with the plug-in ``greeting``."""
    place = house / "site"
    install(place, "greeting = installed_house:greets")
    wrote(place, "installed_house.py", HOUSE)
    sys.path.insert(0, str(place))
    return place


def test_installed_plug_in_counts_only_where_it_is_named(site: Path) -> None:
    assert 2 == call("lock", "greeting.yaml").code
    assert 0 == call("lock", "greeting.yaml", "--plugin", "greeting").code
    lock = json.loads(Path("greeting.lock.json").read_bytes())
    assert {"greets": "house-checks 1.0"} == lock["verifiers"]

    wrote(Path(), "signoff.toml", '[plugins]\nverifiers = ["greeting"]\n')
    called = call("verify", "greeting.lock.json", "hello.json", "--json")
    assert (0, "1.0", []) == (
        called.code,
        called.json["engines"]["house-checks"],
        called.json["warnings"],
    )


def test_other_version_of_a_plug_in_is_a_note_and_in_the_report(site: Path) -> None:
    assert 0 == call("lock", "greeting.yaml", "--plugin", "greeting").code
    (site / "house_checks-1.0.dist-info").rename(site / "house_checks-2.0.dist-info")
    install(site, "greeting = installed_house:greets", version="2.0")
    told = "greets: locked with house-checks 1.0, judged with house-checks 2.0"
    argv = ["verify", "greeting.lock.json", "hello.json", "--plugin", "greeting"]

    called = call(*argv, "--out", "run")
    assert (0, True) == (called.code, f"note: {told}\n" in called.err)
    assert [told] == json.loads(Path("run/report.json").read_bytes())["warnings"]
    assert "" == call(*argv, "-q").err
    assert 0 == call("gate", "run", "--contract", "greeting.lock.json", "--plugin", "greeting").code


def test_list_says_where_each_comes_from_and_what_is_not_in_use(site: Path) -> None:
    idle = call("verifiers", "--json").json["verifiers"][-1]
    used = call("verifiers", "--json", "--plugin", "greeting").json["verifiers"]

    assert ("greeting", "house-checks 1.0", False) == (idle["id"], idle["origin"], idle["in_use"])
    assert [("house-checks 1.0", True)] == [
        (one["origin"], one["in_use"]) for one in used if one["id"] == "greets"
    ]
    assert "greeting" not in [one["id"] for one in used]
    assert (
        "The output has the word. (house-checks 1.0)\n"
        in call("verifiers", "--plugin", "greeting").out
    )
    assert "The output has the word.\n" in call("verifiers", "greets", "--with", "house:greets").out


def test_plug_in_that_cannot_be_imported_is_one_sentence(site: Path) -> None:
    wrote(site, "installed_house.py", "import absent_module")
    called = call("verify", "contract.yaml", "good.json", "--plugin", "greeting")

    assert (2, "") == (called.code, called.out)
    assert (
        "signoff: --plugin: greeting (house-checks 1.0): installed_house:greets cannot be imported: "
        "ModuleNotFoundError (No module named 'absent_module')\n"
    ) in called.err
    assert 0 == call("verify", "contract.yaml", "good.json").code


@pytest.mark.parametrize("raised", ["SystemExit(0)", "BaseException"])
@pytest.mark.parametrize("where", ["factory", "engines", "rewrite"])
def test_verifier_that_ends_the_process_never_reads_as_a_pass(
    house: Path, raised: str, where: str
) -> None:
    wrote(
        house,
        "leaves.py",
        "from msgspec.structs import replace\n"
        "from signoff import passed, verifier\n"
        "def left(*_):\n"
        f"    raise {raised}\n"
        "@verifier\n"
        "def leaves():\n"
        f"    return left() if {where == 'factory'} else lambda _: passed('fine')\n"
        f"if {where != 'factory'}:\n"
        f"    leaves = replace(leaves, {where}=left)\n",
    )
    wrote(house, "leaves.yaml", "id: c\ncriteria:\n- {id: a, verifier: leaves}\n")
    argv = ["verify", "leaves.yaml", "hello.json", "--with", "leaves:leaves"]
    called = call(*argv)

    assert (2, "") == (called.code, called.out)
    assert f"signoff: stopped by an unexpected {raised.partition('(')[0]}" in called.err
    assert "unusable_request" == call(*argv, "--json").json["error"]["kind"]


@pytest.mark.parametrize("where", ["factory", "rewrite"])
def test_verifier_that_cannot_be_bound_is_a_fault(house: Path, where: str) -> None:
    wrote(
        house,
        "breaks.py",
        "from msgspec.structs import replace\n"
        "from signoff import passed, verifier\n"
        "def broken(*_):\n"
        "    raise ValueError('no such table')\n"
        "@verifier\n"
        "def breaks():\n"
        f"    return broken() if {where == 'factory'} else lambda _: passed('fine')\n"
        f"if {where != 'factory'}:\n"
        f"    breaks = replace(breaks, {where}=broken)\n",
    )
    wrote(house, "breaks.yaml", "id: c\ncriteria:\n- {id: a, verifier: breaks}\n")
    called = call("verify", "breaks.yaml", "hello.json", "--with", "breaks:breaks")

    assert (2, "") == (called.code, called.out)
    assert 'verifier "breaks" cannot be bound: ValueError: no such table' in called.err


# -- the workspace --


def test_nothing_is_imported_from_the_workspace(house: Path) -> None:
    argv = ["verify", "greeting.lock.json", "hello.json", "--workspace", "."]
    called = call(*argv, "--with", "house:greets")

    assert (2, True) == (called.code, "lies in the workspace under judgement" in called.err)

    wrote(house, "signoff.toml", '[plugins]\nmodules = ["house:greets"]\n')
    assert 2 == call(*argv).code


def test_module_of_the_workspace_is_not_taken_for_the_operator_s(house: Path) -> None:
    work = house / "work"
    work.mkdir()
    wrote(work, "house.py", "raise SystemExit(0)")
    wrote(work, "msgspec_helper.py", "")
    argv = ["verify", "../greeting.lock.json", "../hello.json", "--config", "../signoff.toml"]
    wrote(house, "signoff.toml", '[plugins]\nmodules = ["house:greets"]\n')
    path = [str(Path(one).resolve()) for one in os.environ.get("PYTHONPATH", "").split(":") if one]
    done = subprocess.run(
        [*ENTRY, *argv, "--workspace", "."],
        cwd=work,
        env=environment(PYTHONPATH=":".join(path)),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)


def test_checks_are_told_the_workspace(house: Path) -> None:
    wrote(
        house,
        "where.py",
        "from signoff import passed, verifier\n"
        "@verifier\n"
        "def where(*, powers):\n"
        "    return lambda subject: passed(f'{subject.workspace} {powers.workspace}')\n",
    )
    wrote(house, "where.yaml", "id: c\ncriteria:\n- {id: a, verifier: where}\n")
    (house / "work").mkdir()
    argv = ["verify", "where.yaml", "hello.json", "--with", "where:where", "--json"]

    for more, place in (([], None), (["--workspace", "work"], house / "work")):
        results = call(*argv, *more).json["results"]
        assert f"{place} {place}" == results[0]["finding"]["detail"]


def test_configuration_in_the_workspace_must_be_named(house: Path) -> None:
    wrote(house, "signoff.toml", "[limits]\nmax_depth = 9\n")
    argv = ["verify", "contract.lock.json", "good.json", "--json", "--workspace"]
    refused = call(*argv, ".")
    named = call(*argv, ".", "--config", "signoff.toml")

    assert 2 == refused.code
    assert "signoff.toml lies in the workspace" in refused.json["error"]["message"]
    assert 0 == call(*argv, ".", "--no-config").code
    assert ["signoff.toml lies in the workspace, where the work could change it"] == named.json[
        "warnings"
    ]
    (house / "work").mkdir()
    assert [] == call(*argv, "work").json["warnings"]


@pytest.mark.parametrize("name", ["absent", "good.json"])
def test_workspace_must_be_a_folder(house: Path, name: str) -> None:
    called = call("verify", "contract.lock.json", "good.json", "--workspace", name)

    assert (2, True) == (called.code, f"--workspace {name} is no folder" in called.err)


# -- start-up --


@pytest.mark.parametrize(
    "command", [["verify", "contract.lock.json", "good.json"], ["lock", "contract.yaml"]]
)
def test_nothing_configured_imports_nothing_of_it(folder: Path, command: list[str]) -> None:
    code = (
        "import sys; from signoff.cli import run\n"
        f"assert 0 == run({command!r}, None, sys.stdout, sys.stderr)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unwanted = {
        "importlib.metadata",
        "signoff.cli.configured",
        "signoff.config",
        "signoff.configfile",
        "signoff.plugins",
        "tomllib",
    }

    assert set() == unwanted & {*done.stderr.split()}
