"""``serve``: listen, answer with as many workers as wanted, and end when told to."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from signoff.service.auth import check_bind
from signoff.service.listening import close_listener, listener_of, url_of
from signoff.service.metrics import Board
from signoff.service.process import MakeParts, Post, need_parser, work
from signoff.service.settings import Settings
from signoff.service.worker import Worker
from signoff.service.workers import Crew

__all__ = ["MakeParts", "Worker", "serve"]


def serve(make_parts: MakeParts, settings: Settings, *, ready: Callable[[str], None]) -> int:
    """
    Answer until SIGTERM or SIGINT, and finish what was accepted.

    Args:
        make_parts: Called in each worker, before it listens.
        settings: Where and how.
        ready: Called with the server's URL when all workers listen.

    Returns:
        The exit code: 0.

    Raises:
        CannotServe: It may not listen there, or cannot, or its workers died too often.
        NotInstalled: The extra ``service`` is absent.
    """
    check_bind(settings)
    need_parser()
    listener = listener_of(settings)
    url = url_of(listener)
    # Parts that name this server are made before it is ready, and know where it is then.
    found = settings if settings.public_url else replace(settings, public_url=url)
    post = Post(
        index=0,
        settings=found,
        listener=listener,
        board=Board(settings.workers),
        make_parts=make_parts,
    )
    try:
        if settings.workers == 1:
            work(post, lambda: ready(url))
            return 0
        return Crew(post, lambda: ready(url)).run()
    finally:
        close_listener(listener, settings)
