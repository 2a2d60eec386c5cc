"""What checks may use beyond the subject; nothing of the world until an operator gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from signoff.model import Isolation

__all__ = ["CommandRunner", "EvidenceReader", "Powers"]


class EvidenceReader(Protocol):
    """What a probe needs of an evidence store."""

    def read(self, digest: str) -> bytes:
        """The bytes of a digest."""
        ...


class CommandRunner(Protocol):
    """
    What a probe needs to start commands: ``sandbox.command.Runner``, as far as its types go.

    Naming those here would make every contract pay for what few of them use.
    """

    @property
    def scratch(self) -> str:
        """Folder for temporary files."""
        ...

    @property
    def limits(self) -> Any:
        """What a command may use up where nobody says otherwise: ``Limits``."""
        ...

    def run(self, command: Any) -> Any:
        """Run a ``Command`` to its end; gives a ``Completed``."""
        ...

    def requiring(self, level: Isolation) -> CommandRunner:
        """The same, refusing to run anything below a level."""
        ...

    def cancel(self, thread: int) -> None:
        """End the command that a thread waits for, if any."""
        ...


class Powers(msgspec.Struct, frozen=True, kw_only=True):
    """
    What checks may use beyond the subject; nothing until an operator gives it.

    Args:
        store: Evidence by digest.
        workspace: Folder that probes may read beneath.
        services: Remote verifier services by name.
        embedders: Functions from texts to vectors, by name.
        predicates: Functions from ``(value, args)`` to a boolean or a finding, by name.
        sandbox: Runs commands; a ``Sandbox``.
        python: The interpreter that runs tests; None to look for one.
        max_image_pixels: Largest image that is decoded.
        max_image_bytes: Largest file of an image.
    """

    store: EvidenceReader | None = None
    workspace: Path | None = None
    services: Mapping[str, Any] = {}
    embedders: Mapping[str, Callable[..., Any]] = {}
    predicates: Mapping[str, Callable[..., Any]] = {}
    sandbox: CommandRunner | None = None
    python: str | None = None
    max_image_pixels: int = 40_000_000
    max_image_bytes: int = 16_777_216
