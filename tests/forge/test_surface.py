"""What the module offers, what importing it does, and the example of the documentation."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from signoff import forge

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "forge"
NAMES = {
    "VerificationStatus", "VerificationResult", "verification_result_to_dict",
    "verification_results_to_jsonable", "JsonObjectVerifier", "ContractSchemaVerifier",
    "PytestVerifier", "VerifierRegistry", "default_registry", "verify_task_result",
    "load_contract_spec", "validate_contract_input", "validate_contract_output", "ContractSpec",
    "truncate_utf8_bytes",
}  # fmt: skip


def test_row_01_these_are_the_fifteen_names() -> None:
    assert 15 == len(forge.__all__)
    assert NAMES == {*forge.__all__}
    assert all(inspect.getdoc(getattr(forge, name)) for name in NAMES)


def test_row_01_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, "verify.py"], cwd=EXAMPLE, capture_output=True, check=True
    )
    payload = json.loads(done.stdout)

    assert b"" == done.stderr
    assert [("json.object", "pass"), ("contract.schema", "pass")] == [
        (one["verifier_id"], one["status"]) for one in payload
    ]


def test_row_01_the_example_is_the_documentation_s_but_for_its_imports() -> None:
    text = (EXAMPLE / "verify.py").read_text()
    lines = (
        'spec = load_contract_spec("llm_boolean_gate", "v1")',
        "results = verify_task_result(spec, input_obj, output_obj)",
        "payload = verification_results_to_jsonable(results)",
    )

    assert all(f"    {line}\n" in text for line in lines)


def test_row_01_the_command_of_the_example_runs() -> None:
    contract = "contracts/llm_boolean_gate/v1/contract.json"
    argv = ["--contract", contract, "--input", "input.json", "--output", "output.json", "--strict"]
    done = subprocess.run(
        [sys.executable, "-m", "signoff", "forge", "verify", *argv], cwd=EXAMPLE, check=False
    )

    assert 0 == done.returncode


IMPORTING = """
import sys
sys.modules["pytest"] = None
watched = []
sys.addaudithook(lambda event, args: watched.append((event, args)))
import signoff.forge
starting = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec", "os.system", "socket.__new__"}
opened = [args[0] for event, args in watched if event == "open" and args[1] in {"r", "w", "rb"}]
import threading
print(sorted({event for event, _ in watched} & starting))
print([name for name in opened if isinstance(name, str) and not name.endswith((".py", ".pyc"))])
print(threading.active_count())
from signoff.forge import *
print(default_registry().list_ids(), PytestVerifier().verify({}, {}).status)
"""


def test_example_says_elsewhere_how_contracts_are_found(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "verify.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = "no contract llm_boolean_gate/v1 in contracts: no such folder; SIGNOFF_FORGE_CONTRACTS"

    assert 1 == done.returncode
    assert said in done.stderr


def test_row_02_importing_starts_nothing_reads_nothing_and_needs_no_pytest(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert [
        "[]",
        "[]",
        "1",
        "['contract.schema', 'json.object'] skipped",
    ] == done.stdout.splitlines()


@pytest.mark.parametrize("name", ["verifier_ids", "VerificationStatus"])
def test_the_core_does_not_speak_forge(name: str) -> None:
    layers = ("engine", "plan", "guard", "contract", "model", "registry", "status")
    texts = (ROOT.joinpath("src", "signoff", f"{layer}.py").read_text() for layer in layers)

    assert not any(name in text for text in texts)
