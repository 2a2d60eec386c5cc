"""``signoff.toml`` is read strictly: every fault at once, each with its place, and no secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.command_settings import CommandSettings
from signoff.config import Config, FunctionEmbedder
from signoff.configfile import (
    COMMAND_LIMITS,
    COMMANDS,
    EMBEDDERS,
    LIMITS,
    PLUGINS,
    SERVICE,
    TABLES,
    load_config,
)
from signoff.embedder import EndpointEmbedder, SentenceTransformerEmbedder
from signoff.errors import ConfigError, DocumentError, Fault, PluginError
from signoff.evidence import MemoryStore
from signoff.model import Subject
from signoff.plugins import Reference
from signoff.quick import verify
from signoff.registry import Powers, Registry
from signoff.remote_service import Service
from signoff.sandbox.command import Limits as CommandLimits
from signoff.strictjson import Limits
from signoff.verifiers import STDLIB
from tests.importing import HOUSE, forgotten

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*/signoff.toml"))
WHOLE = """\
[services.tone]
url = "https://tone.example/check"
timeout_s = 2.5
headers = {Authorization = "env:TONE_KEY", X-Team = "lunch"}
max_bytes = 1000

[services.near]
url = "http://127.0.0.2:8000/"

[embedders.local]
kind = "sentence-transformers"
folder = "models/small"

[embedders.far]
kind = "endpoint"
url = "https://vectors.example"
model = "small"
key = "env:VECTOR_KEY"
timeout_s = 5

[embedders.mine]
kind = "python"
function = "house:vectors"

[predicates]
agrees = "house:agrees"

[plugins]
verifiers = ["greeting"]
modules = ["house:greets"]

[limits]
max_bytes = 1000
max_depth = 10
max_digits = 20
max_image_pixels = 1000000
max_image_bytes = 100000

[commands]
min_isolation = "L2"
readable = ["tools", "/opt/sdk"]
pass_env = ["CARGO_HOME"]
python = "venv/bin/python"
memory_bytes = 1073741824
output_bytes = 0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with the module ``house``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "house.py").write_text(HOUSE)
    with forgotten(tmp_path):
        yield tmp_path


def load(text: str) -> Config:
    Path("signoff.toml").write_text(text, "utf-8")
    return load_config("signoff.toml")


def faults(text: str) -> list[str]:
    """What is wrong with a configuration, each with its place."""
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert "signoff.toml" == caught.value.source
    return [f"{fault.line}:{fault.column} {fault.message}" for fault in caught.value.faults]


def test_every_setting_is_read(folder: Path) -> None:
    config = load(WHOLE)

    assert {
        "tone": Service(
            url="https://tone.example/check",
            timeout_s=2.5,
            headers={"Authorization": "env:TONE_KEY", "X-Team": "lunch"},
            max_bytes=1000,
        ),
        "near": Service(url="http://127.0.0.2:8000/"),
    } == config.services
    assert SentenceTransformerEmbedder(folder=folder / "models/small") == config.embedders["local"]
    assert (
        EndpointEmbedder(
            url="https://vectors.example", model="small", key="env:VECTOR_KEY", timeout_s=5
        )
        == config.embedders["far"]
    )
    assert isinstance(config.embedders["mine"], FunctionEmbedder)
    assert ("house:agrees", "signoff.toml:26:10", folder) == (
        config.predicates["agrees"].name,
        config.predicates["agrees"].said,
        config.predicates["agrees"].folder,
    )
    assert [("greeting", "signoff.toml:29:14")] == [(one.name, one.said) for one in config.plugins]
    assert [("house:greets", "signoff.toml:30:12")] == [
        (one.name, one.said) for one in config.modules
    ]
    assert Limits(max_bytes=1000, max_depth=10, max_digits=20) == config.limits
    assert (1_000_000, 100_000) == (config.max_image_pixels, config.max_image_bytes)


def test_commands_are_read(folder: Path) -> None:
    assert (
        CommandSettings(
            min_isolation="L2",
            readable=(str(folder / "tools"), "/opt/sdk"),
            pass_env=("CARGO_HOME",),
            python=str(folder / "venv/bin/python"),
            limits={"memory_bytes": 2**30, "output_bytes": 0},
        )
        == load(WHOLE).commands
    )


def test_every_limit_of_a_command_is_one_that_the_sandbox_knows() -> None:
    assert CommandLimits(**dict.fromkeys(COMMAND_LIMITS, 1)) is not None


def test_interpreter_reaches_the_probes(folder: Path) -> None:
    text = '[commands]\npython = "/opt/python"\n'

    assert "/opt/python" == load(text).powers().python


