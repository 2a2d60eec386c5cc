"""What is recorded is kept in order, is found again, and reads as it was; in both databases."""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from hashlib import sha256

import msgspec
import pytest

from signoff.canonical import digest_bytes
from signoff.errors import DatabaseUnusable, LedgerCorrupt
from signoff.ledger import Head, Note, open_ledger
from signoff.ledger.line import FIRST_PREV, broken
from signoff.status import Outcome
from tests.ledger import sample_ledger as sample
from tests.ledger.sample_ledger import BAD, BAD_BYTES, GOOD, GOOD_BYTES, note


def test_verdict_reads_as_it_was_recorded(place: str) -> None:
    with sample.ledger(place) as ledger:
        head = ledger.record(BAD, BAD_BYTES, subject="T1", run="/runs/1")
    with sample.ledger(place) as ledger:
        (found,) = ledger.verdicts()

    assert 1 == head.seq == found.seq
    assert "2026-05-04T03:02:02.987Z" == found.at
    assert ("sample", BAD.contract_digest) == (found.contract_id, found.contract_digest)
    assert BAD.output_digest == found.output_digest
    assert (Outcome.FAILED, None, ("few",)) == (found.outcome, found.cause, found.blockers)
    assert (None, None) == (found.isolation, found.assurance)
    assert ("T1", "/runs/1") == (found.subject, found.run)
    assert (digest_bytes(BAD_BYTES), BAD_BYTES) == (found.report_digest, found.report)


def test_isolation_and_assurance_are_kept(place: str) -> None:
    report = msgspec.structs.replace(GOOD, isolation="L2", assurance="report")
    with sample.ledger(place) as ledger:
        ledger.record(report, msgspec.json.encode(report))
        (found,) = ledger.verdicts()
        assert ledger.verify().intact

    assert ("L2", "report") == (found.isolation, found.assurance)


def test_events_are_numbered_without_gaps_and_chained(place: str) -> None:
    sample.filled(place)
    with sample.ledger(place) as ledger:
        lines, events = [*ledger.lines()], [*ledger.events()]
        head = ledger.head()

    assert [*range(1, 8)] == [event.seq for event in events]
    digests = [sha256(line).hexdigest() for line in lines]
    assert [FIRST_PREV, *digests[:-1]] == [event.prev for event in events]
    assert Head(seq=7, digest=digests[-1]) == head
    assert [] == [*broken(lines)]


def test_line_is_the_published_form(place: str) -> None:
    with sample.ledger(place) as ledger:
        ledger.record(GOOD, GOOD_BYTES, type="openspec.verify", data={"attempt": 2})
        (line,) = ledger.lines()

    expected = (
        '{"at":"2026-05-04T03:02:02.987Z","contractId":"sample",'
        f'"data":{{"attempt":2,"outcome":"passed","outputDigest":"{GOOD.output_digest}",'
        f'"reportDigest":"{digest_bytes(GOOD_BYTES)}"}},"prev":"{FIRST_PREV}","seq":1,'
        f'"signature":"{GOOD.contract_digest}","type":"openspec.verify"}}'
    )
    assert expected == line.decode()


def test_untouched_ledger_is_intact(place: str) -> None:
    sample.filled(place)
    with sample.ledger(place) as ledger:
        found = ledger.verify(ledger.head(), Head(seq=0, digest=FIRST_PREV))

    assert found.intact
    assert (7, 5) == (found.events, found.verdicts)


def test_empty_ledger_is_intact_and_holds_nothing(place: str) -> None:
    with sample.ledger(place) as ledger:
        assert ledger.verify().intact
        assert Head(seq=0, digest=FIRST_PREV) == ledger.head()
        assert [] == [*ledger.lines()]
        assert [] == [*ledger.verdicts()] == [*ledger.verdicts(last=3)]
        assert () == ledger.append()
        assert ledger.verdict(1) is None


