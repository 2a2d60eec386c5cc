"""``signoff config show``: what is in force and from where, without a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import call, wrote

CONFIG = """\
[services.tone]
url = "https://tone.example/check?k=hush"
headers = {Authorization = "env:TONE_KEY", X-Team = "hush"}

[embedders.far]
kind = "endpoint"
url = "https://vectors.example"
model = "small"
key = "env:VECTOR_KEY"

[embedders.local]
kind = "sentence-transformers"
folder = "models"

[embedders.mine]
kind = "python"
function = "nowhere:vectors"

[predicates]
agrees = "nowhere:agrees"

[plugins]
verifiers = ["never-installed"]
modules = ["nowhere:greets"]

[limits]
max_depth = 10
"""
DEFAULTS = {
    "commands.min_isolation": "L1",
    "limits.max_bytes": 67_108_864,
    "limits.max_depth": 64,
    "limits.max_digits": 1_000,
    "limits.max_image_pixels": 40_000_000,
    "limits.max_image_bytes": 16_777_216,
}


def settings(*argv: str) -> dict[str, tuple[object, str]]:
    """Value and place of each setting."""
    called = call("config", "show", "--json", *argv)
    assert (0, "") == (called.code, called.err)
    return {one["name"]: (one["value"], one["place"]) for one in called.json["settings"]}


def test_defaults_are_shown_where_nothing_is_configured(folder: Path) -> None:
    called = call("config", "show")

    assert {name: (value, "default") for name, value in DEFAULTS.items()} == settings()
    assert (0, "note: there is no configuration file; what holds then is shown\n") == (
        called.code,
        called.err,
    )
    assert "limits.max_depth         64        default\n" in called.out


def test_each_setting_has_value_and_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONE_KEY", "hush")
    monkeypatch.delenv("VECTOR_KEY", raising=False)
    wrote(folder, "signoff.toml", CONFIG)

    assert {
        "services.tone.url": ("https://tone.example/check?(hidden)", "signoff.toml:2:7"),
        "services.tone.timeout_s": (10.0, "default"),
        "services.tone.allow_http": (False, "default"),
        "services.tone.max_bytes": (65_536, "default"),
        "services.tone.headers.Authorization": ("env:TONE_KEY (set)", "signoff.toml:3:28"),
        "services.tone.headers.X-Team": ("(hidden)", "signoff.toml:3:53"),
        "embedders.far.kind": ("endpoint", "signoff.toml:6:8"),
        "embedders.far.url": ("https://vectors.example", "signoff.toml:7:7"),
        "embedders.far.model": ("small", "signoff.toml:8:9"),
        "embedders.far.key": ("env:VECTOR_KEY (not set)", "signoff.toml:9:7"),
        "embedders.far.allow_http": (False, "default"),
        "embedders.far.timeout_s": (30.0, "default"),
        "embedders.local.kind": ("sentence-transformers", "signoff.toml:12:8"),
        "embedders.local.folder": (str(folder / "models"), "signoff.toml:13:10"),
        "embedders.local.timeout_s": (120.0, "default"),
        "embedders.mine.kind": ("python", "signoff.toml:16:8"),
        "embedders.mine.function": ("nowhere:vectors", "signoff.toml:17:12"),
        "embedders.mine.timeout_s": (30.0, "default"),
        "predicates.agrees": ("nowhere:agrees", "signoff.toml:20:10"),
        "plugins.verifiers": ("never-installed", "signoff.toml:23:14"),
        "plugins.modules": ("nowhere:greets", "signoff.toml:24:12"),
        **{name: (value, "default") for name, value in DEFAULTS.items()},
        "limits.max_depth": (10, "signoff.toml:27:13"),
    } == settings()


def test_no_secret_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONE_KEY", "hush")
    monkeypatch.setenv("VECTOR_KEY", "hush")
    wrote(folder, "signoff.toml", CONFIG)

    for argv in ([], ["--json"]):
        called = call("config", "show", *argv)
        assert 0 == called.code
        assert "hush" not in called.out + called.err


def test_command_line_is_named_as_what_it_is(folder: Path) -> None:
    found = settings("--with", "a:b", "--plugin", "c")

    assert (("a:b", "--with"), ("c", "--plugin")) == (
        found["plugins.modules"],
        found["plugins.verifiers"],
    )


def test_other_file_is_shown_and_none_where_none_is_wanted(folder: Path) -> None:
    wrote(folder, "signoff.toml", "[limits]\nmax_depth = 1\n")
    (folder / "ci").mkdir()
    wrote(folder, "ci/other.toml", "[limits]\nmax_depth = 2\n")

    assert (1, "signoff.toml:2:13") == settings()["limits.max_depth"]
    assert (2, "ci/other.toml:2:13") == settings("--config", "ci/other.toml")["limits.max_depth"]
    assert (64, "default") == settings("--no-config")["limits.max_depth"]


def test_faults_have_their_places(folder: Path) -> None:
    wrote(folder, "signoff.toml", "[limits]\nmax_dept = 1\nmax_bytes = 0\n")
    called = call("config", "show")

    assert (2, "") == (called.code, called.out)
    assert (
        'signoff.toml:2:1: limits.max_dept is not a setting; did you mean "max_depth"?'
        " (/limits/max_dept)\n"
        "signoff.toml:3:13: limits.max_bytes must be integer, 1 to 1073741824 (/limits/max_bytes)\n"
        "signoff: signoff.toml cannot be used: 2 faults\n"
        "next: signoff config --help lists the settings\n"
    ) == called.err


@pytest.mark.parametrize("content", [b"a = ", b"\xff", b""])
def test_what_is_no_toml_is_an_unusable_request(folder: Path, content: bytes) -> None:
    wrote(folder, "signoff.toml", content)

    for argv in (["config", "show"], ["verify", "contract.yaml", "good.json"], ["verifiers"]):
        called = call(*argv)
        assert (2, "") == (called.code, called.out)
        assert "signoff.toml cannot be read as a configuration" in called.err


def test_file_that_leads_nowhere_is_not_passed_over(folder: Path) -> None:
    (folder / "signoff.toml").symlink_to("absent.toml")

    assert 2 == call("verify", "contract.yaml", "good.json").code
    assert 0 == call("verify", "contract.yaml", "good.json", "--no-config").code


def test_every_setting_is_in_the_help() -> None:
    from signoff import configfile

    shown = call("config", "--help").out
    names = {
        *configfile.TABLES,
        *configfile.SERVICE,
        *configfile.PLUGINS,
        *configfile.LIMITS,
        *(name for fields, _ in configfile.EMBEDDERS.values() for name in fields),
    }

    assert [] == [name for name in sorted(names) if name not in shown]
    assert all(f'kind = "{kind}"' in shown for kind in configfile.EMBEDDERS)
