"""
Verifiers: named factories of checks, and the immutable registry that holds them.

Parameters go into a verifier once, when a contract is locked; a check comes
out, a function from a subject to a finding.  A check knows nothing of criteria,
files or HTTP, and what it may use beyond the subject it is handed as ``Powers``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints, overload

import msgspec

from signoff._version import __version__
from signoff.errors import DuplicateVerifier, Fault, ParamsError
from signoff.jsonvalue import JSON, join_pointer, shown
from signoff.model import Finding, Subject
from signoff.params import Kind, has_big_integer, kind_of, require_shallow, require_small
from signoff.powers import CommandRunner, EvidenceReader, Powers

__all__ = [
    "EACH",
    "Check",
    "CommandRunner",
    "EvidenceReader",
    "FieldPath",
    "Param",
    "Powers",
    "Registry",
    "Verifier",
    "reads",
    "starts_commands",
    "verifier",
]

INJECTED = ("powers", "criterion", "bind")

Check = Callable[[Subject], Finding]
Binder = Callable[[str, Mapping[str, JSON]], Check]
Loader = Callable[[], "Verifier"]
C = TypeVar("C", bound=Check)


class Each:
    """Stands for every item of an array in what a check says it reads."""

    def __repr__(self) -> str:
        return "EACH"


EACH = Each()
FieldPath = tuple[str | Each, ...]


def reads(check: C, *paths: FieldPath) -> C:
    """
    The same check, saying which places of the output it reads and no others.

    A path is a pointer's tokens, ``EACH`` standing for every item.  What lies on the
    way is seen too: the types there, an array's length.  A check that says nothing
    may read everything.
    """
    check.reads = paths  # type: ignore[attr-defined]  # functions carry attributes
    return check


def starts_commands(check: C) -> C:
    """
    The same check, saying that it starts commands and reads nothing of the output.

    Such checks wait for processes, so that several of them may run at the same time.
    """
    check.starts_commands = True  # type: ignore[attr-defined]  # functions carry attributes
    return reads(check)


class Param(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a verifier: its name, kind, whether it must be given, and its default."""

    name: str
    kind: Kind
    required: bool
    default: Any = None


