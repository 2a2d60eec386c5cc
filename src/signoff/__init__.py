"""
Proof before done: contracts that are locked, and verdicts that cannot pass by accident.

This module is a façade: every public name, loaded when it is first used, so that
a program pays only for what it needs.  ``__init__.pyi`` says the same to type
checkers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from signoff._version import __version__

_HOME = {
    "Engine": "engine",
    "Plan": "plan",
    "judge": "engine",
    "lock": "contract",
    "verify": "quick",
    "STDLIB": "verifiers",
    "PROBES": "probes",
    "Registry": "registry",
    "Verifier": "registry",
    "Powers": "powers",
    "Check": "registry",
    "EACH": "registry",
    "reads": "registry",
    "verifier": "registry",
    "from_function": "foreign",
    "Count": "params",
    "FieldName": "params",
    "Number": "params",
    "Pointer": "params",
    "Contract": "model",
    "Criterion": "model",
    "Evidence": "model",
    "Finding": "model",
    "LockedContract": "model",
    "Report": "model",
    "Result": "model",
    "Subject": "model",
    "ToolCall": "model",
    "Verdict": "model",
    "failed": "model",
    "held": "model",
    "inconclusive": "model",
    "passed": "model",
    "skipped": "model",
    "warned": "model",
    "Cause": "status",
    "Outcome": "status",
    "Status": "status",
    "Limits": "strictjson",
    "Command": "sandbox.command",
    "CommandSettings": "command_settings",
    "Completed": "sandbox.command",
    "Ended": "sandbox.command",
    "Sandbox": "sandbox",
    "DirectoryStore": "evidence",
    "MemoryStore": "evidence",
    "begin_run": "rundir",
    "read_run": "rundir",
    "GateReport": "gate",
    "gate_run": "gate",
    "Ledger": "ledger",
    "Note": "ledger",
    "open_ledger": "ledger",
    "parse_pointer": "jsonvalue",
    "encode_lock": "lockfile",
    "encode_report": "record",
    "load_contract": "contractfile",
    "Config": "config",
    "load_config": "configfile",
    "ConfigError": "errors",
    "ContractError": "errors",
    "DatabaseUnusable": "errors",
    "DocumentError": "errors",
    "DuplicateVerifier": "errors",
    "EvidenceCorrupt": "errors",
    "EvidenceMissing": "errors",
    "Fault": "errors",
    "JSONError": "errors",
    "LedgerCorrupt": "errors",
    "LockCorrupt": "errors",
    "NotInstalled": "errors",
    "NotJudged": "errors",
    "ParamsError": "errors",
    "PluginError": "errors",
    "RunUnreadable": "errors",
    "RunUnwritable": "errors",
    "SignoffError": "errors",
    "VerdictError": "errors",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604  a list of texts, computed


def __getattr__(name: str) -> Any:
    """A public name, from the module that defines it."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'signoff' has no attribute {name!r}")
    value = getattr(import_module(f"signoff.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
