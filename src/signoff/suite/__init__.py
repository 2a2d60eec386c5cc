"""
Runs of test suites: what is demanded of one, and what its report comes to.

An exit code alone proves nothing: a run that is skipped, deselected or ended early
has a good one too.  So the report decides, and must agree with the exit code.
"""

from __future__ import annotations

from signoff.suite.failure import Failure
from signoff.suite.judging import (
    ENDINGS,
    Canaries,
    Demands,
    Problem,
    finding_of,
    problem_of,
    summary,
)

__all__ = [
    "ENDINGS",
    "Canaries",
    "Demands",
    "Failure",
    "Problem",
    "finding_of",
    "problem_of",
    "summary",
]
