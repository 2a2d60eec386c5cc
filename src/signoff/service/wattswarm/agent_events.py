"""
``POST /agent-events``: acknowledged and noted; no action follows from any of them.

An event that is told again within a day gets the same answer, from whichever worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from signoff.dialects.wattswarm.request import AgentEvent, WrongShape, read_agent_event
from signoff.errors import JSONError
from signoff.service.executions import Executions
from signoff.service.message import Problem, Request, Response, Route

__all__ = ["agent_event_routes"]

PATIENCE_S: Final = 10.0


def agent_event_routes(
    executions: Executions, *, clock: Callable[[], float] = time.time
) -> tuple[Route, ...]:
    """
    What acknowledges events.

    Args:
        executions: Where answers are kept for those who ask again.
        clock: Seconds since 1970.
    """

    async def acknowledge(request: Request) -> Response:
        event = _read(request.body)
        request.notes["event_type"] = event.event_type

        async def answer() -> bytes:
            return msgspec.json.encode(
                {
                    "ok": True,
                    "acked_at": int(clock() * 1_000),
                    "detail": f"received {event.event_type}",
                }
            )

        answered = await executions.answer(_key(event), "", answer, patience_s=PATIENCE_S)
        request.notes["outcome"] = "repeated" if answered.again else "acknowledged"
        return Response(200, answered.body)

    return (Route(method="POST", path="/agent-events", handler=acknowledge),)


def _key(event: AgentEvent) -> tuple[str, str, str]:
    """By what an event is known to have been told before."""
    if event.dedupe_key is not None:
        return ("agent-event", "dedupe_key", event.dedupe_key)
    return ("agent-event", "event_id", event.event_id)


def _read(body: bytes) -> AgentEvent:
    try:
        return read_agent_event(body)
    except JSONError as exc:
        raise Problem(400, "bad_json", str(exc)) from exc
    except WrongShape as exc:
        raise Problem(422, "wrong_shape", str(exc), pointer=exc.pointer) from exc
