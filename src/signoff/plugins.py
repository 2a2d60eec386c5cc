"""
Verifiers and functions from elsewhere, imported because an operator named them.

``package.module:name`` is looked for where Python looks, and then in the folder of
whoever named it: nothing there can stand in for an installed package.  What lies in
the workspace under judgement is never imported, or the work would judge itself.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from signoff.errors import PluginError
from signoff.jsonvalue import shown
from signoff.registry import Registry, Verifier

__all__ = [
    "GROUP",
    "EntryPoint",
    "Provided",
    "Reference",
    "entry_points",
    "function_at",
    "installed",
    "is_reference",
    "joined",
    "origin_of",
    "verifiers_at",
    "verifiers_of_plugin",
]

GROUP: Final = "signoff.verifiers"
OWN: Final = "signoff "


class Reference(Struct, frozen=True, kw_only=True):
    """
    A name that an operator gave, and where.

    Args:
        name: ``package.module:name``, or the name of an installed plug-in.
        said: Where it was given, such as ``signoff.toml:3:12`` or ``--with``.
        folder: Where modules are looked for that are not installed.
    """

    name: str
    said: str
    folder: Path | None = None

    def __str__(self) -> str:
        return f"{self.said}: {shown(self.name)}"


class Provided(Struct, frozen=True, kw_only=True):
    """A verifier, and the name by which an operator asked for it."""

    verifier: Verifier
    by: Reference


class Distribution(Protocol):
    """What is asked of an installed distribution."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def version(self) -> str:
        """Its version."""
        ...


class EntryPoint(Protocol):
    """What is asked of an entry point: ``importlib.metadata`` has it, and is dear to import."""

    @property
    def name(self) -> str:
        """What its package calls it."""
        ...

    @property
    def value(self) -> str:
        """Where the object is, ``package.module:name``."""
        ...

    @property
    def dist(self) -> Distribution | None:
        """What installed it."""
        ...


def is_reference(text: str) -> bool:
    """The text has the form ``package.module:name``."""
    module, _, name = text.partition(":")
    return all(part.isidentifier() for part in (*module.split("."), *name.split(".")))


def function_at(reference: Reference, *, workspace: Path | None = None) -> Callable[..., Any]:
    """
    The function that a reference names.

    Raises:
        PluginError: It cannot be imported, or cannot be called.
    """
    found = _found(reference, workspace)
    if not callable(found):
        raise PluginError(f"{reference} is {_kind(found)}, expected a function")
    return found  # type: ignore[no-any-return]  # callable is all that is asked of it


def verifiers_at(reference: Reference, *, workspace: Path | None = None) -> tuple[Provided, ...]:
    """
    The verifiers that a reference names: one, a registry, or any iterable of them.

    Raises:
        PluginError: They cannot be imported, or are no verifiers.
    """
    module = reference.name.partition(":")[0]
    entries = _verifiers(_found(reference, workspace), reference)
    return tuple(_provided(one, _claimed(one) or module, reference) for one in entries)


def verifiers_of_plugin(
    reference: Reference, *, workspace: Path | None = None
) -> tuple[Provided, ...]:
    """
    The verifiers of an installed plug-in; each has its distribution's name and version.

    Raises:
        PluginError: There is no such plug-in, or it cannot be imported.
    """
    found: list[Provided] = []
    with _searching(None, workspace):
        entries = entry_points(reference)
    for entry in entries:
        source = origin_of(entry)
        place = Reference(name=_value(entry), said=f"{reference} ({shown(source)})")
        if not is_reference(place.name):
            raise PluginError(f"{place} must be package.module:name")
        values = _verifiers(_found(place, workspace), place)
        found += (_provided(one, source, reference) for one in values)
    return tuple(found)


def installed() -> tuple[EntryPoint, ...]:
    """What installed packages offer, by name; nothing of them is imported."""
    from importlib import metadata  # slow to import, and only plug-ins need it

    entries = metadata.entry_points(group=GROUP)
    return tuple(sorted(entries, key=lambda entry: (entry.name, origin_of(entry))))


def origin_of(entry: EntryPoint) -> str:
    """Name and version of the distribution that brings an entry point."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


def joined(base: Registry, more: Iterable[Provided]) -> Registry:
    """
    The registry with what was provided.

    Raises:
        PluginError: Two verifiers have one id; says where both come from.
    """
    known = {one.id: one.source for one in base}
    added: list[Verifier] = []
    for one in more:
        id_, source = one.verifier.id, f"{shown(one.verifier.source)} ({one.by})"
        if id_ in known:
            raise PluginError(
                f'verifier "{shown(id_)}" comes twice: from {known[id_]}, and from {source}'
            )
        known[id_] = source
        added.append(one.verifier)
    return base | added


def _provided(entry: Verifier, source: str, by: Reference) -> Provided:
    # Nobody but signoff is beyond suspicion, whatever an entry says of itself.
    return Provided(verifier=replace(entry, own=False, source=source), by=by)


def _claimed(entry: Verifier) -> str:
    """What a verifier says that it comes from; only signoff may say that it is signoff's."""
    return "" if entry.source.startswith(OWN) else entry.source


