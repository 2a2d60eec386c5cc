"""Tells a person's own Ctrl-C from a KeyboardInterrupt that code raised."""

from __future__ import annotations

from types import CodeType, TracebackType
from typing import Any

__all__ = ["is_from_a_person"]


def is_from_a_person(exc: BaseException) -> bool:
    """
    True for the KeyboardInterrupt that the interpreter raises on SIGINT.

    Python's own handler is written in C and leaves no frame: the exception
    surfaces between two instructions of whatever was running.  One that code
    raises surfaces at a ``raise`` statement, unless that statement is in the
    handler that the program installed for SIGINT.  A subclass is always code's.
    """
    if type(exc) is not KeyboardInterrupt:
        return False
    place = _last(exc.__traceback__)
    if place is None:
        return True
    code = place.tb_frame.f_code
    return code is _handler_code() or not _is_raise(code, place.tb_lasti)


def _last(place: TracebackType | None) -> TracebackType | None:
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place


def _handler_code() -> CodeType | None:
    """The code of the program's handler, also where it is a bound method or a partial of one."""
    import signal  # needed only once a check was interrupted

    handler: Any = signal.getsignal(signal.SIGINT)
    while hasattr(handler, "func"):
        handler = handler.func
    return getattr(getattr(handler, "__func__", handler), "__code__", None)


def _is_raise(code: CodeType, offset: int) -> bool:
    import dis  # slow to import, and needed only once a check was interrupted

    return dis.opname[code.co_code[offset]] in {"RAISE_VARARGS", "RERAISE"}
