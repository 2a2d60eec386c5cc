"""``python -m signoff``: the same as ``signoff``."""

from __future__ import annotations

from signoff.cli import main

if __name__ == "__main__":
    main()
