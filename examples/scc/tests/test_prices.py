"""What a total must be."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from prices import total


class TotalTest(unittest.TestCase):
    """Totals with and without a discount."""

    def test_prices_add_up(self) -> None:
        """Nothing is lost without a discount."""
        assert total([1250, 399]) == 1649

    def test_a_half_cent_is_rounded_up(self) -> None:
        """1649 less 10 % is 1484.1, and 5 less 10 % is 4.5."""
        assert total([1250, 399], discount_percent=10) == 1484
        assert total([5], discount_percent=10) == 5
