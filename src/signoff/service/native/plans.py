"""The judges of contracts that were asked for lately, so that each is prepared once."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from signoff.canonical import canonical_bytes_unchecked, digest_bytes
from signoff.engine import Engine
from signoff.jsonvalue import JSON
from signoff.model import LockedContract
from signoff.quick import LOCKED_AT_VERIFY
from signoff.service.message import Problem
from signoff.service.native.admission import admit
from signoff.service.native.contract_store import ContractDamaged, ContractStore, StoreUnusable
from signoff.service.native.judging import Judge, Judging

__all__ = ["Plans", "key_of"]

MAX_PLANS: Final = 256
MAX_BYTES: Final = 32 * 2**20

Key = str | tuple[str, str]


def key_of(document: JSON) -> Key:
    """Under what the judge of a document is known; no digest, for it is not kept by any."""
    return "document", digest_bytes(canonical_bytes_unchecked(document))


class Plans:
    """
    Judges by the digest of their contract, or by that of a document that was sent along.

    Args:
        store: Where locked contracts are kept.
        judging: Makes judges.
    """

    def __init__(self, store: ContractStore, judging: Judging) -> None:
        self._store = store
        self._judging = judging
        self._known: OrderedDict[Key, tuple[Judge, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    @property
    def engine(self) -> Engine:
        """What judges."""
        return self._judging.engine

    def known(self, key: Key) -> Judge | None:
        """The judge of a digest, or of a document, that was asked for lately."""
        with self._lock:
            found = self._known.get(key)
            if found is None:
                return None
            self._known.move_to_end(key)
            return found[0]

    def of_digest(self, digest: str) -> Judge:
        """
        The judge of a contract that is kept; it may read a file.

        Raises:
            Problem: There is no such contract, or it cannot be read.
        """
        return self.known(digest) or self._keep(digest, self.kept(digest), ())

    def kept(self, digest: str) -> LockedContract:
        """
        The contract of a digest, from its file.

        Raises:
            Problem: There is no such contract, or it cannot be read.
        """
        try:
            locked = self._store.get(digest)
        except (ContractDamaged, StoreUnusable) as exc:
            raise Problem(500, "store_unusable", str(exc)) from exc
        if locked is None:
            raise Problem(404, "contract_unknown", "no contract of this digest is kept")
        return locked

    def of_document(self, document: JSON) -> Judge:
        """
        The judge of a contract that was sent along; a file of a lock needs no locking.

        Raises:
            Problem: It cannot be locked.
        """
        key = key_of(document)
        found = self.known(key)
        if found is not None:
            return found
        admitted = admit(document, self.engine.registry)
        weakened = () if admitted.was_locked else (LOCKED_AT_VERIFY,)
        return self._keep(key, admitted.locked, weakened)

    def _keep(self, key: Key, locked: LockedContract, weakened: tuple[str, ...]) -> Judge:
        judge = self._judging.judge_of(self.engine.prepare(locked), weakened=weakened)
        size = len(locked.canonical)
        with self._lock:
            if key not in self._known:
                self._known[key] = judge, size
                self._bytes += size
            while len(self._known) > MAX_PLANS or (
                self._bytes > MAX_BYTES and len(self._known) > 1
            ):
                _, (_, gone) = self._known.popitem(last=False)
                self._bytes -= gone
        return judge