def _verifiers(found: object, reference: Reference) -> list[Verifier]:
    verifiers: list[Verifier] = []
    with _looking_at(reference):
        entries = [*_entries(found)]
    for entry in entries:
        # No subclass: it could answer otherwise than its fields, and say that it is signoff's own.
        if type(entry) is not Verifier:
            raise PluginError(
                f"{reference} is {_kind(entry)}, expected verifiers as @verifier makes them"
            )
        if type(entry.id) is not str or not entry.id or type(entry.source) is not str:
            raise PluginError(f"{reference} has a verifier without an id")
        verifiers.append(entry)
    if not verifiers:
        raise PluginError(f"{reference} has no verifiers in it")
    return verifiers


def _entries(found: object) -> Iterable[object]:
    if isinstance(found, Iterable) and not isinstance(found, (Verifier, str, bytes, Mapping)):
        return found
    return (found,)


def _kind(found: object) -> str:
    return f"of type {shown(type(found).__name__)}"


def entry_points(reference: Reference) -> list[EntryPoint]:
    """
    The entry points of that name; else those of the distribution of that name.

    Raises:
        PluginError: There are none, or several distributions offer the name.
    """
    entries, name = installed(), reference.name
    chosen = [entry for entry in entries if entry.name == name]
    chosen = chosen or [entry for entry in entries if entry.dist and _same(entry.dist.name, name)]
    origins = sorted({origin_of(entry) for entry in chosen})
    if len(origins) > 1:
        raise PluginError(
            f"{reference} is offered by {' and by '.join(origins)}; name the distribution instead"
        )
    if not chosen:
        known = ", ".join(dict.fromkeys(entry.name for entry in entries)) or "none"
        raise PluginError(f"{reference} is no installed plug-in; installed: {shown(known)}")
    return chosen


def _value(entry: EntryPoint) -> str:
    """Where the object is, without the extras that may stand behind it."""
    return entry.value.partition("[")[0].replace(" ", "")


def _same(one: str, other: str) -> bool:
    """Names of distributions are equal whatever joins their words."""
    left, right = (re.split(r"[-_.]+", name.lower()) for name in (one, other))
    return left == right


def _found(reference: Reference, workspace: Path | None) -> Any:
    module, _, name = reference.name.partition(":")
    with _searching(reference.folder, workspace):
        try:
            _require_apart(reference, module, workspace)
            found = importlib.import_module(module)
        except PluginError:
            raise
        except (Exception, SystemExit) as exc:
            raise PluginError(f"{reference} cannot be imported: {_told(exc)}") from exc
    with _looking_at(reference):
        try:
            return attrgetter(name)(found)
        except AttributeError as exc:
            place = shown(str(getattr(found, "__file__", None) or module))
            raise PluginError(f'{reference}: no "{shown(name)}" in {place}') from exc


@contextmanager
def _looking_at(reference: Reference) -> Iterator[None]:
    """What foreign code raises while it is looked at is told; an exit that it calls for too."""
    try:
        yield
    except PluginError:
        raise
    except (Exception, SystemExit) as exc:
        raise PluginError(f"{reference} cannot be read: {_told(exc)}") from exc


def _told(exc: BaseException) -> str:
    text = shown(str(exc))
    return f"{type(exc).__name__}{f' ({text})' if text else ''}"


def _require_apart(reference: Reference, module: str, workspace: Path | None) -> None:
    """Refuse a module of the workspace before anything of it runs."""
    if workspace is None:
        return
    spec = find_spec(module.partition(".")[0])
    places = _places(spec) if spec else []
    if spec is None and _lies_in(str(reference.folder or "/"), workspace):
        places = [str(reference.folder)]
    if any(_lies_in(place, workspace) for place in places):
        raise PluginError(
            f"{reference} lies in the workspace under judgement, from which nothing is imported"
        )


def _places(spec: ModuleSpec) -> list[str]:
    return [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.has_location else [])]


@contextmanager
def _searching(folder: Path | None, workspace: Path | None) -> Iterator[None]:
    """
    Modules are found where Python finds them, then in the folder; never in the workspace.

    The folder stays on the path, because functions may import when they are called.
    """
    before = list(sys.path)
    more = [str(folder)] if folder is not None and str(folder) not in before else []
    if workspace is not None:
        more = [place for place in more if not _lies_in(place, workspace)]
        sys.path[:] = [place for place in before if not _lies_in(place, workspace)]
    sys.path += more
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before + more


def _lies_in(place: str, workspace: Path) -> bool:
    """The place is in the workspace; an interpreter's own folders are taken as they are."""
    path = Path(place or ".").resolve()
    own = (Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix))
    return path.is_relative_to(workspace.resolve()) and not any(map(path.is_relative_to, own))
