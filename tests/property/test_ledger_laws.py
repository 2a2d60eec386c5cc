"""Laws of a ledger, whatever is recorded and whatever is done to it afterwards."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.canonical import canonical_bytes
from signoff.ledger import Head, Note, open_ledger
from signoff.ledger.line import FIRST_PREV, broken, digest_of, draft, read_line
from tests.ledger import sample_ledger as sample

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | texts | floats
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
data = st.dictionaries(texts, values, max_size=3).filter(lambda one: "reportDigest" not in one)
times = st.datetimes(min_value=datetime(1970, 1, 2), timezones=st.just(UTC))  # noqa: DTZ001  the zone is beside it
facts = st.tuples(texts.filter(bool), texts, texts, data, times)


def chain(events: list[tuple[str, str, str, dict[str, Any], datetime]]) -> list[bytes]:
    lines: list[bytes] = []
    prev = FIRST_PREV
    for seq, (type_, contract_id, signature, more, at) in enumerate(events, 1):
        made = draft(type_, contract_id=contract_id, signature=signature, data=more, at=at)
        lines.append(made.line(seq, prev))
        prev = digest_of(lines[-1])
    return lines


class TestWhole:
    """What was written in line is whole, and each line is canonical and reads as it was."""

    @given(st.lists(facts, max_size=5))
    def test_whole(self, events: list[Any]) -> None:
        lines = chain(events)

        assert [] == [*broken(lines)]
        for line, (type_, contract_id, signature, more, _) in zip(lines, events, strict=True):
            event = read_line(line)
            assert (type_, contract_id, signature) == (
                event.type,
                event.contract_id,
                event.signature,
            )
            assert canonical_bytes(more) == canonical_bytes(event.data)


class TestTampering:
    """Any other bytes, a lost, doubled or moved line break the chain, or change its head."""

    @given(st.lists(facts, min_size=1, max_size=5), st.data())
    def test_tampering(self, events: list[Any], chosen: st.DataObject) -> None:
        lines = chain(events)
        forged = chosen.draw(self.forgeries(lines).filter(lambda other: other != lines))

        assert [*broken(forged)] or not forged or digest_of(forged[-1]) != digest_of(lines[-1])

    @staticmethod
    def forgeries(lines: list[bytes]) -> st.SearchStrategy[list[bytes]]:
        place = st.integers(0, len(lines) - 1)

        def edited(at: int, byte: int, value: int) -> list[bytes]:
            line = lines[at]
            byte %= len(line)
            return [
                *lines[:at],
                line[:byte] + bytes([value]) + line[byte + 1 :],
                *lines[at + 1 :],
            ]

        return st.one_of(
            st.permutations(lines),
            place.map(lambda at: lines[:at] + lines[at + 1 :]),
            place.map(lambda at: lines[: at + 1] + lines[at:]),
            st.builds(edited, place, st.integers(0, 2000), st.integers(0, 255)),
        )


class TestKept:
    """What was acknowledged is there, in the order of its numbers, after it is opened again."""

    @settings(max_examples=30)  # each opens several files and flushes them
    @given(st.lists(st.lists(facts, min_size=1, max_size=3) | st.booleans(), max_size=6))
    def test_kept(self, groups: list[Any]) -> None:
        heads: list[Head] = []
        with TemporaryDirectory() as folder:
            place = Path(folder) / "ledger.sqlite"
            for group in groups:
                with open_ledger(place) as ledger:
                    if isinstance(group, bool):
                        report, written = (
                            (sample.GOOD, sample.GOOD_BYTES)
                            if group
                            else (sample.BAD, sample.BAD_BYTES)
                        )
                        heads.append(ledger.record(report, written))
                        continue
                    notes = [
                        Note(type=type_, contract_id=id_, signature=signature, data=more)
                        for type_, id_, signature, more, _ in group
                    ]
                    heads += ledger.append(*notes)
            with open_ledger(place) as ledger:
                found = ledger.verify(*heads)
                outcomes = [one.outcome.value == "passed" for one in ledger.verdicts()]

        assert found.intact
        assert [*range(1, found.events + 1)] == [head.seq for head in heads]
        assert [group for group in groups if isinstance(group, bool)] == outcomes


@pytest.mark.parametrize("count", [0, 1])
def test_shortest_chains_are_whole(count: int) -> None:
    assert [] == [*broken(chain([("t", "c", "s", {}, sample.WHEN)] * count))]
