"""Settings are read strictly: every fault at once, with its place."""

from __future__ import annotations

import pytest

from signoff.dialects.scc.settings import Settings, read_settings
from signoff.errors import ConfigError, TextError

WHOLE = b"""
area = "platform"
min_isolation = "L2"
run_timeout_s = 60
protected = ["infra/**"]
unit_registry = "builtin"
ssot_registry = "none"
[commands]
allow = ["git push"]
deny = ["make"]
[env]
allow = ["CI"]
[vars]
RELEASE_TAG = "v1"
"""


def test_everything_that_is_known_is_read() -> None:
    found = read_settings(WHOLE)

    assert ("platform", "L2", 60) == (found.area, found.min_isolation, found.run_timeout_s)
    assert (("infra/**",), ("CI",)) == (found.protected, found.env_allow)
    assert (("git push",), ("make",)) == (found.commands.allow, found.commands.deny)
    assert {"RELEASE_TAG": "v1"} == found.variables
    assert ("builtin", "none", True) == (found.unit_registry, found.ssot_registry, found.given)


def test_an_empty_file_is_the_defaults() -> None:
    found = read_settings(b"# nothing\n")

    assert ("control_plane", "L1", 3600) == (found.area, found.min_isolation, found.run_timeout_s)
    assert found.unit_registry == Settings().unit_registry
    assert not Settings().given


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('aera = "x"', "/aera"),
        ('area = "../x"', "/area"),
        ("area = 1", "/area"),
        ('min_isolation = "L4"', "/min_isolation"),
        ("run_timeout_s = 0", "/run_timeout_s"),
        ("run_timeout_s = true", "/run_timeout_s"),
        ("run_timeout_s = 1.5", "/run_timeout_s"),
        ("run_timeout_s = 99999999", "/run_timeout_s"),
        ('protected = "x"', "/protected"),
        ('protected = ["../x"]', "/protected/0"),
        ('protected = ["[a"]', "/protected/0"),
        ('unit_registry = ""', "/unit_registry"),
        ("[commands]\nalow = []", "/commands/alow"),
        ("[commands]\nallow = [1]", "/commands/allow/0"),
        ("[env]\ndeny = []", "/env/deny"),
        ("env = 1", "/env"),
        ('[vars]\nlower = "x"', "/vars/lower"),
        ('[vars]\nTASK_CODE = "x"', "/vars/TASK_CODE"),
        ("[vars]\nAB = 1", "/vars/AB"),
    ],
)
def test_each_fault_has_its_place(text: str, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(text.encode())

    assert [where] == [fault.where for fault in caught.value.faults]
    assert caught.value.faults[0].line


def test_faults_are_told_together() -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(b"x = 1\ny = 2\narea = 3\n")

    assert ["/x", "/y", "/area"] == [fault.where for fault in caught.value.faults]


def test_what_is_no_toml_is_told_with_its_place() -> None:
    with pytest.raises(TextError, match=r"scc.toml:1:"):
        read_settings(b"area = ")
