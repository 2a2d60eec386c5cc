"""
One connection: requests in order, each answered before the next.

``_state`` says what the connection does about what was received; ``Incoming`` says
where the client is.  Time limits are kept by a sweep over all connections.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from enum import IntEnum
from functools import partial
from time import monotonic
from typing import Final, cast

from signoff.service.head import Head
from signoff.service.incoming import Incoming, Receiving
from signoff.service.message import Request, Response
from signoff.service.outgoing import Outgoing
from signoff.service.problem import busy
from signoff.service.reply import CONTINUE
from signoff.service.routing import unknown
from signoff.service.shared import Shared
from signoff.service.stream import StreamBody
from signoff.service.streaming import StreamExchange

__all__ = ["Connection"]

# How long a closing connection takes in what the client still sends, so that the client
# gets to read the last reply: closed at once, the system would throw that away.
LINGER_S: Final = 2.0


class _State(IntEnum):
    QUIET = 0  # nothing is owed
    BUSY = 1  # an answer is being made
    BLOCKED = 2  # the client has yet to take a reply
    CLOSING = 3  # nothing is answered any more


# As numbers, because an enum's member is looked up anew each time.
QUIET, BUSY, BLOCKED, CLOSING = (int(state) for state in _State)


class Connection(asyncio.Protocol):
    """One client."""

    __slots__ = (
        "_body",
        "_closing_since",
        "_gone",
        "_half_closed",
        "_incoming",
        "_outgoing",
        "_owes_leave",
        "_paused",
        "_peer",
        "_pending",
        "_shared",
        "_since",
        "_state",
        "_transport",
    )

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._incoming = Incoming(shared, self)
        self._pending: deque[tuple[Head, bytes | StreamBody | None]] = deque()
        self._state: int = QUIET
        self._paused = self._gone = self._half_closed = False
        self._owes_leave = False
        self._body: StreamBody | None = None
        self._since = self._closing_since = 0.0
        self._peer = ""

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._outgoing = Outgoing(self._transport)
        self._since = monotonic()
        name = transport.get_extra_info("peername")
        self._peer = str(name[0]) if isinstance(name, tuple) and name else ""
        self._shared.opened(self)

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        incoming = self._incoming
        if not (incoming.receiving or self._state):
            end = data.find(b"\r\n\r\n") + 4
            head = self._shared.heads.get(data[:end])
            if head is not None and len(data) == end + head.length:
                self._answer(head, data[end:])
                return
        if not incoming.deaf:
            incoming.feed(data)
            self.regulate()
        elif self._state == CLOSING:
            self._since = monotonic()

    def eof_received(self) -> bool:
        """Know that the client sends no more; it still gets what it asked for."""
        self._half_closed = True
        self._incoming.lose()
        if self._state in {BUSY, BLOCKED} or self._pending:
            return True
        self._close()
        return False

    def connection_lost(self, _: Exception | None) -> None:
        """Know that the connection is no more; handlers run on."""
        self._gone = True
        self._state = CLOSING
        self._pending.clear()
        self._incoming.lose()
        self._shared.closed(self)
        self._outgoing.lose()

    def pause_writing(self) -> None:
        """Hold back: the client does not take what was sent."""
        self._outgoing.block()
        if self._state == QUIET:
            self._state = BLOCKED
        self.regulate()

    def resume_writing(self) -> None:
        """Go on: the client has kept up."""
        self._outgoing.unblock()
        if self._state == BLOCKED:
            self._state = QUIET
            self._go_on()
        else:
            self.regulate()

    # What the incoming side calls.

    def on_request(self, head: Head, body: bytes) -> None:
        """Answer a request, or have it wait for its turn."""
        if self._state or self._pending:
            self._pending.append((head, body))
        else:
            self._answer(head, body)

    def on_stream(self, head: Head, body: StreamBody) -> None:
        """Answer a request while its body comes, or have it wait for its turn."""
        body.on_room = self.regulate
        self._body = body
        if self._state or self._pending:
            self._pending.append((head, body))
        else:
            self._answer_stream(head, body)

    def on_refusal(self, head: Head) -> None:
        """Refuse a request when its turn has come."""
        if self._state or self._pending:
            self._pending.append((head, None))
        else:
            self._refuse(head)

    def on_wait(self) -> None:
        """Give leave to send a body, when all requests before it are answered."""
        if self._state or self._pending:
            self._owes_leave = True
        else:
            self._transport.write(CONTINUE)

    # What the sweep and the end of the server call.

    def sweep(self, now: float) -> None:
        """Keep the time limits."""
        watched = self._state == CLOSING or self._outgoing.blocked
        if watched and self._outgoing.stuck(now, self._shared.settings.write_timeout_s):
            self._transport.abort()
        elif self._state == CLOSING:
            self._sweep_closing(now)
        elif not (self._paused or self._outgoing.blocked):
            self._sweep_incoming(now)

    def drain(self) -> None:
        """Close if no request is under way."""
        if not (self._state or self._pending or self._incoming.receiving):
            self._close()

    def abort(self) -> None:
        """Cut the connection."""
        self._state = CLOSING
        self._outgoing.cut()

    # What a stream calls.

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._outgoing.send(data)

    async def drained(self) -> None:
        """Return when the client has kept up."""
        await self._outgoing.drained()

    def released(self, *, reusable: bool) -> None:
        """Be done with an answer that took its time."""
        self._body = None
        if self._state != BUSY:
            return
        self._state = BLOCKED if self._outgoing.blocked else QUIET
        self._since = monotonic()
        if reusable:
            self._go_on()
        else:
            self._end()

    def regulate(self) -> None:
        """Stop or go on reading, as there is room for more."""
        full = self._body is not None and self._body.full
        pause = (self._outgoing.blocked or bool(self._pending) or full) and self._state != CLOSING
        if pause == self._paused or self._gone:
            return
        self._paused = pause
        if pause:
            self._transport.pause_reading()
        else:
            self._incoming.since = self._since = monotonic()
            self._transport.resume_reading()

    def reply(self, head: Head, request: Request, response: Response, began: float) -> None:
        """Send a reply, and end the connection if it is the last."""
        shared = self._shared
        now = monotonic()
        last = not head.keep_alive or shared.draining
        route = head.route
        label = unknown(head.path) if route is None else route.label
        if self._gone:
            request.notes["client"] = "gone"
        else:
            start = shared.reply_heads.of(response, request.id, now, close=last)
            self._outgoing.send_reply(start, b"" if head.method == "HEAD" else response.body)
        shared.note(
            (now, request.id, head.method, label, response.status, now - began, request.notes)
        )
        self._since = now
        if self._state == BUSY:
            self.released(reusable=not last)
        elif last:
            self._end()

    def _answer(self, head: Head, body: bytes) -> None:
        began = monotonic()
        request = self._request(head, body)
        assert head.route is not None
        try:
            answer = head.route.handler(request)
        except BaseException as exc:  # noqa: BLE001 a handler may raise anything, even to panic
            answer = self._shared.failed(exc, request)
        if isinstance(answer, Response):
            self.reply(head, request, answer, began)
            return
        work = partial(self._finish, head, request, answer, began)
        self._enter(head, request, work, partial(_dispose, answer), began)

    def _answer_stream(self, head: Head, body: StreamBody) -> None:
        request = self._request(head, b"")
        exchange = StreamExchange(self._shared, self, head, request, body)
        if not self._enter(head, request, exchange.run, _nothing, monotonic()):
            self._body = None

    def _refuse(self, head: Head) -> None:
        began = monotonic()
        if head.refusal is None:  # refused before, and now there is no more to say
            self._end()
            return
        request = self._request(head, b"")
        self.reply(head, request, self._shared.failed(head.refusal, request), began)

    def _enter(
        self,
        head: Head,
        request: Request,
        work: Callable[[], Awaitable[None]],
        drop: Callable[[], None],
        began: float,
    ) -> bool:
        """Have an answer made that takes its time; False where there is no room for it."""
        shared = self._shared
        self._state = BUSY
        if shared.crowd.enter(lambda: shared.start(self._left(work)), drop):
            return True
        self._state = QUIET
        unread = self._body is not None and not self._body.complete
        refused = head.refused(None) if unread else head
        self.reply(refused, request, shared.failed(busy(), request), began)
        return False

    async def _left(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            self._shared.crowd.leave()

    async def _finish(
        self, head: Head, request: Request, answer: Awaitable[Response], began: float
    ) -> None:
        try:
            response = await answer
        except BaseException as exc:  # noqa: BLE001 a handler may raise anything, even to panic
            response = self._shared.failed(exc, request)
        self.reply(head, request, response, began)

    def _go_on(self) -> None:
        """Answer what waits, as far as the client takes it."""
        while self._pending and self._state == QUIET:
            head, body = self._pending.popleft()
            if body is None:
                self._refuse(head)
            elif isinstance(body, StreamBody):
                self._answer_stream(head, body)
            else:
                self._answer(head, body)
        if self._state == QUIET:
            if self._half_closed:
                self._close()
            elif self._owes_leave:
                self._owes_leave = False
                self._transport.write(CONTINUE)
        self.regulate()

    def _request(self, head: Head, body: bytes) -> Request:
        return Request(
            method=head.method,
            path=head.path,
            query=head.query,
            headers=head.headers,
            body=body,
            peer=self._peer,
            id=head.own_id or self._shared.next_id(),
            params=head.params,
        )

    def _end(self) -> None:
        """Send no more, and close when the client has read it."""
        if self._half_closed or self._gone:
            self._close()
            return
        self._state = CLOSING
        self._since = self._closing_since = monotonic()
        self._outgoing.watch()
        self._pending.clear()
        self._incoming.deaf = True
        self.regulate()
        if not self._transport.is_closing():
            self._transport.write_eof()

    def _close(self) -> None:
        """Close as soon as everything is sent."""
        self._state = CLOSING
        self._since = self._closing_since = monotonic()
        self._outgoing.watch()
        self._pending.clear()
        self._incoming.deaf = True
        self._transport.close()

    def _sweep_incoming(self, now: float) -> None:
        settings, incoming = self._shared.settings, self._incoming
        if incoming.receiving == Receiving.HEAD:
            if now - incoming.since > settings.head_timeout_s:
                incoming.late()
        elif incoming.receiving == Receiving.BODY:
            if self._body is not None and not self._body.wanted:
                incoming.since = now  # nobody waits for more of it yet
            elif now - incoming.since > settings.body_timeout_s:
                incoming.late()
        elif self._state == QUIET and now - self._since > settings.idle_timeout_s:
            self._close()

    def _sweep_closing(self, now: float) -> None:
        if self._outgoing.unsent():
            self._since = self._closing_since = now
        elif (
            now - self._since > LINGER_S
            or now - self._closing_since > self._shared.settings.body_timeout_s
        ):
            self._transport.abort()


def _nothing() -> None:
    """Let go of what was not begun."""


def _dispose(answer: Awaitable[Response]) -> None:
    """Let go of an answer that nobody will wait for."""
    if isinstance(answer, asyncio.Future):
        answer.cancel()
    elif isinstance(answer, Coroutine):
        answer.close()
