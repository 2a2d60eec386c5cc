"""
Times signoff against its peers, in the same run: ``make bench``.

ARGS="five-judge loads" names rows, or what their names begin with; ``--quick`` and
``--json`` as they say.  docs/performance.md tells what the numbers mean.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # what lies beside this file is imported as benchmarks.*, here as in the tests
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from benchmarks.bench import main

    sys.exit(main(sys.argv[1:]))
