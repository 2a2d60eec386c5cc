"""``signoff verifiers``: list the verifiers, or explain one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Final

import click
import msgspec
from click.shell_completion import CompletionItem

from signoff.cli.choosing import Choice, choosing
from signoff.cli.commands import Command, json_option
from signoff.cli.configured import unusable
from signoff.cli.excerpt import excerpt
from signoff.cli.exits import Exit, Refusal
from signoff.cli.reading import own_registry
from signoff.cli.suggestion import did_you_mean
from signoff.cli.terminal import Screen, Terminal
from signoff.errors import PluginError
from signoff.jsonvalue import shown
from signoff.manual import Manual, ParamManual, manual, tried
from signoff.plugins import EntryPoint, entry_points, installed, joined, origin_of
from signoff.registry import Registry, Verifier

__all__ = ["command"]

WIDTH: Final = 88

EXAMPLES: Final = """\b
Examples:
  signoff verifiers                every verifier with what it says
  signoff verifiers sorted_by      one, with its parameters and examples
  signoff verifiers --plugin NAME  with those of an installed plug-in
  signoff verifiers --json         the same for programs
"""


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    known = own_registry()
    return [
        CompletionItem(one.id, help=one.description)
        for one in map(manual, known)
        if one.id.startswith(incomplete)
    ]


@click.command("verifiers", cls=Command, epilog=EXAMPLES)
@click.argument("id", required=False, shell_complete=_complete)
@choosing()
@json_option
@click.pass_obj
def command(terminal: Terminal, /, id: str | None, *, choice: Choice, as_json: bool) -> int:
    """
    List the verifiers, or explain one.

    With ID: what holds when it passes, its parameters and examples.  Verifiers
    that other packages bring are listed, and do not count until the
    configuration or --plugin names them: an installed package can never add a
    check that passes.
    """
    registry, idle = _known(choice)
    if id is None:
        _list(terminal, registry, [_foreign(entry) for entry in idle], as_json=as_json)
        return Exit.DONE
    found = registry.get(id)
    if found is None:
        raise Refusal(
            f'no verifier "{shown(id)}"{did_you_mean(id, registry.ids())}',
            next_step="signoff verifiers lists them",
        )
    if as_json:
        terminal.out.json(_encoded(_explained(found)))
    else:
        for line in _page(found, manual(found), terminal.out):
            terminal.out.line(line)
    return Exit.DONE


def _known(choice: Choice) -> tuple[Registry, list[EntryPoint]]:
    """What counts, and what other packages offer that does not; that is not imported."""
    config = choice.config
    if config is None:
        return own_registry(), [*installed()]
    try:
        registry = joined(own_registry(), config.verifiers())
        used = {_key(entry) for name in config.plugins for entry in entry_points(name)}
    except PluginError as exc:
        raise unusable(exc) from exc
    return registry, [entry for entry in installed() if _key(entry) not in used]


def _key(entry: EntryPoint) -> tuple[str, str]:
    return entry.name, origin_of(entry)


def _list(
    terminal: Terminal, registry: Registry, foreign: list[dict[str, Any]], *, as_json: bool
) -> None:
    if as_json:
        known = [
            {"id": one.id, "description": one.description, "origin": one.origin, "in_use": True}
            for one in map(manual, registry)
        ]
        terminal.out.json(_encoded({"verifiers": known + foreign}))
        return
    out, width = terminal.out, max(map(len, registry.ids()), default=0)
    for one in map(manual, registry):
        name = out.paint(f"{shown(one.id):<{width}}", "strong")
        origin = out.paint(f"({shown(one.origin)})", "quiet")
        out.line(f"{name}  {shown(one.description)} {origin}")
    for entry in foreign:
        name, origin = shown(str(entry["id"])), shown(str(entry["origin"]))
        out.line(f"{name:<{width}}  installed, not in use ({origin})")


def _foreign(entry: EntryPoint) -> dict[str, Any]:
    return {"id": entry.name, "description": None, "origin": origin_of(entry), "in_use": False}


def _explained(verifier: Verifier) -> dict[str, Any]:
    found = manual(verifier)
    facts: dict[str, Any] = msgspec.to_builtins(found)
    facts["examples"] = [
        {
            "params": example.params,
            "meets": {**example.meets, "finding": msgspec.to_builtins(meets)},
            "misses": example.misses and {**example.misses, "finding": msgspec.to_builtins(misses)},
        }
        for example in found.examples
        for meets, misses in [tried(verifier, example)]
    ]
    return facts


def _page(verifier: Verifier, found: Manual, screen: Screen) -> Iterator[str]:
    origin = screen.paint(f"({shown(found.origin)})", "quiet")
    yield f"{screen.paint(shown(found.id), 'strong')}  {origin}"
    for paragraph in (found.description, *found.notes):
        yield ""
        yield from map(shown, textwrap.wrap(paragraph, WIDTH))
    yield ""
    yield screen.paint("Parameters", "strong") if found.params else "It takes no parameters."
    for param in found.params:
        yield from _param(param, screen)
    if found.examples:
        yield ""
        yield screen.paint("Examples", "strong")
    for example in found.examples:
        meets, misses = tried(verifier, example)
        yield f"  params  {excerpt(example.params)}"
        yield f"  {meets.status.value:<6}  {_facts(example.meets)}"
        yield f"          {screen.paint(shown(meets.detail), 'quiet')}"
        if misses is not None and example.misses is not None:
            yield f"  {misses.status.value:<6}  {_facts(example.misses)}"
            yield f"          {screen.paint(shown(misses.detail), 'quiet')}"
    if found.source:
        yield ""
        yield screen.paint(f"Source: {shown(found.source)}", "quiet")


def _param(param: ParamManual, screen: Screen) -> Iterator[str]:
    default = "" if param.default is None else f", {excerpt(param.default)} when absent"
    presence = "required" if param.required else f"optional{default}"
    yield f"  {screen.paint(shown(param.name), 'strong')}  {shown(param.type)}; {presence}"
    for line in textwrap.wrap(param.meaning, WIDTH - 6):
        yield f"      {shown(line)}"


def _facts(fields: dict[str, Any]) -> str:
    """An output as it stands, other facts by their names."""
    if fields.keys() == {"output"}:
        return excerpt(fields["output"])
    return ", ".join(f"{name}={excerpt(value)}" for name, value in fields.items())


def _encoded(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)
