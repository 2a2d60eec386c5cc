"""
Verifiers from functions of another shape: ``(output, params) -> {"pass", "details"}``.

The functions may be sync or async.  They are not trusted to be careful: what
they return is checked to the letter, and the engine looks whether they changed
the output.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from signoff.jsonvalue import shown
from signoff.model import Finding, Subject, failed, passed
from signoff.registry import Check, Verifier

__all__ = ["from_function"]

Function = Callable[[Any, dict[str, Any]], Any]


def from_function(id: str, description: str, fn: Function, *, source: str = "") -> Verifier:
    """
    A verifier that asks a function of the seeds' shape.

    The function gets the whole output and the criterion's params (``{}`` when there
    are none), any params at all, and returns a mapping with ``pass``, a boolean, and
    optionally ``details``, a text.  Anything else is an error, never a pass.  An
    async function runs in an event loop of its own.

    Args:
        id: What criteria call it.
        description: What holds when it passes.
        fn: The function.
        source: Name and version of what provides it; the function's module when empty.

    Source: OpenSpec, "Verifiers".
    """

    def factory(params: dict[str, Any]) -> Check:
        def check(subject: Subject) -> Finding:
            answer = fn(subject.value(), copy.deepcopy(params))
            return _finding(_awaited(answer) if inspect.isawaitable(answer) else answer)

        return check

    return Verifier(
        id=id,
        factory=factory,
        description=description,
        source=source or getattr(fn, "__module__", "") or "",
        free_params=True,
    )


def _finding(answer: object) -> Finding:
    if not isinstance(answer, Mapping):
        raise TypeError(f"expected an object with pass and details, got {type(answer).__name__}")
    holds, details = answer.get("pass"), answer.get("details")
    if type(holds) is not bool:
        raise TypeError(f"pass must be boolean, got {shown(repr(holds))}")
    if details is not None and type(details) is not str:
        raise TypeError(f"details must be string, got {type(details).__name__}")
    return passed(details or "Passed.") if holds else failed(details or "Did not pass.", at="")


def _awaited(answer: Awaitable[object]) -> object:
    """What an awaitable gives, run in a loop of its own on a thread of its own."""
    import asyncio  # slow to import, and only async functions need it
    from concurrent.futures import ThreadPoolExecutor  # likewise

    async def wait() -> object:
        return await answer

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, wait()).result()
