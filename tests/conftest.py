"""
What every test run shares: the profiles of hypothesis.

``ci`` repeats itself exactly, ``dev`` looks somewhere else each time, ``long``
looks longer.  HYPOTHESIS_PROFILE chooses; otherwise CI decides.
"""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

# A shell that starts the tests in the background has them ignore interrupts, and all that
# they start; several tests are about what an interrupt does.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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