def test_verdicts_are_found_by_what_they_are(place: str) -> None:
    sample.filled(place)
    with sample.ledger(place) as ledger:

        def seqs(**wanted: object) -> list[int]:
            return [one.seq for one in ledger.verdicts(**wanted)]  # type: ignore[arg-type]  # as given

        assert [2, 3, 4, 5, 6] == seqs()
        assert [3, 5] == seqs(outcome=Outcome.FAILED)
        assert [2, 3, 4] == seqs(subject="T1")
        assert [3] == seqs(subject="T1", outcome=Outcome.FAILED)
        assert [] == seqs(contract="other") == seqs(subject="a\0b") == seqs(subject="\ud800")
        assert [5, 6] == seqs(since=5) == seqs(last=2)
        assert [6] == seqs(since=6, last=2)
        assert [] == seqs(since=10**30)
        assert [4] == seqs(subject="T1", last=1)
        assert [2, 3, 4, 5, 6] == seqs(contract="sample", last=10**30)
        found = ledger.verdict(5)
        assert found is not None
        assert ("T2", BAD_BYTES) == (found.subject, found.report)
        assert ledger.verdict(1) is None
        assert ledger.verdict(7) is None
        assert [6, 7] == [event.seq for event in ledger.events(since=6)]


def test_more_than_a_page_is_read(place: str) -> None:
    with sample.ledger(place) as ledger:
        for _ in range(3):
            ledger.append(*(note(number=number) for number in range(99)))
            ledger.record(GOOD, GOOD_BYTES, also=[note()] * 103)
        found = ledger.verify()

        assert (609, 3, ()) == (found.events, found.verdicts, found.faults)
        assert 609 == len([*ledger.lines()])
        assert [100, 303, 506] == [one.seq for one in ledger.verdicts()]


def test_notes_of_a_verdict_follow_it_or_nothing_is_kept(place: str) -> None:
    with sample.ledger(place) as ledger:
        with pytest.raises(ValueError, match="reportDigest"):
            ledger.record(GOOD, GOOD_BYTES, also=[note(reportDigest="x")])
        ledger.record(GOOD, GOOD_BYTES, also=[note(a=1), note(a=2)])
        found = [event.data.get("a") for event in ledger.events()]

    assert [None, 1, 2] == found


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"reportDigest": "x"}, "may not hold reportDigest"),
        ({"a": float("nan")}, "not a JSON number"),
        ({"a": "\ud800"}, "surrogate"),
        ({1: "a"}, "is not a JSON key"),
        ({"a": {1}}, "not a JSON type"),
        ({"a": "x" * 2**20}, "larger than 1048576 bytes"),
        ({"a": 10**5000}, "digits"),
    ],
)
def test_what_cannot_be_kept_is_refused(place: str, data: dict[str, object], problem: str) -> None:
    with sample.ledger(place) as ledger:
        with pytest.raises(ValueError, match=problem):
            ledger.append(note(**data) if all(isinstance(k, str) for k in data) else _odd(data))
        ledger.append(note(b=1))
        assert ledger.verify().intact
        assert 1 == ledger.head().seq


def _odd(data: dict[str, object]) -> Note:
    return Note(type="t", contract_id="c", signature="s", data=data)


@pytest.mark.parametrize("odd", ["a\0b", "\ud800"])
def test_texts_that_no_database_keeps_are_refused(place: str, odd: str) -> None:
    with sample.ledger(place) as ledger:
        for field in ("subject", "run"):
            with pytest.raises(ValueError, match=field):
                ledger.record(GOOD, GOOD_BYTES, **{field: odd})  # type: ignore[arg-type]  # a text
        with pytest.raises(ValueError, match=r"contract_id|surrogate"):
            ledger.append(Note(type="t", contract_id=odd, signature="s"))
        assert 0 == ledger.head().seq


@pytest.mark.parametrize("name", ["outcome", "outputDigest", "reportDigest", "subject", "run"])
def test_what_the_line_says_of_a_verdict_is_not_for_others_to_say(place: str, name: str) -> None:
    with sample.ledger(place) as ledger, pytest.raises(ValueError, match=f"not hold {name}"):
        ledger.record(GOOD, GOOD_BYTES, data={name: "x"})


def test_foreign_contract_may_have_a_signature_of_its_own(place: str) -> None:
    with sample.ledger(place) as ledger:
        ledger.record(GOOD, GOOD_BYTES, signature="sha256:of-its-own")
        (event,) = ledger.events()

        assert "sha256:of-its-own" == event.signature
        assert ledger.verify().intact


