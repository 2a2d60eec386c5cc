"""
The references of a candidate, fetched: what came of each, within caps and deadlines.

Nothing is fetched from a host that the operator did not name.  What cannot be had is
never a pass, and why it cannot decides between absent, wrong, denied, late and out of
reach; a limit of ours is never the fault of whoever made the reference.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from hashlib import sha256
from time import monotonic
from typing import Any, Final, Protocol

from msgspec import Struct

from signoff.canonical import is_digest
from signoff.dialects.wattswarm.evidence import Fetched, Reference
from signoff.errors import EvidenceCorrupt, EvidenceMissing, NotInstalled
from signoff.service.addresses import Network, network_of
from signoff.service.evidence_url import (
    HostRule,
    Place,
    allowing,
    host_rule,
    place_of,
    rest_below,
)
from signoff.status import Cause

__all__ = ["FetchSettings", "Fetcher"]

MAX_REFERENCES: Final = 32
MAX_REFERENCE_BYTES: Final = 8 * 2**20
MAX_REQUEST_BYTES: Final = 32 * 2**20
AT_ONCE: Final = 8
AT_ONCE_IN_ALL: Final = 32

# Where we give out our own evidence, at the root and where a runtime stands beside other parts.
_OWN: Final = re.compile(r"(?:wattswarm/)?evidence/(?:sha256:)?([0-9a-f]{64})")
_LATE: Final = Fetched(cause=Cause.EVIDENCE_TIMED_OUT, detail="the time for it ran out")


class Downloading(Protocol):
    """What gets one thing over the network."""

    def download(self, place: Place, *, max_bytes: int, named: bool, seconds: float) -> Fetched:
        """The bytes that are there, one more than ``max_bytes`` at most; or why there are none."""
        ...


class Kept(Protocol):
    """Our own evidence."""

    def read(self, digest: str) -> bytes:
        """The bytes of a digest; ``EvidenceMissing`` or ``EvidenceCorrupt``."""
        ...


class FetchSettings(Struct, frozen=True, kw_only=True):
    """
    What may be fetched, and how long it may take.

    Args:
        hosts: Nothing is fetched from any other host.
        networks: Addresses of named hosts that need not be public.
        public_url: Ours: what is below it is read from our own evidence; None without one.
        timeout_s: For one reference, from the look-up of its host to its last byte.
        total_s: For all references of a request.

    Raises:
        ValueError: A time is not more than 0, or the URL is none.
    """

    hosts: tuple[HostRule, ...] = ()
    networks: tuple[Network, ...] = ()
    public_url: str | None = None
    timeout_s: float = 5.0
    total_s: float = 15.0

    def __post_init__(self) -> None:
        if not (0 < self.timeout_s < float("inf") and 0 < self.total_s < float("inf")):
            raise ValueError("the time to fetch evidence must be more than 0 seconds")
        if self.public_url is not None:
            try:
                place_of(self.public_url)
            except ValueError as exc:
                message = str(exc).replace("the uri", "the public URL", 1)
                message = message.replace("expected https", "expected https or http")
                raise ValueError(message) from exc

    @classmethod
    def read(
        cls,
        *,
        hosts: Iterable[str] = (),
        networks: Iterable[str] = (),
        public_url: str | None = None,
        timeout_s: float = 5.0,
        total_s: float = 15.0,
    ) -> FetchSettings:
        """
        The settings that an operator writes.

        Raises:
            ValueError: One of them is not what it must be; says which in one sentence.
        """
        return cls(
            hosts=tuple(map(host_rule, hosts)),
            networks=tuple(map(network_of, networks)),
            public_url=public_url,
            timeout_s=timeout_s,
            total_s=total_s,
        )


class _Job(Struct, frozen=True, kw_only=True):
    """One thing to get, for all references that name it."""

    references: tuple[Reference, ...]
    max_bytes: int
    place: Place
    own: str | None = None
    named: bool = False


class Fetcher:
    """
    Fetches references; one for each process, whose tasks share it.

    Args:
        settings: What may be fetched.
        threads: Where our own evidence is read; servers are waited for in others.
        own: Our own evidence, read without a network.
        resolve: What a host and port lead to, in place of the system's answer.

    Raises:
        NotInstalled: Hosts are allowed, and what fetches from them is absent.
    """

    def __init__(
        self,
        settings: FetchSettings,
        threads: Executor,
        *,
        own: Kept | None = None,
        resolve: Callable[[str, int], Sequence[Any]] | None = None,
    ) -> None:
        self._settings = settings
        self._threads = threads
        self._own = own
        self._base = None if settings.public_url is None else place_of(settings.public_url)
        self._downloader = _downloader(settings, resolve) if settings.hosts else None
        self._in_all = asyncio.Semaphore(AT_ONCE_IN_ALL)
        # Apart, so that a stranger's slow server holds up nothing but other strangers.
        self._waiting = ThreadPoolExecutor(AT_ONCE_IN_ALL, "signoff-fetch")

    async def fetch_all(self, references: Sequence[Reference]) -> dict[Reference, Fetched]:
        """
        What came of each reference; equal ones are one, and the same bytes are fetched once.

        Args:
            references: All of a candidate, in its order: with more than 32 none is fetched.
        """
        if len(references) > MAX_REFERENCES:
            too_many = _refused(f"more than {MAX_REFERENCES} references, so none was fetched")
            return dict.fromkeys(references, too_many)
        found: dict[Reference, Fetched] = {}
        jobs = [*self._jobs(references, found)]
        if jobs:
            await self._fetch(jobs, found)
        return {reference: found.get(reference, _LATE) for reference in references}

    def close(self) -> None:
        """Begin nothing more; what is under way ends by its deadline."""
        self._waiting.shutdown(wait=False, cancel_futures=True)

    def _jobs(
        self, references: Sequence[Reference], found: dict[Reference, Fetched]
    ) -> Iterator[_Job]:
        """What there is to get; of the other references ``found`` says why they are not."""
        groups: dict[tuple[str, str], list[Reference]] = {}
        for reference in dict.fromkeys(references):
            fault = _fault(reference)
            if fault is None:
                groups.setdefault((reference.uri, reference.digest), []).append(reference)
            else:
                found[reference] = fault
        left = MAX_REQUEST_BYTES
        for group in groups.values():
            try:
                job = self._job(tuple(group), left)
            except ValueError as exc:
                found.update(dict.fromkeys(group, _refused(str(exc))))
            else:
                left -= job.max_bytes
                yield job

    def _job(self, references: tuple[Reference, ...], left: int) -> _Job:
        place = place_of(references[0].uri)
        max_bytes = max(reference.size_bytes for reference in references)
        if max_bytes > left:
            raise ValueError(f"the references before it leave {left} of {MAX_REQUEST_BYTES} bytes")
        below = None if self._base is None else rest_below(self._base, place)
        if below is not None:
            return _Job(references=references, max_bytes=max_bytes, place=place, own=below)
        rule = allowing(place, self._settings.hosts)
        if rule is None:
            scheme = "https" if place.tls else "http"
            raise ValueError(
                f"{scheme} to {place.host[:100]} on port {place.port} is not allowed here"
            )
        return _Job(references=references, max_bytes=max_bytes, place=place, named=rule.is_named)

    async def _fetch(self, jobs: Sequence[_Job], found: dict[Reference, Fetched]) -> None:
        """Add what came of the jobs by the end of the time for all of them."""
        ends = monotonic() + self._settings.total_s
        at_once = asyncio.Semaphore(AT_ONCE)
        tasks = [asyncio.ensure_future(self._fetched(job, at_once, ends)) for job in jobs]
        try:
            await asyncio.wait(tasks, timeout=self._settings.total_s)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for outcome in ended:
            if isinstance(outcome, dict):
                found.update(outcome)
            elif not isinstance(outcome, asyncio.CancelledError):
                raise outcome

    async def _fetched(
        self, job: _Job, at_once: asyncio.Semaphore, ends: float
    ) -> dict[Reference, Fetched]:
        loop = asyncio.get_running_loop()
        if job.own is not None:  # which waits for nobody
            return await loop.run_in_executor(self._threads, self._settled, job, ends)
        async with at_once, self._in_all:
            return await loop.run_in_executor(self._waiting, self._settled, job, ends)

    def _settled(self, job: _Job, ends: float) -> dict[Reference, Fetched]:
        """What came of each reference of a job, in a thread that may wait."""
        left = min(self._settings.timeout_s, ends - monotonic())
        if left <= 0:
            arrived = _LATE
        elif job.own is not None:
            arrived = self._read(job.own)
        else:
            assert self._downloader is not None  # for a host was allowed
            arrived = self._downloader.download(
                job.place, max_bytes=job.max_bytes, named=job.named, seconds=left
            )
        if arrived.data is None:
            return dict.fromkeys(job.references, arrived)
        digest = f"sha256:{sha256(arrived.data).hexdigest()}"
        return {one: _compared(one, arrived.data, digest) for one in job.references}

    def _read(self, below: str) -> Fetched:
        """Our own evidence at a path below our URL, without a network."""
        named = _OWN.fullmatch(below)
        if self._own is None or named is None:
            return Fetched(cause=Cause.EVIDENCE_MISSING, detail="nothing of ours is there")
        try:
            return Fetched(data=self._own.read(f"sha256:{named[1]}"))
        except EvidenceMissing:
            return Fetched(cause=Cause.EVIDENCE_MISSING, detail="nothing of ours is there")
        except EvidenceCorrupt:
            return _refused("our own copy is damaged")


def _downloader(
    settings: FetchSettings, resolve: Callable[[str, int], Sequence[Any]] | None
) -> Downloading:
    try:
        # Sockets, TLS and h11, which is an extra; needed only where a host is allowed.
        from signoff.service.download import Downloader, system_addresses
    except ImportError as exc:
        if exc.name != "h11":
            raise
        raise NotInstalled("fetching evidence from other hosts", "h11", "service") from exc
    return Downloader(networks=settings.networks, resolve=resolve or system_addresses)


def _fault(reference: Reference) -> Fetched | None:
    """Why a reference need not be looked for at all."""
    if not is_digest(reference.digest):
        return _corrupt("the digest is not sha256: and 64 lower-case hex digits")
    if reference.size_bytes > MAX_REFERENCE_BYTES:
        return _refused(f"larger than {MAX_REFERENCE_BYTES} bytes, so it was not fetched")
    return None


def _compared(reference: Reference, data: bytes, digest: str) -> Fetched:
    """The bytes, if they are those that the reference names; of others nothing is told."""
    if len(data) > reference.size_bytes:
        return _corrupt(f"more than {reference.size_bytes} bytes")
    if len(data) < reference.size_bytes:
        return _corrupt(f"fewer than {reference.size_bytes} bytes")
    if digest != reference.digest:
        return _corrupt("the bytes have another digest")
    return Fetched(data=data)


def _corrupt(detail: str) -> Fetched:
    return Fetched(cause=Cause.EVIDENCE_CORRUPT, detail=detail)


def _refused(detail: str) -> Fetched:
    return Fetched(cause=Cause.EVIDENCE_UNREACHABLE, detail=detail)
