"""“Did you mean”: the known name that is nearest to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest"]

MAX_LENGTH = 100


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that ``name`` was probably meant to be, ``""`` when none is near."""
    import difflib  # slow to import, and needed only once something is wrong

    if len(name) > MAX_LENGTH:
        return ""
    folded = {one.lower().replace("-", "_"): one for one in known}
    wanted = name.lower().replace("-", "_")
    found = difflib.get_close_matches(wanted, folded, n=1, cutoff=0.6)
    if not found:
        # "count" for "count_between": too short to be near, and still no mystery.
        found = [one for one in folded if len(wanted) > 2 and one.startswith(wanted)][:1]
    return folded[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What follows a message about a wrong name: a question, or nothing."""
    found = nearest(name, known)
    return f'; did you mean "{found}"?' if found else ""
