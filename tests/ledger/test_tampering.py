"""Whatever is changed behind the ledger's back is named, with the number where it shows first."""

from __future__ import annotations

import pytest

from signoff.errors import LedgerCorrupt
from signoff.ledger import Head
from signoff.ledger.kept import COLUMNS
from signoff.ledger.line import FIRST_PREV, digest_of, read_line
from tests.ledger import sample_ledger as sample
from tests.ledger.sample_ledger import BAD_BYTES, GOOD_BYTES, note, tamper


def first_fault(place: str, *heads: Head) -> tuple[int, str]:
    with sample.ledger(place) as ledger:
        found = ledger.verify(*heads)
    assert not found.intact
    return found.faults[0].seq, found.faults[0].message


@pytest.fixture
def filled(place: str) -> str:
    sample.filled(place)
    return place


def line(place: str, seq: int) -> bytes:
    (found,) = sample.table(place, f"SELECT line FROM ledger_events WHERE seq = {seq}")
    return bytes(found[0])


COLUMN_CASES = [
    ("events", "at", "'2026-05-04T03:02:03.000Z'"),
    ("events", "type", "'other'"),
    ("events", "contract_id", "'other'"),
    ("events", "signature", "'sha256:0'"),
    ("verdicts", "contract_id", "'other'"),
    ("verdicts", "contract_digest", "'sha256:0'"),
    ("verdicts", "output_digest", "NULL"),
    ("verdicts", "outcome", "'passed'"),
    ("verdicts", "cause", "'bad_output'"),
    ("verdicts", "blockers", "'[]'"),
    ("verdicts", "isolation", "'L3'"),
    ("verdicts", "assurance", "'report'"),
    ("verdicts", "subject", "'T2'"),
    ("verdicts", "run", "''"),
    ("verdicts", "report_digest", "'sha256:0'"),
]


def test_cases_are_all_columns_that_a_line_or_a_report_vouches_for() -> None:
    listed = {name for table, name, _ in COLUMN_CASES if table == "verdicts"}

    assert set(COLUMNS) - {"seq", "report"} == listed


@pytest.mark.parametrize(("table", "column", "value"), COLUMN_CASES)
def test_changed_column_shows(filled: str, table: str, column: str, value: str) -> None:
    tamper(filled, f"UPDATE ledger_{table} SET {column} = {value} WHERE seq = 3")
    seq, message = first_fault(filled)

    assert 3 == seq
    assert column in message


def test_changed_verdict_is_not_read(filled: str) -> None:
    tamper(filled, "UPDATE ledger_verdicts SET outcome = 'passed', blockers = '[]' WHERE seq = 3")

    with sample.ledger(filled) as ledger:
        with pytest.raises(LedgerCorrupt, match=r"seq 3: outcome of the verdict"):
            [*ledger.verdicts()]
        with pytest.raises(LedgerCorrupt, match="seq 3"):
            ledger.verdict(3)


@pytest.mark.parametrize("report", [GOOD_BYTES, b"", b"{}", BAD_BYTES + b" "])
def test_changed_report_shows(filled: str, report: bytes) -> None:
    tamper(filled, "UPDATE ledger_verdicts SET report = ? WHERE seq = 3", values=(report,))

    assert (3, "the report is not the one that was recorded") == first_fault(filled)


def test_report_changed_with_its_digest_and_columns_shows_by_the_line(filled: str) -> None:
    tamper(
        filled,
        "UPDATE ledger_verdicts SET (outcome, blockers, output_digest, report_digest, report) ="
        " (SELECT outcome, blockers, output_digest, report_digest, report FROM ledger_verdicts"
        " WHERE seq = 2) WHERE seq = 3",
    )

    assert (3, "the report is not the one that was recorded") == first_fault(filled)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (b'"outcome":"passed"', b'"outcome":"failed"', "outcome"),
        (b'"outputDigest":"sha256:', b'"outputDigest":"sha256:0', "outputDigest"),
        (b'"contractId":"sample"', b'"contractId":"easier"', "contract_id"),
    ],
)
def test_last_line_that_says_otherwise_than_its_report_shows(
    place: str, old: bytes, new: bytes, named: str
) -> None:
    with sample.ledger(place) as ledger:
        ledger.record(sample.GOOD, GOOD_BYTES)
    forged = line(place, 1).replace(old, new)
    tamper(place, "UPDATE ledger_events SET line = ? WHERE seq = 1", values=(forged,))
    if named == "contract_id":
        tamper(place, "UPDATE ledger_events SET contract_id = 'easier' WHERE seq = 1")

    assert (1, f"{named} of the event is not that of the report") == first_fault(place)


def test_changed_line_shows_at_the_next(filled: str) -> None:
    forged = line(filled, 1).replace(b'"first":true', b'"first":false')
    tamper(filled, "UPDATE ledger_events SET line = ? WHERE seq = 1", values=(forged,))

    assert (2, "prev is not the digest of line 1: one of the two was changed") == first_fault(
        filled
    )


@pytest.mark.parametrize("forged", [b"", b"{}", b"null", b"\xff", b'{"seq":3}', b"[" * 10_000])
def test_line_that_is_no_event_shows(filled: str, forged: bytes) -> None:
    tamper(filled, "UPDATE ledger_events SET line = ? WHERE seq = 3", values=(forged,))
    seq, message = first_fault(filled)

    assert 3 == seq
    assert message.startswith("the line is no event")
    with sample.ledger(filled) as ledger:
        with pytest.raises(LedgerCorrupt, match="seq 3"):
            [*ledger.verdicts()]
        with pytest.raises(LedgerCorrupt, match="seq 3"):
            [*ledger.events()]