class Verifier(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """
    A named factory of checks.

    Args:
        id: What criteria call it.
        factory: Takes the parameters as keywords, gives a check.
        description: What holds when it passes.
        source: Name and version of what provides it.
        own: True for signoff's own checks, which are not suspected of changing the output.
        rewrite: Gives the parameters that are locked, from those that were written and the
            contract's folder; raises ``ParamsError``.
        engines: Gives names and versions of the programs that decide, for the report.
        free_params: True when the factory takes any parameters as one mapping.
    """

    id: str
    factory: Callable[..., Check]
    description: str
    source: str = ""
    own: bool = False
    rewrite: Callable[[dict[str, Any], Path | None], dict[str, Any]] | None = None
    engines: Callable[[], dict[str, str]] | None = None
    free_params: bool = False

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The parameters that a criterion may give, in the order of the factory."""
        if self.free_params:
            return ()
        hints = get_type_hints(self.factory, include_extras=True)
        return tuple(
            Param(
                name=name,
                kind=kind_of(hints[name]),
                required=parameter.default is parameter.empty,
                default=None if parameter.default is parameter.empty else parameter.default,
            )
            for name, parameter in inspect.signature(self.factory).parameters.items()
            if name not in INJECTED
        )

    @cached_property
    def injected(self) -> tuple[str, ...]:
        """What the factory takes that is no parameter of a criterion."""
        names = inspect.signature(self.factory).parameters
        return tuple(name for name in INJECTED if name in names)

    def bind(
        self,
        params: Mapping[str, JSON],
        powers: Powers,
        *,
        criterion: str = "",
        bind: Binder | None = None,
    ) -> Check:
        """
        The check for these parameters.

        Args:
            params: As the criterion has them.
            powers: What the check may use.
            criterion: The criterion's id, for checks that pass it on.
            bind: Gives the check of another verifier's id and params, for checks that
                ask others; without it there are no others.

        Raises:
            ParamsError: With every fault of the parameters, places relative to ``params``.
            NotInstalled: It needs an optional package.
        """
        require_small(params)
        if self.free_params:
            require_shallow(params)
            return self.factory(dict(params))
        values, faults = self._read(params)
        if faults:
            raise ParamsError(tuple(faults))
        require_shallow(params)
        given = {"powers": powers, "criterion": criterion, "bind": bind or Registry().bind}
        return self.factory(**values, **{name: given[name] for name in self.injected})

    def _read(self, params: Mapping[str, JSON]) -> tuple[dict[str, Any], list[Fault]]:
        known = {param.name: param for param in self.params}
        faults = [
            Fault(
                join_pointer("", name),
                f"params.{shown(name)} is not a parameter of {self.id}",
                got=name,
                known=tuple(known),
            )
            for name in params
            if name not in known
        ]
        values: dict[str, Any] = {}
        for name, param in known.items():
            if name not in params:
                if param.required:
                    faults.append(Fault("", param.kind.absent.format(name=name)))
                continue
            place, value = join_pointer("", name), params[name]
            if has_big_integer(value):
                message = f"params.{name} has an integer beyond 2^53-1; write it as a string"
                faults.append(Fault(place, message))
                continue
            try:
                values[name] = param.kind.read(value)
            except ParamsError as exc:
                faults += (Fault(place + f.where, f.message) for f in exc.faults)
            except ValueError:
                faults.append(Fault(place, param.kind.wrong(name)))
        return values, faults


@overload
def verifier(factory: Callable[..., Check], /) -> Verifier: ...


@overload
def verifier(
    *,
    rewrite: Callable[[dict[str, Any], Path | None], dict[str, Any]] | None = None,
    engines: Callable[[], dict[str, str]] | None = None,
    source: str = ...,
) -> Callable[[Callable[..., Check]], Verifier]: ...


def verifier(factory: Callable[..., Check] | None = None, /, **options: Any) -> Any:
    """
    Make a verifier of a factory function; its id is the function's name.

    The keyword parameters with their types and defaults become the parameters of
    a criterion; the first paragraph of the docstring is the description.  One called
    ``powers`` is handed what the operator gave, ``criterion`` the criterion's id, and
    ``bind`` what gives the checks of other verifiers.

    Raises:
        TypeError: A parameter is not keyword-only, or has an annotation without a kind.
    """

    def make(factory: Callable[..., Check]) -> Verifier:
        for name, parameter in inspect.signature(factory).parameters.items():
            if parameter.kind is not parameter.KEYWORD_ONLY:
                raise TypeError(f"{factory.__name__}: parameter {name} must be keyword-only")
        first_paragraph = inspect.cleandoc(factory.__doc__ or "").split("\n\n")[0]
        own = factory.__module__.startswith(("signoff.verifiers.", "signoff.probes."))
        source = f"signoff {__version__}" if own else factory.__module__
        return Verifier(
            id=factory.__name__,
            factory=factory,
            description=" ".join(first_paragraph.split()),
            own=own,
            **({"source": source} | options),
        )

    return make if factory is None else make(factory)


class Registry:
    """
    Verifiers by id; never changes.

    ``registry | [more]`` and ``registry.with_powers(...)`` give new registries.

    Args:
        verifiers: What it holds; or, by id, functions that give what it holds, called
            whenever a verifier is asked for, so that nothing is imported before.
        powers: What their checks may use.

    Attributes:
        entries: Each verifier by its id, or the function that gives it.

    Raises:
        DuplicateVerifier: Two of them have one id.
    """

    __slots__ = ("entries", "powers")

    def __init__(
        self,
        verifiers: Iterable[Verifier] | Mapping[str, Loader] = (),
        *,
        powers: Powers = Powers(),  # noqa: B008  frozen
    ) -> None:
        self.powers = powers
        self.entries: Mapping[str, Verifier | Loader] = _joined(_entries(verifiers))

    def get(self, id_: str) -> Verifier | None:
        """The verifier of an id, or None."""
        return _loaded(id_, self.entries[id_]) if id_ in self.entries else None

    def bind(self, id_: str, params: Mapping[str, JSON], *, criterion: str = "") -> Check:
        """
        The check of a verifier for these parameters.

        Raises:
            ParamsError: No such verifier, or parameters that it refuses.
            NotInstalled: The verifier needs an optional package.
        """
        found = self.get(id_)
        if found is None:
            message = f'No verifier registered for "{shown(id_)}"'
            raise ParamsError((Fault("", message, got=id_, known=self.ids()),))
        return found.bind(params, self.powers, criterion=criterion, bind=self.bind)

    def ids(self) -> tuple[str, ...]:
        """All ids, sorted."""
        return tuple(sorted(self.entries))

    def __iter__(self) -> Iterator[Verifier]:
        return (_loaded(id_, self.entries[id_]) for id_ in self.ids())

    def __or__(self, more: Iterable[Verifier]) -> Registry:
        return self._with(_joined([*self.entries.items(), *_entries(more)]), self.powers)

    def with_powers(self, powers: Powers) -> Registry:
        """The same verifiers with other powers."""
        return self._with(self.entries, powers)

    def _with(self, entries: Mapping[str, Verifier | Loader], powers: Powers) -> Registry:
        made = Registry(powers=powers)
        made.entries = entries
        return made


def _entries(
    verifiers: Iterable[Verifier] | Mapping[str, Loader],
) -> Iterable[tuple[str, Verifier | Loader]]:
    if isinstance(verifiers, Registry):
        return verifiers.entries.items()
    if isinstance(verifiers, Mapping):
        return verifiers.items()
    return [(entry.id, entry) for entry in verifiers]


def _joined(entries: Iterable[tuple[str, Verifier | Loader]]) -> Mapping[str, Verifier | Loader]:
    found: dict[str, Verifier | Loader] = {}
    for id_, entry in entries:
        if id_ in found:
            raise DuplicateVerifier(f'verifier "{id_}" is registered twice')
        found[id_] = entry
    return MappingProxyType(found)


def _loaded(id_: str, entry: Verifier | Loader) -> Verifier:
    if isinstance(entry, Verifier):
        return entry
    found = entry()
    if found.id != id_:
        raise TypeError(f'verifier "{found.id}" is registered as "{id_}"')
    return found
