"""Laws of a run on disk, whatever its files hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.canonical import canonical_bytes
from signoff.engine import judge
from signoff.errors import RunUnreadable
from signoff.evidence import DirectoryStore
from signoff.model import Subject
from signoff.record import Recorded, assess, compose, encode_verdict, subject_of
from signoff.strictjson import Limits
from tests import sample_run as sample

DOCUMENTS = ("contract.json", "facts.json", "report.json")

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.sampled_from(
        ["pass", "fail", "passed", "few", "sha256:" + "0" * 64, "0001-01-01T00:00:00Z"]
    )
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=3
        )
    ),
    max_leaves=6,
)


class Kept(msgspec.Struct, frozen=True):
    """A whole run in memory."""

    files: Mapping[str, bytes]
    evidence: Mapping[str, int]
    verdict: bytes


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder: Path = sample.written(tmp_path_factory.mktemp("laws") / "run")
    names = (*DOCUMENTS, "output.json")
    evidence, _ = DirectoryStore(folder / "evidence").listing()
    files = {name: (folder / name).read_bytes() for name in names}
    return Kept(files, evidence, (folder / "verdict.json").read_bytes())


def assessed(files: Mapping[str, bytes], kept: Kept, verdict: bytes | None) -> Recorded | None:
    try:
        return assess(files, kept.evidence, verdict)
    except RunUnreadable:
        return None


def test_the_run_itself_is_whole(kept: Kept) -> None:
    assert assess(kept.files, kept.evidence, kept.verdict).report.passed


class TestOnlyTheTrueVerdictReads:
    """Of all bytes, those that follow from the other files are the only verdict."""

    @given(data=st.binary(max_size=300))
    def test_random_bytes(self, kept: Kept, data: bytes) -> None:
        assert None is assessed(kept.files, kept, data)

    @given(value=values)
    def test_random_documents(self, kept: Kept, value: Any) -> None:
        data = msgspec.json.format(json.dumps(value).encode(), indent=2) + b"\n"

        assert None is assessed(kept.files, kept, data)

    @given(chance=st.data())
    def test_edited_verdicts(self, kept: Kept, chance: st.DataObject) -> None:
        edited = chance.draw(splices(kept.verdict))

        assert (edited == kept.verdict) is (assessed(kept.files, kept, edited) is not None)

    @given(chance=st.data())
    def test_edited_members(self, kept: Kept, chance: st.DataObject) -> None:
        document = json.loads(kept.verdict)
        replace_somewhere(document, chance)
        data = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"

        assert (data == kept.verdict) is (assessed(kept.files, kept, data) is not None)


class TestEveryByteCounts:
    """Whatever is changed in a file, the run no longer reads."""

    @given(chance=st.data())
    def test_edited_files(self, kept: Kept, chance: st.DataObject) -> None:
        name = chance.draw(st.sampled_from(sorted(kept.files)))
        edited = chance.draw(splices(kept.files[name]))
        found = assessed({**kept.files, name: edited}, kept, kept.verdict)

        assert (edited == kept.files[name]) is (found is not None)


class TestForgedFilesAgreeOrDoNotRead:
    """However a document is edited, what reads has one result for each criterion and their verdict."""

    @given(chance=st.data())
    def test_forged_documents(self, kept: Kept, chance: st.DataObject) -> None:
        name = chance.draw(st.sampled_from(DOCUMENTS))
        document = json.loads(kept.files[name])
        replace_somewhere(document, chance)
        data = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
        found = assessed({**kept.files, name: data}, kept, None)

        if found is not None:
            criteria = found.locked.contract.criteria
            assert [c.id for c in criteria] == [r.criterion for r in found.report.results]
            assert judge(criteria, found.report.results) == found.report.verdict
            assert found.report.verdict.outcome is found.verdict.outcome
            assert found.subject.digest() == found.report.output_digest


class TestRoundTrip:
    """What is written is what is read, and is written the same again."""

    @given(output=values, input=values, elapsed=st.none() | st.floats(0, 1e300))
    def test_round_trip(self, output: Any, input: Any, elapsed: float | None) -> None:
        data = canonical_bytes(output)
        subject = subject_of(data, input=input, elapsed_s=elapsed)
        self.check(subject, data, text=False)

    @given(data=st.binary(max_size=40), text=st.booleans())
    def test_round_trip_of_any_bytes(self, data: bytes, text: bool) -> None:
        self.check(subject_of(data, text=text), data, text=text)

    def check(self, subject: Subject, data: bytes, *, text: bool) -> None:
        locked = sample.locked()
        report = sample.engine().verify(locked, subject)
        files = compose(locked, report, subject, output=data, text=text, limits=Limits())
        found = assess(files, {})
        again = compose(
            found.locked, found.report, found.subject, output=data, text=text, limits=found.limits
        )

        assert files == again
        assert report.verdict == found.report.verdict
        assert subject.digest() == found.subject.digest()
        assert found == assess(again, {}, encode_verdict(found.verdict))


@st.composite
def splices(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with a part of them replaced, often by a part of themselves."""
    start = draw(st.integers(0, len(data)))
    end = draw(st.integers(start, min(len(data), start + 20)))
    other = draw(st.integers(0, len(data)))
    put = draw(st.binary(max_size=4) | st.just(data[other : other + 20]))
    return data[:start] + put + data[end:]


def replace_somewhere(document: Any, chance: st.DataObject) -> None:
    """Put a random value at a random place of a document, or drop or double what is there."""
    at = document
    while True:
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = chance.draw(st.sampled_from(keys))
        inner = at[key]
        if not isinstance(inner, (dict, list)) or not inner or chance.draw(st.booleans()):
            break
        at = inner
    what = chance.draw(st.sampled_from(["put", "drop", "double"]))
    if what == "put":
        at[key] = chance.draw(values)
    elif what == "drop":
        del at[key]
    elif isinstance(at, list):
        at.append(inner)
    else:
        at[f"{key}2"] = inner
