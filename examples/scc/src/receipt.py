"""Writes receipt.txt, which the contract wants to see."""

from __future__ import annotations

from pathlib import Path

from prices import total

if __name__ == "__main__":
    due = total([1250, 399], discount_percent=10)
    Path("receipt.txt").write_text(f"{due}\n", "utf-8")
