"""What waits is written together, and nobody waits for someone who went away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from signoff.ledger.group import Group, NotWritten

Take = Callable[[], Sequence[int]]
WAIT_S = 10


class Disk:
    """Writes when it is let, and keeps what was written together."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.writing, self.go = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def write(self, take: Take) -> list[int]:
        batch = [*take()]
        self.writing.set()
        assert self.go.wait(WAIT_S)
        if self.error:
            error, self.error = self.error, None
            raise error
        self.batches.append(batch)
        return [entry * 10 for entry in batch]


class Client(threading.Thread):
    def __init__(self, group: Group[int, int], entry: int) -> None:
        super().__init__(daemon=True)
        self.group, self.entry = group, entry
        self.answer: int | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.answer = self.group.submit(self.entry)
        except BaseException as exc:
            self.error = exc


def waiting(group: Group[int, int], count: int) -> None:
    """Until so many wait."""
    while len(group._waiting) < count:
        threading.Event().wait(0.001)


def started(group: Group[int, int], disk: Disk, count: int) -> list[Client]:
    """One who writes, and others who wait meanwhile."""
    clients = [Client(group, number) for number in range(count)]
    clients[0].start()
    assert disk.writing.wait(WAIT_S)
    for number, client in enumerate(clients[1:], 1):
        client.start()
        waiting(group, number)
    return clients


def ended(clients: Sequence[Client]) -> None:
    for client in clients:
        client.join(WAIT_S)
        assert not client.is_alive()


def test_what_waits_is_written_together_and_in_order() -> None:
    disk = Disk()
    group: Group[int, int] = Group(disk.write)
    clients = started(group, disk, 40)
    disk.go.set()
    ended(clients)

    assert [[0], [*range(1, 40)]] == disk.batches
    assert [number * 10 for number in range(40)] == [client.answer for client in clients]


def test_batch_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signoff.ledger.group.MAX_BATCH", 3)
    disk = Disk()
    group: Group[int, int] = Group(disk.write)
    clients = started(group, disk, 6)
    disk.go.set()
    ended(clients)

    assert [[0], [1, 2, 3], [4, 5]] == disk.batches


def test_error_is_told_to_all_in_the_batch_and_to_nobody_else() -> None:
    disk = Disk()
    group: Group[int, int] = Group(disk.write)
    clients = started(group, disk, 4)
    disk.error = OSError("full")
    disk.go.set()
    ended(clients)

    assert ["full", "None", "None", "None"] == [str(client.error) for client in clients]
    assert [None, 10, 20, 30] == [client.answer for client in clients]


def test_error_before_anything_was_taken_is_told_to_all_who_wait() -> None:
    def write(take: Take) -> list[int]:
        raise OSError("locked")

    group: Group[int, int] = Group(write)
    with pytest.raises(OSError, match="locked"):
        group.submit(1)
    with pytest.raises(OSError, match="locked"):
        group.submit(2)


def test_one_who_writes_and_is_interrupted_leaves_nobody_waiting() -> None:
    disk = Disk()
    real, first = disk.write, True

    def write(take: Take) -> list[int]:
        nonlocal first
        if not first:
            return real(take)
        first = False
        take()
        disk.writing.set()
        assert disk.go.wait(WAIT_S)
        raise KeyboardInterrupt

    group: Group[int, int] = Group(write)
    clients = started(group, disk, 3)
    disk.go.set()
    ended(clients)

    assert isinstance(clients[0].error, KeyboardInterrupt)
    assert [10, 20] == [client.answer for client in clients[1:]]


def test_those_written_by_one_who_was_interrupted_are_told() -> None:
    disk = Disk()
    real, count = disk.write, 0

    def write(take: Take) -> list[int]:
        nonlocal count
        count += 1
        if count != 2:
            return real(take)
        take()
        raise KeyboardInterrupt

    group: Group[int, int] = Group(write)
    clients = started(group, disk, 3)
    disk.go.set()
    ended(clients)

    assert 0 == clients[0].answer
    assert isinstance(clients[1].error, KeyboardInterrupt)
    assert isinstance(clients[2].error, NotWritten)


def test_one_who_is_interrupted_while_waiting_is_not_written() -> None:
    disk = Disk()
    group: Group[int, int] = Group(disk.write)
    clients = started(group, disk, 3)
    group._leave(group._waiting[0])
    disk.go.set()
    ended([clients[0], clients[2]])

    assert [[0], [2]] == disk.batches


def test_one_who_is_interrupted_when_it_is_to_write_lets_the_next_one() -> None:
    disk = Disk()
    disk.go.set()
    group: Group[int, int] = Group(disk.write)
    group._busy = True  # as if somebody wrote
    clients = [Client(group, number) for number in range(2)]
    for number, client in enumerate(clients, 1):
        client.start()
        waiting(group, number)
    group._waiting[0].leads = True
    group._leave(group._waiting[0])
    ended(clients[1:])

    assert [[1]] == disk.batches
