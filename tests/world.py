"""
What a vector needs besides a subject: a workspace, recorded evidence, services, commands.

``files``, ``folders`` and ``links`` are made in a new folder, which is the
workspace; ``<WORKSPACE>`` in a text stands for its path.  ``kept`` are texts in
the store of evidence.  ``services`` answer every POST on this machine with a
status and a body; they must be asked what ``asked`` says.  ``ran`` says how each
command ends, see ``ScriptedRunner``.  ``committed`` are files of the one commit of a
git repository in the workspace, ``<BASE>`` is its id, and ``removed`` are then removed
again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from signoff.evidence import MemoryStore
from signoff.registry import Powers
from signoff.remote_service import Service
from signoff.strictjson import loads
from tests.repositories import Repo
from tests.scripted import ScriptedRunner
from tests.servers import Server, answering, message

FIELDS = (
    "committed",
    "removed",
    "files",
    "folders",
    "links",
    "kept",
    "services",
    "asked",
    "ran",
)


class World(Struct, frozen=True, kw_only=True):
    """The powers of the checks, the case with its texts filled in, and what services were asked."""

    powers: Powers
    case: Mapping[str, Any]
    servers: tuple[Server, ...]

    def asked(self) -> list[Any]:
        """The questions that services were sent."""
        return [loads(request.body) for server in self.servers for request in server.requests]


@contextmanager
def world(case: Mapping[str, Any], folder: Path) -> Iterator[World]:
    """What a case describes, made in an empty folder; gone after the block."""
    workspace = folder / "workspace"
    filled: Any = _filled(case, "<WORKSPACE>", str(workspace))
    if "committed" in filled:
        filled = _filled(filled, "<BASE>", _commit(filled, workspace))
    if {"committed", "files", "folders", "links"} & filled.keys():
        workspace.mkdir(exist_ok=True)
        _make(filled, workspace)
        filled["subject"] = {"workspace": str(workspace)} | filled.get("subject", {})
    store = MemoryStore() if "kept" in filled else None
    for text in filled.get("kept", ()):
        assert store is not None
        store.put(text.encode())
    services: dict[str, Service] = {}
    servers: list[Server] = []
    with ExitStack() as running:
        for name, reply in filled.get("services", {}).items():
            answer = message(reply["body"], status=f"{reply['status']} Said")
            servers.append(running.enter_context(Server(answering(answer))))
            services[name] = Service(url=servers[-1].url)
        runner = ScriptedRunner(filled["ran"], folder) if "ran" in filled else None
        powers = Powers(store=store, services=services, sandbox=runner)
        yield World(powers=powers, case=filled, servers=tuple(servers))


def _commit(case: Mapping[str, Any], folder: Path) -> str:
    """The id of a commit of the files that were there before the work."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    repository = Repo(folder)
    base = repository.commit(**case["committed"])
    for name in case.get("removed", ()):
        (folder / name).unlink()
    return base


def _make(case: Mapping[str, Any], folder: Path) -> None:
    for name in case.get("folders", ()):
        (folder / name).mkdir(parents=True)
    for name, text in case.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    for name, target in case.get("links", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)


def _filled(value: Any, name: str, text: str) -> Any:
    if isinstance(value, str):
        return value.replace(name, text)
    if isinstance(value, list):
        return [_filled(one, name, text) for one in value]
    if isinstance(value, dict):
        return {key: _filled(one, name, text) for key, one in value.items()}
    return value
