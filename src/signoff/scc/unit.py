"""Units, ``<Stream>.<UNIT>``: which are registered, built in or in a workspace's own registry."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["BUILTIN_UNITS", "read_units"]

_STREAMS: Final = {
    "G": "GOAL_INPUT INTAKE_ROUTING",
    "R": "CHAT_WEB CODEXCLI_RUN VSCODE_SESSION MANIFEST",
    "N": "EVENTS DEDUP BIND_TASK_ID",
    "D": "EXTRACT_GOALS TASKTREE PRIORITIZE",
    "K": "CONTRACT_DOC ACCEPTANCE SCHEMA",
    "X": "DISPATCH EXEC_CODEXCLI EXEC_VSCODE WORKSPACE_ADAPTER",
    "V": "TESTS VERDICT OID_VALIDATOR GUARD SKILL_GUARD",
    "A": "ROUTER PLANNER EXECUTOR VERIFIER AUDITOR SECRETARY FACTORY_MANAGER",
    "C": "CAPABILITY",
    "W": "WORKSPACE",
    "P": "TRIGGER REPORT DELTA",
    "S": "CANONICAL_UPDATE NAV_UPDATE ADR",
    "F": "FEEDBACK FEEDBACK_PACKAGE REINTAKE",
}

BUILTIN_UNITS: Final = frozenset(
    f"{stream}.{unit}" for stream, units in _STREAMS.items() for unit in units.split()
)

_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_ITEM: Final = re.compile(r" {0,3}- +(`?)([A-Z]\.[A-Z][A-Z0-9_]*)\1(?:\s+--(?:\s.*)?)?\s*")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


def read_units(text: str) -> frozenset[str]:
    """
    The units that a Markdown registry registers.

    Only list items that are a unit, and may say after ``--`` what it is, count, below
    the heading "Registered units" and outside of code: prose and examples register
    nothing, and neither does what stands after the dashes.
    """
    found: set[str] = set()
    level = 0  # of that heading, 0 outside of its section
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.fullmatch(line):
            depth = len(heading[1])
            if "registered units" in heading[2].lower():
                level = depth
            elif depth <= level:
                level = 0
        elif level and (item := _ITEM.fullmatch(line)):
            found.add(item[2])
    return frozenset(found)
