"""The forge dialect: results of its verification registry, and what they are in the core."""

from __future__ import annotations

from signoff.dialects.forge.failure import (
    CLASS_OF_CAUSE,
    FailureClass,
    Remedy,
    failure_class,
    failure_signature,
    retry_may_help,
)
from signoff.dialects.forge.policy import (
    DEFAULT_IDS,
    Chosen,
    PolicySource,
    chosen,
    contract_of,
    criterion_id,
)
from signoff.dialects.forge.result import (
    VerificationResult,
    VerificationStatus,
    verification_result_from_dict,
    verification_result_to_dict,
    verification_results_to_jsonable,
)
from signoff.dialects.forge.translation import (
    CORE_STATUS,
    FORGE_STATUS,
    RESERVED,
    acceptance_results,
    benchmark_status,
    is_verified,
    overall_status,
    to_finding,
    to_result,
    to_verdict,
)

__all__ = [
    "CLASS_OF_CAUSE",
    "CORE_STATUS",
    "DEFAULT_IDS",
    "FORGE_STATUS",
    "RESERVED",
    "Chosen",
    "FailureClass",
    "PolicySource",
    "Remedy",
    "VerificationResult",
    "VerificationStatus",
    "acceptance_results",
    "benchmark_status",
    "chosen",
    "contract_of",
    "criterion_id",
    "failure_class",
    "failure_signature",
    "is_verified",
    "overall_status",
    "retry_may_help",
    "to_finding",
    "to_result",
    "to_verdict",
    "verification_result_from_dict",
    "verification_result_to_dict",
    "verification_results_to_jsonable",
]
