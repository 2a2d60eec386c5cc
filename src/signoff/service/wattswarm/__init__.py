"""The runtime that a WattSwarm node calls: a verifier, and a proposer where it has an executor."""

from __future__ import annotations
