"""What an operator says of the runtime, read once when the server starts."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from signoff.dialects.wattswarm.translation import EvidenceMode
from signoff.executors import Executor
from signoff.service.fetching import FetchSettings
from signoff.service.wattswarm.capabilities import Capabilities

__all__ = ["RuntimeOptions"]

TIMEOUT_S = 25.0


class RuntimeOptions(Struct, frozen=True, kw_only=True):
    """
    What the runtime is and may do.

    Args:
        capabilities: What a kernel is told.
        evidence: What becomes of evidence.
        fetch: What may be fetched.
        extra_hashes: Further hashes that the operator's network admits, by policy id.
        executor: Does the work; None where nothing is proposed.
        execute_timeout_s: What it may take.
        agent_events: Events are acknowledged.
    """

    capabilities: Capabilities = Capabilities()
    evidence: EvidenceMode = EvidenceMode.REQUIRED
    fetch: FetchSettings = FetchSettings()
    extra_hashes: Mapping[str, frozenset[str]] = {}
    executor: Executor | None = None
    execute_timeout_s: float = TIMEOUT_S
    agent_events: bool = False
