"""
A server of evidence for tests: ``python -m tests.service.evidence_app SETTINGS FOLDER``.

It gives out what is below the state folder, and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from signoff.service.evidence_store import OwnEvidence, evidence_routes
from signoff.service.message import Route
from signoff.service.server import Worker, serve
from signoff.service.settings import Settings
from tests.service.app import announce


class EvidencePart:
    """The routes of evidence alone."""

    def __init__(self, worker: Worker) -> None:
        store = OwnEvidence(sys.argv[2])
        self.routes: Sequence[Route] = evidence_routes(store, threads=worker.threads)

    async def start(self) -> None:
        """Nothing to get ready."""

    async def stop(self) -> None:
        """Nothing to let go of."""


def main() -> int:
    settings = msgspec.json.decode(sys.argv[1], type=Settings)
    return serve(lambda worker: (EvidencePart(worker),), settings, ready=announce)


if __name__ == "__main__":
    sys.exit(main())
