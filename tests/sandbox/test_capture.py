from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from signoff.sandbox.capture import Capture


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(0, 50), st.integers(0, 50))
def test_head_and_tail_are_the_beginning_and_the_end(
    parts: list[bytes], head: int, tail: int
) -> None:
    """However it comes in parts: nothing is kept twice, and what is omitted is counted."""
    capture = Capture(head, tail)
    for part in parts:
        capture.take(part)
    whole, captured = b"".join(parts), capture.captured()
    rest = whole[head:]

    assert whole[:head] == captured.head
    assert (rest[-tail:] if tail else b"") == captured.tail
    assert len(whole) == captured.size
    assert max(0, len(whole) - head - tail) == captured.omitted
    assert f"sha256:{sha256(whole).hexdigest()}" == captured.digest


def test_memory_is_bounded() -> None:
    capture = Capture(1_000, 1_000)
    chunk = bytes(300)
    for _ in range(10_000):
        capture.take(chunk)

    assert sum(map(len, capture._tail)) <= 1_300
    assert 3_000_000 == capture.captured().size
