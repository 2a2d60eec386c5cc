"""The end of what a command printed stands below its line."""

from __future__ import annotations

from msgspec.structs import replace

from signoff.cli.printed import MAX_LINES, printed_lines
from signoff.evidence import MemoryStore
from signoff.model import Evidence, Finding, failed


def finding_with(store: MemoryStore, **streams: bytes) -> Finding:
    kept = tuple(store.put(data, name=name) for name, data in streams.items())
    return replace(failed("exit 1, expected 0"), evidence=kept)


def test_the_last_lines_of_both_streams_are_shown() -> None:
    store = MemoryStore()
    finding = finding_with(store, stdout=b"one\n\ntwo\n", stderr=b"boom\n")

    assert [("stdout", "one"), ("stdout", "two"), ("stderr", "boom")] == [
        *printed_lines(finding, store.read)
    ]


def test_only_the_end_is_shown() -> None:
    store = MemoryStore()
    finding = finding_with(store, stderr=b"".join(b"%d\n" % i for i in range(100)))

    lines = [*printed_lines(finding, store.read)]

    assert MAX_LINES == len(lines)
    assert ("stderr", "99") == lines[-1]


def test_what_is_printed_cannot_steer_the_terminal() -> None:
    store = MemoryStore()
    finding = finding_with(store, stderr=b"\x1b[2Jgone\xff\r\n")

    assert [("stderr", "\\u001b[2Jgone\ufffd")] == [*printed_lines(finding, store.read)]


def test_evidence_that_is_not_there_is_left_out() -> None:
    lost = Evidence(digest=f"sha256:{'0' * 64}", size=1, name="stderr")

    assert not [*printed_lines(replace(failed("no"), evidence=(lost,)), MemoryStore().read)]


def test_other_evidence_is_no_print() -> None:
    store = MemoryStore()

    assert not [*printed_lines(finding_with(store, picture=b"x"), store.read)]
