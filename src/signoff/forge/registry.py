"""The verifiers that a contract may name, by id.  Nothing is discovered by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Protocol, Self, TypeAlias

from msgspec import Struct

from signoff.dialects.forge import DEFAULT_IDS, VerificationResult
from signoff.errors import DuplicateVerifier
from signoff.forge.contract_schema import ContractSchemaVerifier
from signoff.forge.json_object import JsonObjectVerifier
from signoff.jsonvalue import JSON, shown
from signoff.registry import Powers, Verifier

__all__ = ["Entry", "TaskVerifier", "VerifierRegistry", "default_registry"]

MAX_ID: Final = 100
_ID = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_NO_POWERS: Final = Powers()


class TaskVerifier(Protocol):
    """What can be registered: an object that verifies an input and an output."""

    def verify(
        self,
        input_obj: Any,
        output_obj: Any = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> VerificationResult:
        """What it finds."""
        ...


AnyVerifier: TypeAlias = TaskVerifier | Verifier


class Entry(Struct, frozen=True, kw_only=True):
    """A registered verifier; params and powers are for one of the core alone."""

    verifier: AnyVerifier
    params: dict[str, Any] = {}
    powers: Powers = _NO_POWERS


class VerifierRegistry:
    """Verifiers by id; empty when made."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def register(
        self,
        verifier_id: str,
        verifier: AnyVerifier,
        *,
        replace: bool = False,
        params: Mapping[str, JSON] | None = None,
        powers: Powers = _NO_POWERS,
    ) -> None:
        """
        Make a verifier known under an id.

        Args:
            verifier_id: Lower-case words and digits joined by ``.``, ``_`` or ``-``.
            verifier: An object with ``verify``, or a verifier of the core, such as a probe.
            replace: Put it in the place of one that has the id already.
            params: Parameters of a verifier of the core.
            powers: What a probe may use.

        Raises:
            DuplicateVerifier: The id is taken.
            ValueError: The text can be no id.
            TypeError: The object cannot verify.
            ParamsError: The verifier of the core refuses its parameters.
        """
        if not isinstance(verifier_id, str):
            raise TypeError(f"verifier_id must be str, got {type(verifier_id).__name__}")
        if len(verifier_id) > MAX_ID or not _ID.fullmatch(verifier_id):
            raise ValueError(
                f"verifier_id must be words of a-z and 0-9 joined by '.', '_' or '-', at most "
                f"{MAX_ID} characters, got {shown(repr(verifier_id))}"
            )
        entry = _entry(verifier, params, powers)
        if verifier_id in self._entries and not replace:
            raise DuplicateVerifier(f'verifier "{verifier_id}" is registered twice')
        self._entries[verifier_id] = entry

    def get(self, verifier_id: str) -> AnyVerifier | None:
        """The verifier of an id; None when there is none."""
        entry = self.entry(verifier_id)
        return None if entry is None else entry.verifier

    def entry(self, verifier_id: str) -> Entry | None:
        """The verifier of an id with what it was registered with."""
        return self._entries.get(verifier_id)

    def list_ids(self) -> list[str]:
        """All ids, sorted, in a list of the caller's own."""
        return sorted(self._entries)

    def copy(self) -> Self:
        """Another registry with the same verifiers."""
        other = type(self)()
        other._entries.update(self._entries)  # noqa: SLF001  a registry of this class
        return other

    def __contains__(self, verifier_id: object) -> bool:
        return verifier_id in self._entries

    def __len__(self) -> int:
        return len(self._entries)


def default_registry() -> VerifierRegistry:
    """A registry of its own with ``json.object`` and ``contract.schema``, and nothing that runs."""
    registry = VerifierRegistry()
    json_object, contract_schema = DEFAULT_IDS
    registry.register(json_object, JsonObjectVerifier())
    registry.register(contract_schema, ContractSchemaVerifier())
    return registry


def _entry(verifier: Any, params: Mapping[str, JSON] | None, powers: Powers) -> Entry:
    if isinstance(verifier, Verifier):
        given = dict(params or {})
        verifier.bind(given, powers)  # whatever it refuses is refused here
        return Entry(verifier=verifier, params=given, powers=powers)
    if isinstance(verifier, type):
        raise TypeError(f"a verifier must be an object, got the class {verifier.__name__}")
    if not callable(getattr(verifier, "verify", None)):
        raise TypeError(f"{type(verifier).__name__} has no method verify")
    if params is not None or powers is not _NO_POWERS:
        raise TypeError("params and powers are for verifiers of the core")
    return Entry(verifier=verifier)
