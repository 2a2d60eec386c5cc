"""The public API: its names, where they live, and what importing it costs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import signoff as package

# The stub says what users see; the tests look behind it.
signoff: Any = package
STUB = Path(__file__).parent.parent / "src" / "signoff" / "__init__.pyi"
NAMES = [
    "Cause",
    "Check",
    "Command",
    "CommandSettings",
    "Completed",
    "Contract",
    "Config",
    "ConfigError",
    "ContractError",
    "Count",
    "Criterion",
    "DatabaseUnusable",
    "DirectoryStore",
    "DocumentError",
    "DuplicateVerifier",
    "EACH",
    "Ended",
    "Engine",
    "Evidence",
    "EvidenceCorrupt",
    "EvidenceMissing",
    "Fault",
    "FieldName",
    "Finding",
    "GateReport",
    "JSONError",
    "Ledger",
    "LedgerCorrupt",
    "Limits",
    "LockCorrupt",
    "LockedContract",
    "MemoryStore",
    "NotInstalled",
    "NotJudged",
    "Note",
    "Number",
    "Outcome",
    "PROBES",
    "ParamsError",
    "Plan",
    "PluginError",
    "Pointer",
    "Powers",
    "Registry",
    "Report",
    "Result",
    "RunUnreadable",
    "RunUnwritable",
    "STDLIB",
    "Sandbox",
    "SignoffError",
    "Status",
    "Subject",
    "ToolCall",
    "Verdict",
    "VerdictError",
    "Verifier",
    "__version__",
    "begin_run",
    "encode_lock",
    "encode_report",
    "failed",
    "from_function",
    "gate_run",
    "held",
    "inconclusive",
    "judge",
    "load_config",
    "load_contract",
    "lock",
    "open_ledger",
    "parse_pointer",
    "passed",
    "read_run",
    "reads",
    "skipped",
    "verifier",
    "verify",
    "warned",
]


def test_these_are_the_public_names() -> None:
    assert sorted(NAMES) == sorted(signoff.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_name_is_there_and_documented(name: str) -> None:
    value = getattr(signoff, name)

    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value)


def test_types_and_runtime_know_the_same_names() -> None:
    tree = ast.parse(STUB.read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    stubbed = {alias.asname: node.module for node in imports for alias in node.names}

    assert len(imports) == len(tree.body)
    assert set(signoff.__all__) == set(stubbed)
    for name, module in stubbed.items():
        if name != "__version__":
            assert f"signoff.{signoff._HOME[str(name)]}" == module


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        signoff.nothing  # noqa: B018  # the point of the test


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'msgspec', 'click', 're2', 'jsonschema_rs', 'ruamel', 'asyncio', 'inspect'}"
    code = f"import sys, signoff; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]\n" == shown.stdout


def test_importing_a_name_brings_the_object_even_after_its_submodule() -> None:
    code = (
        "import signoff.engine, signoff.verifiers, signoff.contract, signoff\n"
        "from signoff import lock, verify, verifier, judge\n"
        "print(all(map(callable, (lock, verify, judge))), verifier.__name__)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "True verifier\n" == shown.stdout
