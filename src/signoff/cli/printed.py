"""The end of what a command printed: where a person looks first when it did not do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from signoff.errors import EvidenceCorrupt, EvidenceMissing
from signoff.jsonvalue import shown
from signoff.model import Finding

__all__ = ["Reader", "printed_lines"]

Reader = Callable[[str], bytes]

STREAMS: Final = ("stdout", "stderr")
MAX_LINES: Final = 12
MAX_WIDTH: Final = 160


def printed_lines(finding: Finding, read: Reader) -> Iterator[tuple[str, str]]:
    """
    The last lines of each stream of a finding's evidence, each with the stream's name.

    Args:
        finding: What a check found.
        read: Gives the bytes of a digest; what it cannot give is left out.
    """
    for item in finding.evidence:
        if item.name not in STREAMS or not item.size:
            continue
        try:
            text = read(item.digest).decode("utf-8", "replace")
        except (EvidenceCorrupt, EvidenceMissing, OSError):
            continue
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        for line in lines[-MAX_LINES:]:
            yield item.name, shown(line, MAX_WIDTH)
