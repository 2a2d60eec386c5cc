"""
An executor that is a program: it adds the numbers of a prompt, and says how it checked itself.

    signoff serve --wattswarm --executor 'cmd:python3 agent.py'

The request stands as JSON on standard input, the reply goes to standard output, and
what it says to people goes to standard error.  An exit code other than 0 is a failure.
"""

from __future__ import annotations

import json
import re
import sys
from decimal import Decimal
from fractions import Fraction

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def main() -> None:
    request = json.load(sys.stdin)
    words = NUMBER.findall(str(request["inputs"]["prompt"]))
    if not words:
        sys.exit("the prompt has no numbers in it")
    total = sum(map(Decimal, words), Decimal())
    if Fraction(total) != sum(map(Fraction, reversed(words)), Fraction()):
        sys.exit("the two sums differ")
    print(f"added {len(words)} numbers", file=sys.stderr)
    reply = {
        "output": {
            "answer": str(total),
            "check_summary": f"{len(words)} numbers, added forwards and backwards: equal sums",
        },
        "evidence": [
            {"mime": "text/csv", "name": "numbers.csv", "content": "\n".join(["number", *words])}
        ],
    }
    print(json.dumps(reply))


if __name__ == "__main__":
    main()
