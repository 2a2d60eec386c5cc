"""``signoff config show``: what is in force, and from where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import click
import msgspec
from msgspec import Struct

from signoff.cli.choosing import Choice, choosing
from signoff.cli.commands import Command, json_option
from signoff.cli.exits import Exit
from signoff.cli.terminal import Terminal
from signoff.config import AnyEmbedder, Config, FunctionEmbedder
from signoff.embedder import EndpointEmbedder
from signoff.jsonvalue import (
    JSON,
    MISSING,
    is_number,
    join_pointer,
    number_text,
    parse_pointer,
    resolve,
    shown,
)
from signoff.remote_service import Service

__all__ = ["command"]

HIDDEN: Final = "(hidden)"
LIMITS: Final = ("max_bytes", "max_depth", "max_digits")
IMAGES: Final = ("max_image_pixels", "max_image_bytes")

EXAMPLES: Final = """\b
Settings of signoff.toml:
  [services.NAME]   url, timeout_s, headers, allow_http, max_bytes
  [embedders.NAME]  kind = "endpoint": url, model, key, timeout_s, allow_http
                    kind = "python": function
                    kind = "sentence-transformers": folder
  [predicates]      NAME = "package.module:function"
  [plugins]         verifiers, modules
  [commands]        min_isolation, readable, pass_env, python, memory_bytes,
                    processes, file_bytes, disk_bytes, open_files, output_bytes
  [limits]          max_bytes, max_depth, max_digits, max_image_pixels,
                    max_image_bytes

\b
Examples:
  signoff config show
  signoff config show --config ci/signoff.toml --json
"""


class Setting(Struct, frozen=True, kw_only=True):
    """
    One thing that is in force.

    Args:
        name: As the file spells it.
        value: What it is; a secret is hidden.
        place: File, line and column, an option, or ``default``.
    """

    name: str
    value: JSON
    place: str


@click.command("config", cls=Command, epilog=EXAMPLES)
@click.argument("action", metavar="show", type=click.Choice(["show"]))
@choosing()
@json_option
@click.pass_obj
def command(terminal: Terminal, /, action: str, *, choice: Choice, as_json: bool) -> int:  # noqa: ARG001  there is one
    """
    Show what is in force, and from where.

    Of each setting: its value, and whether it comes from the configuration (with
    its line), from the command line, or is a default.  Nothing that is named is
    imported or asked, and no secret is shown.

    Exit codes: 0 shown, 2 the configuration cannot be used.
    """
    config = choice.config or Config()
    settings = [*_settings(config)]
    source = config.document.source if config.document else None
    if as_json:
        document = {"file": source, "settings": settings}
        terminal.out.json(msgspec.json.format(msgspec.json.encode(document), indent=2))
        return Exit.DONE
    if source is None:
        terminal.note("there is no configuration file; what holds then is shown")
    names = max(len(one.name) for one in settings)
    values = [_text(one.value) for one in settings]
    width = min(max(map(len, values)), 60)
    for one, value in zip(settings, values, strict=True):
        place = terminal.out.paint(shown(one.place), "quiet")
        terminal.out.line(f"{one.name:<{names}}  {value:<{width}}  {place}")
    return Exit.DONE


def _text(value: JSON) -> str:
    if is_number(value):
        return number_text(value)
    return shown(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _settings(config: Config) -> Iterator[Setting]:
    for name, service in config.services.items():
        yield from _service(config, join_pointer("/services", name), service)
    for name, embedder in config.embedders.items():
        yield from _embedder(config, join_pointer("/embedders", name), embedder)
    for name, reference in config.predicates.items():
        yield _setting(config, join_pointer("/predicates", name), reference.name)
    for table, references in (("verifiers", config.plugins), ("modules", config.modules)):
        for reference in references:
            yield Setting(
                name=f"plugins.{table}", value=shown(reference.name), place=reference.said
            )
    yield from _commands(config)
    for name in LIMITS:
        yield _setting(config, f"/limits/{name}", getattr(config.limits, name))
    for name in IMAGES:
        yield _setting(config, f"/limits/{name}", getattr(config, name))


def _commands(config: Config) -> Iterator[Setting]:
    """How commands are run: the lowest isolation, and what else was set."""
    commands = config.commands
    yield _setting(config, "/commands/min_isolation", commands.min_isolation)
    lists = {"readable": commands.readable, "pass_env": commands.pass_env}
    facts: dict[str, JSON] = {name: [*given] for name, given in lists.items() if given}
    facts |= {} if commands.python is None else {"python": commands.python}
    for name, value in {**facts, **commands.limits}.items():
        yield _setting(config, f"/commands/{name}", value)


def _service(config: Config, where: str, service: Service) -> Iterator[Setting]:
    yield _setting(config, f"{where}/url", _address(service.url))
    for name in ("timeout_s", "allow_http", "max_bytes"):
        yield _setting(config, f"{where}/{name}", getattr(service, name))
    for name, value in service.headers.items():
        yield _setting(config, join_pointer(f"{where}/headers", name), _private(value))


def _embedder(config: Config, where: str, embedder: AnyEmbedder) -> Iterator[Setting]:
    facts: dict[str, JSON]
    if isinstance(embedder, EndpointEmbedder):
        facts = {"kind": "endpoint", "url": embedder.url, "model": embedder.model}
        facts |= {"key": _private(embedder.key)} if embedder.key else {}
        facts |= {"allow_http": embedder.allow_http}
    elif isinstance(embedder, FunctionEmbedder):
        facts = {"kind": "python", "function": getattr(embedder.function, "name", "")}
    else:
        facts = {"kind": "sentence-transformers", "folder": str(embedder.folder)}
    for name, value in {**facts, "timeout_s": embedder.timeout_s}.items():
        yield _setting(config, f"{where}/{name}", value)


def _setting(config: Config, pointer: str, value: JSON) -> Setting:
    tokens = parse_pointer(pointer)
    document, place = config.document, "default"
    if document and resolve(document.value, tokens)[0] is not MISSING:
        line, column = document.place(pointer)
        place = f"{document.source}:{line}:{column}"
    return Setting(name=shown(".".join(tokens)), value=value, place=place)


def _address(url: str) -> str:
    """A URL whose query, which may hold a secret, is not shown."""
    parts = urlsplit(url)
    return parts._replace(query="").geturl() + (f"?{HIDDEN}" if parts.query else "")


def _private(value: str) -> str:
    """The name of a variable, and whether it is set; nothing else of a header."""
    if not value.startswith("env:"):
        return HIDDEN
    return f"{value} ({'set' if os.environ.get(value[4:]) else 'not set'})"
