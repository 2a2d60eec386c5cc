"""Where ``signoff serve`` listens and what it keeps: the options, and the settings they make."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from signoff.cli.commands import FileName
from signoff.cli.exits import Refusal
from signoff.jsonvalue import shown

__all__ = ["Seconds", "Serving", "is_every_address", "listen_of", "serving"]

LISTEN: Final = "127.0.0.1:8787"
MAX_BODY: Final = 2 * 2**20
READ_TIMEOUT_S: Final = 10.0
MAX_PORT: Final = 65_535
MAX_TIMEOUT_S: Final = 3_600.0


class Seconds(click.FloatRange):
    """A number of seconds above 0; what is no number compares with no bound, and is none."""

    def __init__(self) -> None:
        super().__init__(0, MAX_TIMEOUT_S, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        found: float = super().convert(value, param, ctx)
        if found != found:  # noqa: PLR0124  so only of what is no number
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return found


class Serving(Struct, frozen=True, kw_only=True):
    """
    What the command line says of the server.

    Args:
        listen: ``HOST:PORT`` or ``unix:PATH``.
        workers: Processes that answer.
        public_url: How others reach it.
        state_dir: What must outlast it.
        ledger: Where verdicts are kept.
        max_body: Bytes of a body, and of a line of a batch.
        read_timeout: Seconds for a head, and once more for a body.
        token_file: File with a token in each line.
        token_env: Name of the variable with a token.
        insecure: Others may connect without a token.
        log: A line for each request.
    """

    listen: str
    workers: int
    public_url: str | None
    state_dir: str | None
    ledger: str | None
    max_body: int
    read_timeout: float
    token_file: str | None
    token_env: str | None
    insecure: bool
    log: bool

    def settings(self, folder: Path) -> Any:
        """
        The ``Settings`` of the server.

        Args:
            folder: What is used as its state directory.

        Raises:
            Refusal: An option cannot be used.
        """
        from signoff.service.settings import Settings  # only a server needs it

        host, port = listen_of(self.listen)
        return Settings(
            host=host,
            port=port,
            workers=self.workers,
            max_body=self.max_body,
            head_timeout_s=self.read_timeout,
            body_timeout_s=self.read_timeout,
            tokens=self._tokens(),
            insecure=self.insecure,
            public_url=self.public_url,
            state_dir=folder,
            log=self.log,
        )

    def _tokens(self) -> tuple[str, ...]:
        from signoff.service.auth import tokens_of_environment, tokens_of_file  # likewise
        from signoff.service.settings import CannotServe  # likewise

        tokens: tuple[str, ...] = ()
        try:
            if self.token_file is not None:
                tokens += tokens_of_file(Path(self.token_file))
            if self.token_env is not None:
                tokens += tokens_of_environment(self.token_env)
        except CannotServe as exc:
            raise Refusal(
                str(exc), next_step="give it tokens of 16 or more visible characters"
            ) from exc
        return tokens


def listen_of(text: str) -> tuple[str, int]:
    """
    Host and port of ``HOST:PORT``, ``[ADDRESS]:PORT`` or ``unix:PATH``.

    Raises:
        Refusal: It is none of these.
    """
    if text.startswith("unix:") and len(text) > len("unix:"):
        return text, 0
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    plain = host.strip("[]") if bracketed else host
    if not (colon and plain and (bracketed or ":" not in plain)):
        raise _no_address(text)
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= MAX_PORT):
        raise _no_address(text)
    return plain, int(port)


def is_every_address(host: str) -> bool:
    """It stands for all addresses of this machine, as ``0.0.0.0``, ``::`` and ``0`` do."""
    try:
        address = ip_address(host)
    except ValueError:
        return host.startswith("0") and set(host) <= set("0.x")
    return (getattr(address, "ipv4_mapped", None) or address).is_unspecified


def _no_address(text: str) -> Refusal:
    return Refusal(
        f'--listen must be HOST:PORT, [ADDRESS]:PORT or unix:PATH, got "{shown(text)}"',
        next_step=f"leave it out for {LISTEN}",
    )


def serving(function: Callable[..., int]) -> Callable[..., int]:
    """Options of a command that serves; its function gets them as ``serving``."""

    def command(*args: Any, **asked: Any) -> int:
        names = Serving.__struct_fields__
        said = Serving(**{name: asked.pop(name) for name in names})
        return function(*args, serving=said, **asked)

    chosen: Callable[..., int] = update_wrapper(command, function)
    for option in reversed(_OPTIONS):
        chosen = option(chosen)
    return chosen


_OPTIONS: Final = (
    click.option(
        "--listen",
        metavar="HOST:PORT",
        default=LISTEN,
        help=f"Where to listen; {LISTEN} when absent. Port 0 is any; unix:PATH a socket.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1, 256),
        metavar="N",
        default=1,
        help="Answer with N processes (1 when absent).",
    ),
    click.option("--public-url", metavar="URL", help="How other machines reach this server."),
    click.option(
        "--state-dir",
        type=FileName(),
        metavar="DIR",
        help="Keep contracts and what else must last there; lost at the end when absent.",
    ),
    click.option(
        "--ledger",
        type=FileName(),
        metavar="PATH|DSN",
        help="Record every verdict in a ledger: a file, or postgresql://...",
    ),
    click.option(
        "--max-body",
        type=click.IntRange(1, 2**30),
        metavar="BYTES",
        default=MAX_BODY,
        help=f"Largest body, and line of a batch ({MAX_BODY} when absent).",
    ),
    click.option(
        "--read-timeout",
        type=Seconds(),
        metavar="SECONDS",
        default=READ_TIMEOUT_S,
        help="How long a head may take, and then a body (10 when absent).",
    ),
    click.option(
        "--token-file", type=FileName(), metavar="PATH", help="Ask for one of the tokens in a file."
    ),
    click.option("--token-env", metavar="NAME", help="Ask for the token in a variable."),
    click.option(
        "--insecure",
        is_flag=True,
        help="Let other machines connect without a token.",
    ),
    click.option("--log/--no-log", default=True, help="Write a line of JSON for each request."),
)
