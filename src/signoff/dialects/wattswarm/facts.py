"""What is known of a request while it is judged: found out once, however many checks ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import UNSET, UnsetType

from signoff.dialects.wattswarm.evidence import (
    JSON_MIME,
    MAX_CONTENT,
    Fetched,
    Reference,
    conclusion,
    peers,
    reference_of,
    trimmed,
)
from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import canonical
from signoff.dialects.wattswarm.request import VerifyRequest
from signoff.dialects.wattswarm.schema import SchemaUnusable
from signoff.jsonvalue import JSON, is_number

__all__ = ["Facts", "Stopped"]

NOTHING: Final[Mapping[Reference, Fetched]] = {}
MAX_PEER_SCORE: Final = 0.9
FAILED_SCORE: Final = 0.3


class Stopped(Exception):
    """Nobody waits for the answer any more."""


def _never() -> bool:
    return False


class Facts:
    """
    A request, what was fetched for it, and what follows from both.

    Args:
        request: The request.
        fetched: What came of fetching its references; nothing where they were not fetched.
        is_stopped: Whether everybody has gone.

    Attributes:
        digest: Of the canonical output.
        schema_notes: What is odd about the schema, once it was asked in full.
    """

    __slots__ = (
        "_is_stopped", "_peers", "_schema_answer", "digest", "fetched", "request", "schema_notes",
    )  # fmt: skip

    def __init__(
        self,
        request: VerifyRequest,
        fetched: Mapping[Reference, Fetched] = NOTHING,
        is_stopped: Callable[[], bool] = _never,
    ) -> None:
        self.request = request
        self.fetched = fetched
        self.digest = digest_of(request.canonical)
        self.schema_notes: tuple[str, ...] = ()
        self._schema_answer: str | SchemaUnusable | UnsetType | None = UNSET
        self._peers: Mapping[str, bytes] | None = None
        self._is_stopped = is_stopped

    def with_fetched(self, fetched: Mapping[Reference, Fetched]) -> Facts:
        """The same with what was fetched; what was found out of the schema is kept."""
        more = Facts(self.request, fetched, self._is_stopped)
        more.schema_notes = self.schema_notes
        more._schema_answer = self._schema_answer
        return more

    @property
    def schema_answer(self) -> str | SchemaUnusable | None:
        """What the schema has against the output, or why it cannot be asked; None if nothing."""
        if self._schema_answer is UNSET:
            self._schema_answer = self._ask_schema()
        return self._schema_answer

    @property
    def peers(self) -> Mapping[str, bytes]:
        """The conclusions of other candidates in the evidence, by their ids."""
        if self._peers is None:
            self._peers = peers(self._documents(), self.request.candidate_id, self._accepts)
        return self._peers

    @property
    def agreeing(self) -> int:
        """How many conclude as the candidate does, itself included."""
        if not self.peers:
            return 1
        own = conclusion(self.request.output)
        return 1 + sum(said == own for said in self.peers.values())

    @property
    def has_majority(self) -> bool:
        """More than half of the candidates conclude as this one; it is alone without peers."""
        return 2 * self.agreeing > len(self.peers) + 1

    @property
    def has_check_summary(self) -> bool:
        """The output says how it was checked, in a text that is not blank."""
        output = self.request.output
        said = output.get("check_summary") if isinstance(output, dict) else None
        return isinstance(said, str) and bool(trimmed(said))

    def crosscheck_score(self, *, by_peers: bool) -> float:
        """
        The score of the cross-check, before anything that makes it 0.

        Args:
            by_peers: Peers are asked in place of ``check_summary``, where there are any.
        """
        if self.schema_answer is not None:
            return FAILED_SCORE
        if by_peers and self.peers:
            return min(_share(self.agreeing, len(self.peers) + 1), MAX_PEER_SCORE)
        return MAX_PEER_SCORE if self.has_check_summary and self.has_majority else FAILED_SCORE

    def number(self, field: str) -> int | float | None:
        """The number in a field of the output; None where there is none."""
        output = self.request.output
        found = output.get(field) if isinstance(output, dict) else None
        return found if is_number(found) else None

    def _ask_schema(self) -> str | SchemaUnusable | None:
        schema, output = self.request.schema, self.request.output
        told = schema.minimal_refusal(output)
        if told is not None:
            return told
        try:
            told = schema.full_refusal(output, len(self.request.canonical))
        except SchemaUnusable as exc:
            return exc
        self.schema_notes = schema.notes
        return told

    def _accepts(self, output: JSON) -> bool:
        if self._is_stopped():
            raise Stopped
        try:
            return self.request.schema.accepts(output, len(canonical(output)))
        except SchemaUnusable:
            return False

    def _documents(self) -> Iterator[bytes]:
        for item in self.request.evidence_inline:
            if item.mime == JSON_MIME:
                content = item.content.encode()
                if len(content) <= MAX_CONTENT:
                    yield content
        for ref in self.request.evidence_refs:
            got = self.fetched.get(reference_of(ref)) if ref.mime == JSON_MIME else None
            if got is not None and got.data is not None:
                yield got.data


def _share(part: int, whole: int) -> float:
    """The share with four decimals, rounded half to even."""
    tenths, rest = divmod(part * 10_000, whole)
    up = 2 * rest > whole or (2 * rest == whole and tenths % 2 == 1)
    return (tenths + up) / 10_000