def test_removed_event_shows(filled: str) -> None:
    tamper(
        filled,
        "DELETE FROM ledger_verdicts WHERE seq = 4",
        "DELETE FROM ledger_events WHERE seq = 4",
    )

    assert (4, "is missing; the next is 5") == first_fault(filled)
    with sample.ledger(filled) as ledger, pytest.raises(LedgerCorrupt, match=r"seq 4: .* is 5"):
        [*ledger.events()]


def test_removed_first_event_shows(filled: str) -> None:
    tamper(filled, "DELETE FROM ledger_events WHERE seq = 1")

    assert (1, "is missing; the next is 2") == first_fault(filled)


def test_removed_verdict_shows(filled: str) -> None:
    tamper(filled, "DELETE FROM ledger_verdicts WHERE seq = 4")

    assert (4, "its verdict is missing") == first_fault(filled)


def test_verdict_that_no_line_speaks_of_shows(filled: str) -> None:
    others = ", ".join(name for name in COLUMNS if name != "seq")
    copy = f"INSERT INTO ledger_verdicts (seq, {others}) SELECT 1, {others} FROM ledger_verdicts"
    tamper(filled, f"{copy} WHERE seq = 2")

    assert (1, "there is a verdict that it does not speak of") == first_fault(filled)
    with sample.ledger(filled) as ledger, pytest.raises(LedgerCorrupt, match="seq 1"):
        ledger.verdict(1)


def test_verdict_without_an_event_shows(filled: str) -> None:
    if not filled.startswith("postgresql"):
        tamper(filled, "DELETE FROM ledger_events WHERE seq = 6")

        assert (6, "there is a verdict without an event") == first_fault(filled)
        return
    tamper(
        filled,
        "ALTER TABLE ledger_verdicts DROP CONSTRAINT ledger_verdicts_seq_fkey",
        "DELETE FROM ledger_events WHERE seq = 6",
    )

    assert (6, "there is a verdict without an event") == first_fault(filled)


def test_exchanged_lines_show(filled: str) -> None:
    three, five = line(filled, 3), line(filled, 5)
    tamper(filled, "UPDATE ledger_events SET line = ? WHERE seq = 3", values=(five,))
    tamper(filled, "UPDATE ledger_events SET line = ? WHERE seq = 5", values=(three,))

    assert (3, "seq of the row is not that of its line") == first_fault(filled)


def test_inserted_event_shows_at_the_next(filled: str) -> None:
    event = read_line(line(filled, 7))
    forged = line(filled, 7).replace(event.prev.encode(), digest_of(line(filled, 7)).encode())
    forged = forged.replace(b'"seq":7', b'"seq":8')
    tamper(
        filled,
        "INSERT INTO ledger_events SELECT 9, at, type, contract_id, signature, line"
        " FROM ledger_events WHERE seq = 7",
    )
    tamper(
        filled,
        "INSERT INTO ledger_events SELECT 8, at, type, contract_id, signature, ?"
        " FROM ledger_events WHERE seq = 7",
        values=(forged,),
    )

    assert (9, "seq of the row is not that of its line") == first_fault(filled)


def test_cut_tail_shows_by_a_head_alone(filled: str) -> None:
    with sample.ledger(filled) as ledger:
        head = ledger.head()
    tamper(
        filled,
        "DELETE FROM ledger_verdicts WHERE seq >= 6",
        "DELETE FROM ledger_events WHERE seq >= 6",
    )
    with sample.ledger(filled) as ledger:
        assert ledger.verify().intact

    assert (7, "is missing: a head was given for it, and the ledger ends at 5") == first_fault(
        filled, head
    )


def test_tail_written_anew_shows_by_a_head_alone(filled: str) -> None:
    with sample.ledger(filled) as ledger:
        head = ledger.head()
    tamper(filled, "DELETE FROM ledger_events WHERE seq = 7")
    with sample.ledger(filled) as ledger:
        ledger.append(note(number=5), note(number=6))
        assert ledger.verify().intact

    assert (7, "the line is not that of the head that was given") == first_fault(filled, head)


def test_another_ledger_in_its_place_shows_by_a_head_alone(filled: str) -> None:
    other = Head(seq=2, digest=digest_of(b"the second line of another"))

    assert (2, "the line is not that of the head that was given") == first_fault(filled, other)


def test_head_of_an_empty_ledger_is_that_of_every_ledger(filled: str) -> None:
    with sample.ledger(filled) as ledger:
        assert ledger.verify(Head(seq=0, digest=FIRST_PREV)).intact
    assert 0 == first_fault(filled, Head(seq=0, digest="1" * 64))[0]


def test_columns_of_another_type_are_faults_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = str(tmp_path_factory.mktemp("types") / "ledger.sqlite")
    sample.filled(place)
    tamper(
        place,
        "UPDATE ledger_events SET line = 'text', at = 5 WHERE seq = 2",
        "UPDATE ledger_verdicts SET report = 5, blockers = x'00' WHERE seq = 3",
        "UPDATE ledger_verdicts SET blockers = 7, outcome = 1.5 WHERE seq = 4",
    )
    with sample.ledger(place) as ledger:
        faults = ledger.verify().faults

        assert {2, 3, 4} == {fault.seq for fault in faults}
        with pytest.raises(LedgerCorrupt, match="seq 2"):
            [*ledger.verdicts()]
