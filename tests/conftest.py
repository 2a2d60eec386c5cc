"""
What every test run shares: the profiles of hypothesis.

``ci`` repeats itself exactly, ``dev`` looks somewhere else each time, ``long``
looks longer.  HYPOTHESIS_PROFILE chooses; otherwise CI decides.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.register_profile(
    "long",
    deadline=None,
    print_blob=True,
    max_examples=2000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)
