"""The tree keeps the rules of its architecture, and each rule notices when it is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import architecture as rules

SOURCES = rules.modules()
TESTS = rules.modules(Path(__file__).resolve().parent)
MODULES = pytest.mark.parametrize("module", sorted(SOURCES))


def test_imports_run_one_way() -> None:
    assert [] == [*rules.misplaced(SOURCES)]


def test_no_import_cycles() -> None:
    assert [] == [*rules.cycles(SOURCES)]


@MODULES
def test_no_hidden_imports(module: str) -> None:
    assert [] == [*rules.hidden_imports(module, SOURCES[module])]


@MODULES
def test_no_words_of_a_dialect_below_the_dialects(module: str) -> None:
    assert [] == [*rules.foreign_words(module, SOURCES[module])]


@MODULES
def test_modules_and_functions_can_be_read_at_once(module: str) -> None:
    assert [] == [*rules.oversized(module, SOURCES[module])]


def test_what_an_auditor_reads_is_short() -> None:
    assert rules.audited_lines(SOURCES) < rules.MAX_AUDITED_LINES


@MODULES
def test_module_names_say_something(module: str) -> None:
    assert [] == [*rules.vague_name(module)]


def test_everything_is_caught_by_the_engine_and_at_the_doors_alone() -> None:
    caught = {module: rules.catches_everything(text) for module, text in SOURCES.items()}

    doors = {"cli": 1, "service.protocol": 2, "service.streaming": 1}
    assert {"engine": 1, **doors} == {module: count for module, count in caught.items() if count}


@MODULES
def test_excuses_have_a_code_and_a_reason(module: str) -> None:
    assert [] == [*rules.excuses(module, SOURCES[module])]


@pytest.mark.parametrize("module", sorted(TESTS))
def test_excuses_in_tests_have_a_code_and_a_reason(module: str) -> None:
    assert [] == [*rules.excuses(module, TESTS[module])]


@MODULES
def test_annotations_are_not_evaluated(module: str) -> None:
    assert [] == [*rules.without_future(module, SOURCES[module])]


# -- each rule notices --


def test_the_tree_is_found() -> None:
    assert {"", "errors", "status"} <= SOURCES.keys()


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("errors", "from signoff.model import Finding"),
        ("errors", "import signoff.model"),
        ("errors", "from signoff import model"),
        ("jsonvalue", "from signoff.canonical import digest"),
        ("registry", "from signoff.engine import Engine"),
        ("verifiers.one", "from signoff.verifiers.two import check"),
        ("verifiers.one", "from signoff.verifiers import two"),
        ("verifiers.one", "from signoff.verifiers import STDLIB"),
        ("probes.one", "from signoff.probes import two"),
        ("dialects.one", "from signoff.dialects.two import read"),
        ("dialects.forge.one", "from signoff.dialects.scc.two import read"),
        ("contract", "from signoff.engine import Engine"),
        ("rundir", "import signoff"),
        ("engine", "from signoff import verify"),
        ("engine", "from signoff.cli import main"),
        ("engine", "from signoff.nowhere import main"),
        ("errors", "import signoff.errors"),
        ("errors", "def f():\n    from signoff.model import Finding"),
        ("nowhere", "import json"),
    ],
)
def test_upward_import_is_noticed(module: str, line: str) -> None:
    others = (
        "",
        "model",
        "verifiers.one",
        "verifiers.two",
        "probes.two",
        "verifiers",
        "dialects.two",
        "dialects.scc.two",
    )
    sources = dict.fromkeys(others, "") | {module: line}

    assert [module] == [complaint.split(":")[0] for complaint in rules.misplaced(sources)]


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("model", "from signoff.errors import Fault"),
        ("model", "from signoff import errors"),
        ("canonical", "from signoff.jsonvalue import JSON"),
        ("verifiers", "from signoff.verifiers.one import check"),
        ("verifiers", "from signoff.verifiers import one"),
        ("verifiers.one", "from signoff.registry import verifier"),
        ("", "from signoff.engine import Engine"),
        ("cli.verify", "from signoff.cli import shell"),
        ("cli", "from signoff.cli.verify import command"),
        ("schema_engine", "from signoff.schema_engine.rules import check"),
        ("engine", "from signoffice import main"),
    ],
)
def test_downward_import_is_fine(module: str, line: str) -> None:
    others = ("", "errors", "jsonvalue", "registry", "verifiers.one", "engine", "cli", "cli.shell")

    assert [] == [*rules.misplaced(dict.fromkeys(others, "") | {module: line})]


def test_cycle_is_noticed() -> None:
    one = "from signoff.cli.two import x"
    two = "def f():\n    from signoff.cli.one import y"

    assert [] == [*rules.misplaced({"cli.one": one, "cli.two": two})]
    assert 1 == len([*rules.cycles({"cli.one": one, "cli.two": two})])
    assert [] == [*rules.cycles({"cli.one": one, "cli.two": ""})]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("model", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import json"),
        ("model", "import typing\nif typing.TYPE_CHECKING:\n    import json"),
        ("model", "from . import errors"),
        ("model", "def f():\n    import json"),
        ("model", "def f():\n    from importlib import resources"),
        ("model", "class A:\n    async def f(self):\n        import json"),
        ("model", "def f():\n    from signoff.errors import Fault"),
        ("model", "import importlib\ndef f():\n    importlib.import_module('json')"),
        ("model", "module = __import__('json')"),
        ("client", "def f():\n    import signoff.errors"),
    ],
)
def test_hidden_import_is_noticed(module: str, text: str) -> None:
    assert 1 == len([*rules.hidden_imports(module, text)])


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("model", "import json\ndef f():\n    return json"),
        ("model", "def f():\n    import re2"),
        ("model", "def f():\n    from ruamel.yaml import YAML"),
        ("model", "def f():\n    from importlib import metadata"),
        ("cli", "def f():\n    from signoff.engine import Engine"),
        ("cli.verify", "def f():\n    import click"),
        ("verifiers", "STDLIB = import_module('signoff.verifiers.number')"),
        ("model", "if TYPE_CHECKING:\n    Alias = int"),
        ("", "def __getattr__(name):\n    return import_module(name)"),
    ],
)
def test_deferred_import_is_fine(module: str, text: str) -> None:
    assert [] == [*rules.hidden_imports(module, text)]


@pytest.mark.parametrize(
    "text",
    [
        "turn = 1",
        "def f(candidate): ...",
        "def f(*, oid=1): ...",
        "def reason_code(): ...",
        "class Turn: ...",
        "x.policy_hash",
        "f(verifier_ids=())",
        "_candidate = 1",
        "import turn",
        "import os as oid",
        "first_turn = 1",
        "match 1:\n    case oid: ...",
        "try: ...\nexcept OSError as turn: ...",
    ],
)
def test_word_of_a_dialect_is_noticed(text: str) -> None:
    assert [*rules.foreign_words("model", text)]
    assert [] == [*rules.foreign_words("dialects.scc", text)]


@pytest.mark.parametrize(
    "text", ["return_type = 1", "void = 1", "'turn'", "avoids = 1", "turned = 1", "turns = 1"]
)
def test_other_words_are_fine(text: str) -> None:
    assert [] == [*rules.foreign_words("model", text)]


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("x = 1\n" * 400, 0),
        ("x = 1\n" * 401, 1),
        ("def f():\n" + "    x = 1\n" * 40, 0),
        ("def f():\n" + "    x = 1\n" * 41, 1),
        ("def f():\n    '''Says.\n\n    more'''\n" + "    x = 1\n" * 40, 0),
        ("def f():\n    '''Says.'''\n" + "    x = 1\n" * 41, 1),
        ("def f():\n    '''Says.'''", 0),
        ("def f():\n    def g():\n" + "        x = 1\n" * 41, 2),
        ("class A:\n    async def f(self):\n" + "        x = 1\n" * 41, 1),
    ],
)
def test_length_is_noticed(text: str, complaints: int) -> None:
    assert complaints == len([*rules.oversized("model", text)])


def test_length_of_the_audited_part_is_counted() -> None:
    status = '"""Says.\n\nMore.\n"""\n\nx = """a\n\nb"""  # why\n# why\n'
    engine = "def f():\n    '''Says.'''\n\n    return (\n        1\n    )\n"

    assert 3 == rules.audited_lines({"status": status, "model": "x = 1\n"})
    assert 4 == rules.audited_lines({"engine": engine})
    assert 7 == rules.audited_lines({"status": status, "contract": engine})


@pytest.mark.parametrize("module", ["utils", "verifiers.common", "helpers.one", "cli.base"])
def test_vague_name_is_noticed(module: str) -> None:
    assert 1 == len([*rules.vague_name(module)])


@pytest.mark.parametrize("module", ["", "engine", "scoreboard", "cli.manage"])
def test_other_name_is_fine(module: str) -> None:
    assert [] == [*rules.vague_name(module)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("try: ...\nexcept BaseException: ...", 1),
        ("try: ...\nexcept: ...", 1),
        ("try: ...\nexcept (OSError, BaseException): ...", 1),
        ("try: ...\nexcept builtins.BaseException: ...", 1),
        ("try: ...\nexcept* BaseException: ...", 1),
        ("with suppress(BaseException): ...", 1),
        ("with contextlib.suppress(OSError, BaseException): ...", 1),
        ("try: ...\nexcept Exception: ...", 0),
        ("try: ...\nexcept BaseExceptionGroup: ...", 0),
        ("with suppress(OSError): ...", 0),
        ("raise BaseException", 0),
    ],
)
def test_catching_everything_is_noticed(text: str, count: int) -> None:
    assert count == rules.catches_everything(text)


@pytest.mark.parametrize(
    ("line", "complaints"),
    [
        ("x = 1  # type: ignore", 1),
        ("x = 1  # noqa", 1),
        ("x = 1  # type: ignore[arg-type]", 1),
        ("x = 1  # noqa: S101", 1),
        ("x = 1  # noqa: S101 - 7", 1),
        ("x = 1  # type: ignore[arg-type]  # noqa", 1),
        ("x = 1  # type: ignore[arg-type]  # the library has no types", 0),
        ("x = 1  # noqa: S101 - the type checker needs it", 0),
        ("x = 1  # noqa: S101, BLE001  # the type checker needs it", 0),
        ("x = 1  # type: ignore[a, b-c]  # noqa: S101 - both, because of that", 0),
        ("x = '# noqa'", 0),
        ("x = 1  # an ordinary comment", 0),
    ],
)
def test_excuse_is_noticed(line: str, complaints: int) -> None:
    assert complaints == len([*rules.excuses("model", line)])


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("", 0),
        ("'''Says.'''", 0),
        ("'''Says.'''\nfrom __future__ import annotations\nx = 1", 0),
        ("'''Says.'''\nx = 1", 1),
        ("import json\nfrom __future__ import annotations", 1),
    ],
)
def test_absent_future_import_is_noticed(text: str, complaints: int) -> None:
    assert complaints == len([*rules.without_future("model", text)])
