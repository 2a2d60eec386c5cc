"""Commands are split without a shell, denied by name, and the gate commands are known."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.dialects.scc.argv import arguments, split
from signoff.dialects.scc.policy import CommandPolicy, Gate, gate_of
from signoff.errors import CommandDenied
from tests.dialects.scc.vectors import cases


@pytest.mark.parametrize("case", cases("commands.json"))
def test_command_vector_holds(case: dict[str, Any]) -> None:
    values = case.get("values", {})
    if case["expect"].get("denied"):
        with pytest.raises(CommandDenied):
            arguments(case["command"], values)
        return

    assert tuple(case["expect"]["argv"]) == arguments(case["command"], values)


@pytest.mark.parametrize("case", cases("policy.json"))
def test_policy_vector_holds(case: dict[str, Any]) -> None:
    policy = CommandPolicy(allow=tuple(case.get("allow", ())), deny=tuple(case.get("deny", ())))
    denial = policy.denial(case["argv"])

    assert case["expect"]["denied"] is (denial is not None), denial


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1))
def test_quoted_words_come_back_whatever_is_in_them(words: list[str]) -> None:
    words[0] += "x"

    assert tuple(words) == split(shlex.join(words))


@given(st.text(max_size=40))
def test_any_text_is_split_or_denied(text: str) -> None:
    try:
        words = split(text)
    except CommandDenied:
        return

    assert words
    assert words[0]


@given(value=st.text(max_size=20))
def test_a_placeholder_never_adds_an_argument(value: str) -> None:
    assert ("x", f"a{value}b", "y") == arguments("x a%TASK_CODE%b y", {"TASK_CODE": value})


WORDS = ["env", "-i", "-u", "A=1", "nice", "-n", "5", "-5", "timeout", "-k", "xargs", "-I", "--",
         "-", "git", "-C", "-c", "alias.x=push", "push", "sh", "-o", "-c", "rm", "-rf", "x", ""]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
def test_every_list_of_arguments_is_judged(argv: list[str]) -> None:
    denial = CommandPolicy().denial(argv)

    assert denial is None or denial
    assert (
        denial == CommandPolicy().denial(["env", *argv])
        or argv[0][:1] in {"-", ""}
        or "=" in argv[0]
    )


def test_a_denial_says_what_the_settings_may_allow() -> None:
    denial = CommandPolicy().denial(("env", "git", "push"))

    assert '"git push" is denied; the settings may allow "git push"' == denial


@pytest.mark.parametrize(
    ("command", "gate"),
    [
        ("python tools/ci/run_phase4_checks.py", Gate.CHECK),
        ("python3 ./tools/ci/run_phase4_checks.py", Gate.CHECK),
        ("python3.12 tools/ci/mvm-verdict.py --case basic", Gate.VERDICT),
        ("python tools/ci/mvm-verdict.py --case=basic", Gate.VERDICT),
        ("signoff scc check", Gate.CHECK),
        ("signoff scc verdict --case basic", Gate.VERDICT),
        ("python tools/ci/mvm-verdict.py", None),
        ("python tools/ci/mvm-verdict.py --case other", None),
        ("python tools/ci/run_phase4_checks.py --only x", None),
        ("python other/tools/ci/run_phase4_checks.py", None),
        ("bash tools/ci/run_phase4_checks.py", None),
        ("signoff scc run", None),
        ("signoff", None),
    ],
)
def test_only_the_exact_gate_commands_are_gates(command: str, gate: Gate | None) -> None:
    assert gate is gate_of(split(command))


def test_a_gate_command_in_another_folder_is_none() -> None:
    assert gate_of(("signoff", "scc", "check"), "sub") is None