def test_nothing_said_is_the_default(folder: Path) -> None:
    for text in ("# nothing\n", "[limits]\n[plugins]\nverifiers = []\n"):
        config = load(text)
        assert {field: getattr(Config(), field) for field in Config.__struct_fields__[:-1]} == {
            field: getattr(config, field) for field in Config.__struct_fields__[:-1]
        }


def test_all_faults_come_at_once_in_the_order_of_the_file(folder: Path) -> None:
    assert [
        "1:1 service is not a setting",
        "4:7 services.tone.url must be https, or allow_http must be true",
        "5:1 services.tone.timeout is not a setting",
        '6:25 services.tone.headers.Authorization must be "env:" and the name of a variable',
        '9:8 embedders.e.kind must be "endpoint", "python" or "sentence-transformers"',
        '12:5 predicates.p must be "package.module:name"',
        "15:13 limits.max_depth must be integer, 1 to 128",
        "16:1 limits.max_byte is not a setting",
    ] == faults(
        "service = 1\n\n"
        "[services.tone]\n"
        'url = "http://tone.example/"\n'
        "timeout = 3\n"
        'headers.Authorization = "Bearer 1234"\n'
        "\n[embedders.e]\n"
        'kind = "endpiont"\n'
        "\n[predicates]\n"
        'p = "house"\n'
        "\n[limits]\n"
        "max_depth = 129\n"
        "max_byte = 1\n"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("services = 3", "1:12 services must be object"),
        ("[services]\nx = 3", "2:5 services.x must be object"),
        ("[services.x]", "1:1 services.x.url is required"),
        ('[services.x]\nurl = "ftp://x/"', "2:7 services.x.url must be http or https URL without user name and fragment"),
        ('[services.x]\nurl = "https://a:b@x/"', "2:7 services.x.url must be http or https URL without user name and fragment"),
        ('[services.x]\nurl = "https://x/#f"', "2:7 services.x.url must be http or https URL without user name and fragment"),
        ('[services.x]\nurl = "https://x/"\ntimeout_s = 0', "3:13 services.x.timeout_s must be number of seconds, 0.001 to 600"),
        ('[services.x]\nurl = "https://x/"\ntimeout_s = true', "3:13 services.x.timeout_s must be number of seconds, 0.001 to 600"),
        ('[services.x]\nurl = "https://x/"\nmax_bytes = 65537', "3:13 services.x.max_bytes must be integer, 1 to 65536"),
        ('[services.x]\nurl = "https://x/"\nallow_http = 1', "3:14 services.x.allow_http must be boolean"),
        ('[services.x]\nurl = "https://x/"\nheaders = []', "3:11 services.x.headers must be object"),
        ('[services.x]\nurl = "https://x/"\nheaders = {A = 1}', "3:16 services.x.headers.A must be text of printable ASCII characters"),
        ('[services.x]\nurl = "https://x/"\nheaders = {A = "a\\nb: c"}', "3:16 services.x.headers.A must be text of printable ASCII characters"),
        ('[services.x]\nurl = "https://x/"\nheaders = {A = "env:1"}', '3:16 services.x.headers.A must be "env:" and the name of a variable'),
        ('[services.x]\nurl = "https://x/"\nheaders = {X-Api-Key = "abc"}', '3:24 services.x.headers.X-Api-Key must be "env:" and the name of a variable'),
        ('[services.x]\nurl = "https://x/"\nheaders = {"A B" = "a"}', "3:20 services.x.headers.A B is not the name of a header"),
        ('[services.x]\nurl = "https://x/"\nheaders = {Host = "a"}', "3:11 services.x.headers must not have Host, which every message has or none"),
        ('[services.""]\nurl = "https://x/"', "1:1 services. must be non-empty text"),
        ('[embedders.x]\nurl = "https://x/"', '1:1 embedders.x.kind must be "endpoint", "python" or "sentence-transformers"'),
        ('[embedders.x]\nkind = "endpoint"\nurl = "https://x/"', "1:1 embedders.x.model is required"),
        ('[embedders.x]\nkind = "endpoint"\nmodel = "m"\nurl = "http://x/"', "4:7 embedders.x.url must be https, or allow_http must be true"),
        ('[embedders.x]\nkind = "endpoint"\nmodel = "m"\nurl = "https://x/?a=b"', "4:7 embedders.x.url must not have a query"),
        ('[embedders.x]\nkind = "endpoint"\nmodel = "m"\nurl = "https://x/"\nkey = "sk-1"', '5:7 embedders.x.key must be "env:" and the name of a variable'),
        ('[embedders.x]\nkind = "python"\nfunction = "a.b"', '3:12 embedders.x.function must be "package.module:name"'),
        ('[embedders.x]\nkind = "python"\nfunction = "a:b"\nmodel = "m"', "4:1 embedders.x.model is not a setting"),
        ('[embedders.x]\nkind = "sentence-transformers"', "1:1 embedders.x.folder is required"),
        ("[predicates]\np = 1", '2:5 predicates.p must be "package.module:name"'),
        ('plugins = "x"', "1:11 plugins must be object"),
        ('[plugins]\nverifiers = "x"', "2:13 plugins.verifiers must be array of names of installed plug-ins"),
        ('[plugins]\nverifiers = ["x", "y", "x"]', '2:24 "x" is named twice in plugins.verifiers'),
        ('[plugins]\nmodules = ["x"]', '2:11 plugins.modules must be array of "package.module:name"'),
        ("[plugins]\nx = []", "2:1 plugins.x is not a setting"),
        ("commands = 3", "1:12 commands must be object"),
        ('[commands]\nmin_isolation = "L0"', '2:17 commands.min_isolation must be "L1", "L2" or "L3"'),
        ('[commands]\nreadable = "x"', "2:12 commands.readable must be array of paths"),
        ('[commands]\nreadable = [""]', "2:12 commands.readable must be array of paths"),
        ('[commands]\npass_env = ["A=B"]', "2:12 commands.pass_env must be array of names of variables"),
        ("[commands]\npython = 3", "2:10 commands.python must be path"),
        ("[commands]\nprocesses = 0", "2:13 commands.processes must be integer, 1 to 1048576"),
        ("[commands]\ntimeout_s = 3", "2:1 commands.timeout_s is not a setting"),
        ("[limits]\nmax_bytes = 0", "2:13 limits.max_bytes must be integer, 1 to 1073741824"),
        ("[limits]\nmax_bytes = 1.5", "2:13 limits.max_bytes must be integer, 1 to 1073741824"),
        ("[limits]\nlast_key_wins = true", "2:1 limits.last_key_wins is not a setting"),
        ("[limits]\nmax_image_pixels = 0", "2:20 limits.max_image_pixels must be integer, 1 to 1000000000"),
    ],
)  # fmt: skip
def test_fault_has_its_place(folder: Path, text: str, fault: str) -> None:
    assert [fault] == faults(text)


