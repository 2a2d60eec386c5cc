"""
Executors: who does the work on a request, each behind the same shape.

``choosing`` makes one from a text: a function, a program, or a model behind an
OpenAI-compatible endpoint.
"""

from __future__ import annotations

from signoff.executors.demonstration import echo
from signoff.executors.failure import (
    ExecutorFailed,
    ExecutorFault,
    ExecutorOutputInvalid,
    ExecutorTimedOut,
)
from signoff.executors.reply import PLAIN, Executed, Executor, Form, Inline, Item

__all__ = [
    "PLAIN",
    "Executed",
    "Executor",
    "ExecutorFailed",
    "ExecutorFault",
    "ExecutorOutputInvalid",
    "ExecutorTimedOut",
    "Form",
    "Inline",
    "Item",
    "echo",
]