def test_empty_type_is_refused(place: str) -> None:
    with sample.ledger(place) as ledger, pytest.raises(ValueError, match="type is empty"):
        ledger.append(Note(type="", contract_id="c", signature="s"))


def test_report_that_is_too_large_is_refused(place: str) -> None:
    with sample.ledger(place) as ledger, pytest.raises(ValueError, match="larger than"):
        ledger.record(GOOD, b"x" * (64 * 2**20 + 1))


def test_any_text_comes_back(place: str) -> None:
    odd = "é\u2028\U0001f600\"\\'%s?{}\n\x01\x7f\ue000"
    with sample.ledger(place) as ledger:
        ledger.append(Note(type=odd, contract_id=odd, signature=odd, data={odd: odd}))
        ledger.record(GOOD, GOOD_BYTES, subject=odd, run=odd)
        event, _ = ledger.events()
        (found,) = ledger.verdicts(subject=odd)

        assert (odd, odd, odd, {odd: odd}) == (
            event.type,
            event.contract_id,
            event.signature,
            event.data,
        )
        assert (odd, odd) == (found.subject, found.run)
        assert ledger.verify().intact


def test_clock_orders_nothing(place: str) -> None:
    clock = sample.Clock()
    with open_ledger(place, clock=clock) as ledger:
        ledger.append(note(a=1))
        clock.now -= timedelta(days=1)
        ledger.append(note(a=2))
        events = [*ledger.events()]

        assert events[0].at > events[1].at
        assert [1, 2] == [event.data["a"] for event in events]
        assert ledger.verify().intact


def test_threads_write_in_one_line(place: str) -> None:
    heads: list[Head] = []

    def work(number: int) -> None:
        for _ in range(3):
            heads.append(ledger.record(GOOD, GOOD_BYTES, subject=f"T{number}"))  # noqa: PERF401  in order

    with sample.ledger(place) as ledger:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = ledger.verify(*heads)

        assert (192, 192, ()) == (found.events, found.verdicts, found.faults)
        assert [*range(1, 193)] == sorted(head.seq for head in heads)
        assert all(3 == len([*ledger.verdicts(subject=f"T{n}")]) for n in range(0, 64, 9))


def test_two_ledgers_at_one_place_write_in_one_line(place: str) -> None:
    with sample.ledger(place) as one, sample.ledger(place) as other:
        for number in range(4):
            (one, other)[number % 2].append(note(number=number))

        assert [0, 1, 2, 3] == [event.data["number"] for event in one.events()]
        assert other.verify().intact


def test_reader_changes_nothing(place: str) -> None:
    sample.filled(place)
    with sample.ledger(place, may_write=False) as ledger:
        assert ledger.verify().intact
        with pytest.raises(DatabaseUnusable, match="reading only"):
            ledger.append(note())


def test_closed_ledger_is_refused(place: str) -> None:
    ledger = sample.ledger(place)
    ledger.close()
    ledger.close()

    with pytest.raises(DatabaseUnusable, match="was closed"):
        ledger.append(note())


def test_ledger_is_refused_after_a_fork_and_the_parent_goes_on(place: str) -> None:
    with sample.ledger(place) as ledger:
        ledger.append(note(of="parent"))
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            said = b"not refused"
            try:
                ledger.append(note(of="child"))
            except DatabaseUnusable as exc:
                said = str(exc).encode()
            finally:
                ledger.close()
                del ledger
                os.write(writer, said)
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            told = pipe.read()
        os.waitpid(child, 0)
        ledger.append(note(of="parent"))

        assert "opened before this process was forked" in told
        assert ["parent", "parent"] == [event.data["of"] for event in ledger.events()]
        assert ledger.verify().intact


def test_ledger_that_was_cut_meanwhile_is_written_no_more(place: str) -> None:
    with sample.ledger(place) as ledger:
        ledger.append(note(a=1), note(a=2))
        sample.tamper(place, "DELETE FROM ledger_events WHERE seq = 2")

        with pytest.raises(LedgerCorrupt, match=r"seq 2: .*no longer holds"):
            ledger.append(note(a=3))
    assert [(1,)] == sample.table(place, "SELECT seq FROM ledger_events")
