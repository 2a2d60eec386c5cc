"""``signoff serve``: contracts and verdicts over HTTP."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from signoff.cli.choosing import Choice, choosing
from signoff.cli.commands import Command, json_option
from signoff.cli.exits import Refusal
from signoff.cli.runtime import Runtime, runtime
from signoff.cli.serving import Serving, is_every_address, listen_of, serving
from signoff.cli.terminal import Terminal
from signoff.errors import DatabaseUnusable, LedgerCorrupt, NotInstalled
from signoff.jsonvalue import shown

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff serve                        on 127.0.0.1:8787; its page is at /docs
  signoff serve --state-dir state --ledger state/ledger.sqlite3
  signoff serve --listen 0.0.0.0:8787 --token-file tokens --workers 4
"""


@click.command("serve", cls=Command, epilog=EXAMPLES)
@serving
@runtime
@choosing()
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    *,
    serving: Serving,
    runtime: Runtime,
    choice: Choice,
    as_json: bool,
) -> int:
    """
    Lock contracts and judge outputs over HTTP.

    A page at /docs says what is answered, /openapi.json the same for programs.
    Checks that start commands or read files of this machine are refused.  A line
    says when it is ready; SIGTERM and Ctrl-C let it finish what it accepted.
    The options from --provider-family to --agent-events go with --wattswarm.

    Exit codes: 0 it was told to stop, 2 it could not serve.
    """
    registry, limits = choice.registry(), choice.limits()
    ledger = _ledger_of(serving.ledger)
    options = _options_of(runtime, serving)
    with _state(serving.state_dir) as folder:
        settings = serving.settings(folder)

        def make_parts(worker: Any) -> list[Any]:
            from signoff.service.native import NativePart  # it brings asyncio

            parts: list[Any] = [
                NativePart(worker, registry=registry, folder=folder, limits=limits, ledger=ledger)
            ]
            if options is not None:
                from signoff.service.wattswarm.part import WattswarmPart  # likewise

                url = worker.settings.public_url
                parts.append(
                    WattswarmPart(
                        worker, options=options, folder=folder, public_url=url, ledger=ledger
                    )
                )
            return parts

        def ready(url: str) -> None:
            _tell(terminal, {"url": url, **_facts(runtime)}, as_json=as_json)
            _warn(terminal, runtime, serving)
            terminal.flush()

        return _served(make_parts, settings, ready)


def _options_of(runtime: Runtime, serving: Serving) -> Any:
    """What the runtime is told; None where it is not served."""
    if not runtime.wattswarm:
        return None
    if serving.public_url is None:
        _require_reachable(serving.listen)
    return runtime.options(serving.public_url)


def _require_reachable(listen: str) -> None:
    """Where it listens is a place under which others find its evidence."""
    if listen.startswith("unix:"):
        raise Refusal(
            "--wattswarm on a unix socket needs --public-url, under which evidence is found",
            next_step="name the URL of whatever passes requests on to the socket",
        )
    if is_every_address(listen_of(listen)[0]):
        raise Refusal(
            "--wattswarm on every address needs --public-url, under which evidence is found",
            next_step="name the URL by which nodes reach this machine",
        )


def _served(make_parts: Any, settings: Any, ready: Callable[[str], None]) -> int:
    from signoff.service.server import serve  # it brings asyncio
    from signoff.service.settings import CannotServe  # likewise

    try:
        return serve(make_parts, settings, ready=ready)
    except NotInstalled as exc:
        raise Refusal(str(exc)) from exc
    except (CannotServe, DatabaseUnusable, LedgerCorrupt, OSError) as exc:
        raise Refusal(str(exc), next_step="signoff serve --help shows the options") from exc


def _facts(runtime: Runtime) -> dict[str, Any]:
    """What is to be known of evidence, where it matters."""
    if not runtime.wattswarm:
        return {"wattswarm": False}
    return {
        "wattswarm": True,
        "evidence": runtime.evidence,
        "evidence_hosts": runtime.evidence_hosts,
    }


def _tell(terminal: Terminal, facts: dict[str, Any], *, as_json: bool) -> None:
    """The line that says that it is ready."""
    if as_json:
        terminal.out.json(msgspec.json.encode(facts))
    else:
        url = facts["url"]
        page = f"; its page is {url}/docs" if url.startswith("http") else ""
        evidence = ""
        if facts["wattswarm"]:
            hosts = ", ".join(map(shown, facts["evidence_hosts"])) or "no host"
            evidence = f"; WattSwarm with evidence {facts['evidence']}, fetched from {hosts}"
        terminal.err.line(f"signoff: serving on {url}{page}{evidence}")


def _warn(terminal: Terminal, runtime: Runtime, serving: Serving) -> None:
    """What an operator may not have meant."""
    if serving.insecure:
        terminal.note("--insecure: whoever reaches it may use it")
    if runtime.executor is not None and serving.state_dir is None:
        terminal.note("without --state-dir evidence is gone when the server ends")


@contextmanager
def _state(name: str | None) -> Iterator[Path]:
    """The folder for what all workers share; without a name one that is gone at the end."""
    if name is not None:
        yield _kept(name)
        return
    folder = Path(tempfile.mkdtemp(prefix="signoff-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _kept(name: str) -> Path:
    """The folder of that name, which can be written now."""
    folder = Path(name).absolute()
    fault = "made"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fault = "written"
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as exc:
        raise Refusal(
            f"--state-dir {shown(name)} cannot be {fault}: {exc.strerror}",
            next_step="give it a folder that this user may write",
        ) from exc
    return folder


def _ledger_of(place: str | None) -> Callable[[], Any] | None:
    """
    What opens the ledger, in each worker anew.

    Raises:
        Refusal: It cannot be opened now.
    """
    if place is None:
        return None
    from signoff.ledger import open_ledger  # dear at start-up

    def opened() -> Any:
        return open_ledger(place)

    try:
        opened().close()
    except (DatabaseUnusable, LedgerCorrupt, NotInstalled) as exc:
        raise Refusal(str(exc), next_step="name another place with --ledger") from exc
    return opened
