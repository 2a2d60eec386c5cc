"""``python -m signoff``: the same as ``signoff``, which imports nothing of the current folder."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # ``-m`` puts the current folder first, where the work may have left a module.
    if not sys.flags.safe_path:
        del sys.path[0]

    from signoff.cli import main

    main()
