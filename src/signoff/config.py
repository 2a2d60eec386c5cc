"""
What an operator lets checks use: services, embedders, predicates, plug-ins, limits.

``load_config`` reads it from ``signoff.toml``.  Nothing that it names is imported,
and nothing of the environment is read, before a registry is made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from signoff.command_settings import CommandSettings
from signoff.document import Document
from signoff.embedder import TIMEOUT_S, EndpointEmbedder, SentenceTransformerEmbedder
from signoff.plugins import (
    Provided,
    Reference,
    function_at,
    joined,
    verifiers_at,
    verifiers_of_plugin,
)
from signoff.powers import CommandRunner, EvidenceReader, Powers
from signoff.registry import Registry
from signoff.remote_service import Service
from signoff.strictjson import Limits

__all__ = ["AnyEmbedder", "Config", "FunctionEmbedder"]


_POWERS: Final = Powers()


class FunctionEmbedder(Struct, frozen=True, kw_only=True):
    """
    ``kind = "python"``: a function from texts to vectors.

    Args:
        function: The function; only its name until it is imported.
        timeout_s: Seconds for the texts of one output.
    """

    function: Callable[..., Any] | Reference
    timeout_s: float = TIMEOUT_S

    def __call__(self, texts: list[str], /) -> Any:
        """One vector for each text."""
        assert not isinstance(self.function, Reference), "it was not imported"
        return self.function(texts)


AnyEmbedder: TypeAlias = EndpointEmbedder | FunctionEmbedder | SentenceTransformerEmbedder


class Config(Struct, frozen=True, kw_only=True):
    """
    What is in force; without arguments what holds where nothing is configured.

    Args:
        services: Remote verifier services by name.
        embedders: Sources of vectors by name.
        predicates: Functions of ``(value, args)`` by name.
        plugins: Installed plug-ins whose verifiers count.
        modules: Verifiers, registries and iterables of verifiers that count.
        commands: How the commands that checks start are run.
        limits: How outputs are read.
        max_image_pixels: Largest image that is decoded.
        max_image_bytes: Largest file of an image.
        document: The file it was read from; None when there is none.
    """

    services: dict[str, Service] = {}
    embedders: dict[str, AnyEmbedder] = {}
    predicates: dict[str, Reference] = {}
    plugins: tuple[Reference, ...] = ()
    modules: tuple[Reference, ...] = ()
    commands: CommandSettings = CommandSettings()
    limits: Limits = Limits()
    max_image_pixels: int = _POWERS.max_image_pixels
    max_image_bytes: int = _POWERS.max_image_bytes
    document: Document | None = None

    def with_named(
        self, *, plugins: tuple[Reference, ...] = (), modules: tuple[Reference, ...] = ()
    ) -> Config:
        """The same with more plug-ins and modules; one that is named already stays once."""
        return replace(
            self,
            plugins=_once(self.plugins + plugins),
            modules=_once(self.modules + modules),
        )

    def verifiers(self, *, workspace: Path | None = None) -> tuple[Provided, ...]:
        """
        The verifiers of all plug-ins and modules, which are imported for it.

        Args:
            workspace: What is judged; nothing that lies there is imported.

        Raises:
            PluginError: One cannot be imported, or is no verifier.
        """
        found: list[Provided] = []
        for reference in self.plugins:
            found += verifiers_of_plugin(reference, workspace=workspace)
        for reference in self.modules:
            found += verifiers_at(reference, workspace=workspace)
        return tuple(found)

    def powers(
        self,
        *,
        workspace: Path | None = None,
        store: EvidenceReader | None = None,
        sandbox: CommandRunner | None = None,
    ) -> Powers:
        """
        What checks may use; predicates and embedding functions are imported for it.

        Raises:
            PluginError: A function cannot be imported.
        """
        return Powers(
            store=store,
            workspace=workspace,
            services=self.services,
            embedders={name: _ready(one, workspace) for name, one in self.embedders.items()},
            predicates={
                name: function_at(reference, workspace=workspace)
                for name, reference in self.predicates.items()
            },
            sandbox=sandbox,
            python=self.commands.python,
            max_image_pixels=self.max_image_pixels,
            max_image_bytes=self.max_image_bytes,
        )

    def registry(
        self,
        base: Registry,
        *,
        workspace: Path | None = None,
        store: EvidenceReader | None = None,
        sandbox: CommandRunner | None = None,
    ) -> Registry:
        """
        The registry of a base with everything that is configured.

        Args:
            base: Such as ``STDLIB | PROBES``.
            workspace: Folder that is judged; probes read there, and nothing is imported
                from it.
            store: Recorded evidence by digest.
            sandbox: Runs the commands of checks, such as ``commands.sandbox()``.

        Raises:
            PluginError: What is named cannot be imported, or two verifiers have one id.
        """
        registry = joined(base, self.verifiers(workspace=workspace))
        powers = self.powers(workspace=workspace, store=store, sandbox=sandbox)
        return registry.with_powers(powers)


def _ready(embedder: AnyEmbedder, workspace: Path | None) -> AnyEmbedder:
    if isinstance(embedder, FunctionEmbedder) and isinstance(embedder.function, Reference):
        return replace(embedder, function=function_at(embedder.function, workspace=workspace))
    return embedder


def _once(references: tuple[Reference, ...]) -> tuple[Reference, ...]:
    first: dict[str, Reference] = {}
    for one in references:
        first.setdefault(one.name, one)
    return tuple(first.values())