def test_misspelt_name_carries_what_would_be_right(folder: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load("[limits]\nmax_dept = 3\n")

    assert ("max_dept", True) == (
        caught.value.faults[0].got,
        "max_depth" in caught.value.faults[0].known,
    )
    assert "signoff.toml:2:1: limits.max_dept is not a setting" == str(caught.value)


@pytest.mark.parametrize("secret", ["sk-very-secret", "Bearer sk-very-secret"])
def test_secret_in_the_file_is_refused_and_not_repeated(folder: Path, secret: str) -> None:
    text = (
        f'[services.x]\nurl = "https://u:{secret.replace(" ", "")}@x/"\n'
        f'headers = {{Cookie = "{secret}", X-Auth-Token = "{secret}", Api-Key = "{secret}"}}\n'
        f'[embedders.y]\nkind = "endpoint"\nurl = "https://x/"\nmodel = "m"\nkey = "{secret}"\n'
    )

    told = faults(text)
    assert 5 == len(told)
    assert "secret" not in "".join(told)


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2", "x = 2024-01-01", "\ufeffx = 1"])
def test_what_is_no_toml_is_refused(folder: Path, text: str) -> None:
    with pytest.raises(DocumentError, match=r"^signoff\.toml:\d+:\d+: "):
        load(text)


def test_file_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(DocumentError, match=r"^signoff\.toml: no such file$"):
        load_config()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_examples_can_be_used(path: Path) -> None:
    assert Config() != load_config(path)


@pytest.mark.parametrize(
    "fields",
    [TABLES, SERVICE, PLUGINS, COMMANDS, LIMITS, *(fields for fields, _ in EMBEDDERS.values())],
)
def test_every_setting_is_documented(fields: dict[str, object]) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    tables = " ".join(line for line in page.splitlines() if line.startswith("| "))

    assert [] == [
        name for name in fields if f"`{name}`" not in tables and f"`[{name}" not in tables
    ]


NAMES = st.sampled_from(
    [
        *TABLES,
        *SERVICE,
        *PLUGINS,
        *LIMITS,
        "kind",
        "function",
        "folder",
        "model",
        "key",
        "x",
        "é",
        "",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["", "endpoint", "python", "a:b", "env:A", "https://x/", "http://[", "x" * 5000]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        members = (
            f"{json.dumps(name)} = {as_toml(one)}" for name, one in value.items() if one is not None
        )
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(one) for one in value if one is not None) + "]"
    return json.dumps(value)


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_no_configuration_does_harm(tables: dict[str, object]) -> None:
    lines = [
        f"{json.dumps(name)} = {as_toml(value)}"
        for name, value in tables.items()
        if value is not None
    ]
    with TemporaryDirectory() as name:
        path = Path(name, "signoff.toml")
        path.write_text("\n".join(["# any", *lines]), "utf-8")
        faults = faults_in(path)

    assert all(fault.line > 0 for fault in faults)
    assert {name for name, value in tables.items() if value is not None} - {*TABLES} <= {
        fault.got for fault in faults
    }


def faults_in(path: Path) -> tuple[Fault, ...]:
    try:
        load_config(path)
    except ConfigError as exc:
        return exc.faults
    return ()


# -- the registry of a configuration --


def test_nothing_is_imported_before_there_is_a_registry(folder: Path) -> None:
    (folder / "house.py").write_text("raise SystemError('it ran')")
    config = load(WHOLE.replace('"greeting"', ""))

    with pytest.raises(PluginError, match=r"^signoff\.toml:30:12: house:greets cannot be imported"):
        config.registry(STDLIB)


def test_registry_has_what_is_configured(folder: Path) -> None:
    config = load(WHOLE.replace('"greeting"', ""))
    store = MemoryStore()
    registry = config.registry(STDLIB, workspace=folder / "work", store=store)
    powers = registry.powers

    assert {*STDLIB.ids(), "greets"} == {*registry.ids()}
    assert (folder / "work", store) == (powers.workspace, powers.store)
    assert config.services == powers.services
    assert [[1.0, 0.0]] == powers.embedders["mine"](["a"])
    assert powers.predicates["agrees"](1, {})
    assert (1_000_000, 100_000) == (powers.max_image_pixels, powers.max_image_bytes)


def test_nothing_configured_gives_no_powers() -> None:
    assert Powers() == Config().registry(STDLIB).powers
    assert STDLIB.ids() == Config().registry(STDLIB).ids()


def test_predicate_decides(folder: Path) -> None:
    config = load('[predicates]\nagrees = "house:agrees"')
    contract = {
        "id": "c",
        "criteria": [{"id": "a", "verifier": "response_shape", "params": {"predicate": "agrees"}}],
    }

    report = verify(contract, {}, registry=config.registry(STDLIB))
    assert 'Predicate "agrees" passed.' == report.result("a").finding.detail


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[predicates]\np = "house:number"', "signoff.toml:2:5: house:number is of type int, expected a function"),
        ('[predicates]\np = "house:nothing"', 'signoff.toml:2:5: house:nothing: no "nothing" in '),
        ('[embedders.e]\nkind = "python"\nfunction = "house:number"', "signoff.toml:3:12: house:number is of type int"),
        ('[plugins]\nverifiers = ["never-installed"]', "signoff.toml:2:14: never-installed is no installed plug-in"),
        ('[plugins]\nmodules = ["house:both", "house:greets"]', 'verifier "greets" comes twice: from house (signoff.toml:2:12'),
    ],
)  # fmt: skip
def test_what_cannot_be_used_says_where_it_was_named(folder: Path, text: str, says: str) -> None:
    with pytest.raises(PluginError) as caught:
        load(text).registry(STDLIB)

    assert str(caught.value).startswith(says)


def test_functions_of_the_workspace_are_not_imported(folder: Path) -> None:
    for text in (
        '[predicates]\np = "house:agrees"',
        '[plugins]\nmodules = ["house:greets"]',
        '[embedders.e]\nkind = "python"\nfunction = "house:vectors"',
    ):
        with pytest.raises(PluginError, match="lies in the workspace"):
            load(text).registry(STDLIB, workspace=folder)


def test_what_is_named_twice_counts_once(folder: Path) -> None:
    config = load('[plugins]\nmodules = ["house:greets"]')

    again = config.with_named(modules=(Reference(name="house:greets", said="--with"),))

    assert config.modules == again.modules
    assert ("greets",) == again.registry(Registry()).ids()


def test_output_is_read_by_the_limits(folder: Path) -> None:
    limits = load("[limits]\nmax_depth = 2").limits

    assert Subject.from_json("[[[]]]", limits=limits).output_fault is not None
    assert Subject.from_json("[[]]", limits=limits).output_fault is None
