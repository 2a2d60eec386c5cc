"""What may be a command, and that nothing else ever is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from signoff.forge import (
    ContractSpec,
    PytestVerifier,
    VerificationStatus,
    VerifierRegistry,
    verify_task_result,
)

TOUCH = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('x')"


@pytest.mark.parametrize("argv", [[], (), None])
def test_row_14_no_argv_is_skipped_and_starts_nothing(argv: Any) -> None:
    found = PytestVerifier(argv).verify({}, {})

    assert (VerificationStatus.SKIPPED, "no argv configured") == (found.status, found.summary)
    assert {} == found.evidence


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        ("pytest -q", TypeError),
        (b"pytest", TypeError),
        (3, TypeError),
        (["pytest", 3], ValueError),
        (["pytest", None], ValueError),
        ([b"pytest"], ValueError),
        (["pytest", "a\0b"], ValueError),
        ([""], ValueError),
    ],
)
def test_row_14_what_cannot_be_a_command_is_refused(argv: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        PytestVerifier(argv)


@pytest.mark.parametrize("env", [{"A=B": "x"}, {"": "x"}, {"A": "x\0"}, {"A": 1}, {1: "x"}])
def test_row_14_what_cannot_be_variables_is_refused(env: Any) -> None:
    with pytest.raises(ValueError, match=r"^env "):
        PytestVerifier(["true"], env=env)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": -1.0},
        {"timeout": float("nan")},
        {"max_output_bytes": -1},
        {"isolation": "L0"},
    ],
)
def test_row_14_limits_that_are_none_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match=r"must|negative"):
        PytestVerifier(["true"], **options)


@pytest.mark.parametrize("name", ["required_tests", "protected_paths"])
@pytest.mark.parametrize("value", ["tests", 3, [1]])
def test_row_14_lists_of_texts_are_lists_of_texts(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=name):
        PytestVerifier(["true"], **{name: value})


@pytest.mark.parametrize("options", [{"required_tests": ["a"]}, {"max_skipped": 0}], ids=str)
def test_row_19_a_program_without_a_report_has_no_tests_to_demand(options: Any) -> None:
    found = PytestVerifier([sys.executable, "-c", ""], **options).verify({}, {})

    assert (VerificationStatus.FAIL, "no_report") == (found.status, found.evidence["failure_class"])


def test_row_22_a_protected_path_that_is_no_file_starts_nothing(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", TOUCH, str(tmp_path / "ran")]
    found = PytestVerifier(argv, cwd=tmp_path, protected_paths=(".",)).verify({}, {})

    assert "tampered" == found.evidence["failure_class"]
    assert [] == [*tmp_path.iterdir()]


def test_row_14_text_for_a_shell_is_one_argument(tmp_path: Path) -> None:
    program = "import json, sys; print(json.dumps(sys.argv[1:]))"
    argv = [sys.executable, "-c", program, "; touch x", "$(touch y)", "*"]
    found = PytestVerifier(argv, cwd=tmp_path).verify({}, {})

    assert '["; touch x", "$(touch y)", "*"]\n' == found.evidence["stdout"]
    assert [] == [*tmp_path.iterdir()]


def test_row_14_paths_are_arguments_too(tmp_path: Path) -> None:
    found = PytestVerifier([Path(sys.executable), "-c", ""], cwd=tmp_path).verify({}, {})

    assert VerificationStatus.PASS is found.status


def test_row_15_argv_from_anywhere_else_is_never_run(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", TOUCH, str(tmp_path / "ran")]
    registry = VerifierRegistry()
    registry.register("pytest.subprocess", PytestVerifier())
    spec = ContractSpec(
        "t",
        verification_policy={"verifier_ids": ["pytest.subprocess"], "argv": argv},
        execution_policy={"argv": argv},
    )
    asked = {"argv": argv}
    (found,) = verify_task_result(spec, asked, asked, context=asked, registry=registry)

    assert VerificationStatus.SKIPPED is found.status
    assert [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("argv", "cwd", "failure"),
    [
        (["no-such-program-anywhere"], ".", "command_not_found"),
        (["./no-such-program"], ".", "command_not_found"),
        (["{folder}"], ".", "permission_denied"),
        (["{folder}/plain"], ".", "permission_denied"),
        ([sys.executable, "-c", ""], "gone", "cwd_missing"),
        ([sys.executable, "-c", ""], "plain", "cwd_missing"),
    ],
)
def test_row_16_what_cannot_start_fails_with_its_class(
    argv: list[str], cwd: str, failure: str, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("no program\n")
    argv = [item.format(folder=tmp_path) for item in argv]
    found = PytestVerifier(argv, cwd=tmp_path / cwd).verify({}, {})

    assert (VerificationStatus.FAIL, failure) == (found.status, found.evidence["failure_class"])
    assert "Traceback" not in str(found)
