"""
The verification registry of forge, over the core: the names of the original from one module.

A contract names verifiers by id; they run in order, one result each, and an id that
nobody knows is a failure.  Each runs as one criterion of the core engine, so whatever
it does, there is exactly one result.

Source: forge-lcdl, "Verification registry (forge_lcdl.verification)".
"""

from __future__ import annotations

from signoff.dialects.forge import (
    VerificationResult,
    VerificationStatus,
    verification_result_to_dict,
    verification_results_to_jsonable,
)
from signoff.forge.contract_files import load_contract_spec
from signoff.forge.contract_schema import (
    ContractSchemaVerifier,
    validate_contract_input,
    validate_contract_output,
)
from signoff.forge.contract_spec import ContractSpec
from signoff.forge.json_object import JsonObjectVerifier
from signoff.forge.pytest_verifier import PytestVerifier
from signoff.forge.registry import VerifierRegistry, default_registry
from signoff.forge.truncation import truncate_utf8_bytes
from signoff.forge.verification import verify_task_result

__all__ = [
    "ContractSchemaVerifier",
    "ContractSpec",
    "JsonObjectVerifier",
    "PytestVerifier",
    "VerificationResult",
    "VerificationStatus",
    "VerifierRegistry",
    "default_registry",
    "load_contract_spec",
    "truncate_utf8_bytes",
    "validate_contract_input",
    "validate_contract_output",
    "verification_result_to_dict",
    "verification_results_to_jsonable",
    "verify_task_result",
]
