"""``/v1/contracts``: a contract is locked once, and then known by its digest."""

from __future__ import annotations

import re
from typing import Final, cast

from signoff.document import Document, Format, parse_document
from signoff.errors import DocumentError, TextError
from signoff.lockfile import encode_lock
from signoff.service.message import Problem, Request, Response
from signoff.service.native.admission import admit
from signoff.service.native.contract_store import (
    ContractDamaged,
    ContractStore,
    StoreFull,
    StoreUnusable,
)
from signoff.service.native.plans import Plans
from signoff.service.worker import Worker
from signoff.strictjson import Limits

__all__ = ["FORMATS", "Contracts"]

# By media type; whatever else was let through is JSON.
FORMATS: Final = {
    "application/yaml": "yaml",
    "application/x-yaml": "yaml",
    "text/yaml": "yaml",
    "application/toml": "toml",
}
SOURCE: Final = "the body"
_COLON: Final = re.compile("%3a", re.IGNORECASE)
"""How some clients write the colon of a digest."""


class Contracts:
    """
    Answers for contracts.

    Args:
        worker: What it runs in.
        plans: Knows the registry, and what was asked for lately.
        store: Where locked contracts are kept.
    """

    def __init__(self, worker: Worker, plans: Plans, store: ContractStore) -> None:
        self._worker = worker
        self._plans = plans
        self._store = store

    async def post(self, request: Request) -> Response:
        """Lock the contract of the body; 201 if it is new, 200 if it was kept already."""
        loop, threads = self._worker.loop, self._worker.threads
        response = await loop.run_in_executor(threads, self._locked, request)
        self._worker.metrics.count("signoff_contracts", new=str(response.status == 201).lower())
        return response

    async def get(self, request: Request) -> Response:
        """The lock file of a digest."""
        digest = _COLON.sub(":", request.params["digest"])
        loop, threads = self._worker.loop, self._worker.threads
        locked = await loop.run_in_executor(threads, self._plans.kept, digest)
        etag = ("ETag", f'"{locked.digest}"')
        return Response(200, encode_lock(locked), headers=(etag,))

    def _locked(self, request: Request) -> Response:
        document = _document(request)
        locked = admit(document.value, self._plans.engine.registry, source=document).locked
        try:
            data, is_new = self._store.put(locked)
        except StoreFull as exc:
            raise Problem(503, "store_full", str(exc)) from exc
        except (StoreUnusable, ContractDamaged) as exc:
            raise Problem(500, "store_unusable", str(exc)) from exc
        request.notes["contract"] = locked.digest
        location = ("Location", f"/v1/contracts/{locked.digest}")
        return Response(201 if is_new else 200, data, headers=(location,))


def _document(request: Request) -> Document:
    sent = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    kind = cast("Format", FORMATS.get(sent.decode("latin-1"), "json"))
    limits = Limits(max_bytes=max(len(request.body), 1))
    try:
        return parse_document(request.body, SOURCE, format=kind, limits=limits)
    except TextError as exc:
        place = f" at line {exc.line}, column {exc.column}" if exc.line else ""
        code = "bad_json" if kind == "json" else f"bad_{kind}"
        raise Problem(
            400, code, f"the body is not strict {_NAMES[kind]}: {exc.reason}{place}"
        ) from exc
    except DocumentError as exc:
        raise Problem(413, "too_large", str(exc)) from exc


_NAMES: Final = {"json": "JSON", "yaml": "YAML", "toml": "TOML"}
