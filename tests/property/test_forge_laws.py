"""Laws of the forge dialect."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from signoff.dialects.forge import (
    VerificationResult,
    VerificationStatus,
    chosen,
    overall_status,
    to_finding,
    to_result,
    verification_result_from_dict,
    verification_result_to_dict,
)
from signoff.dialects.forge.jsonform import copied, jsonable
from signoff.forge import truncate_utf8_bytes
from signoff.forge.truncation import last_text

TEXTS = st.text(alphabet=st.characters(codec=None), max_size=20)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.binary(), st.dates(), st.complex_numbers()
)  # fmt: skip
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.frozensets(st.one_of(st.integers(), TEXTS), max_size=4),
        st.dictionaries(
            st.one_of(TEXTS, st.integers(), st.booleans(), st.none()), inner, max_size=4
        ),
    ),
    max_leaves=8,
)
STATUSES = st.sampled_from(VerificationStatus)
RESULTS = st.builds(
    lambda status, summary, evidence, errors, warnings: VerificationResult(
        status, "a", summary, evidence, errors if status in {"fail", "warn"} else (), warnings
    ),
    STATUSES,
    TEXTS,
    st.dictionaries(TEXTS, ANYTHING, max_size=3),
    st.lists(TEXTS, max_size=3),
    st.lists(TEXTS, max_size=3),
)


class TestTruncation:
    """The longest prefix of whole characters that fits."""

    @given(TEXTS, st.integers(0, 50))
    def test_it_is_a_prefix_that_fits_and_none_is_longer(self, text: str, limit: int) -> None:
        safe = text.encode("utf-8", "replace").decode()
        cut = truncate_utf8_bytes(text, limit)

        assert safe.startswith(cut)
        assert len(cut.encode()) <= limit
        assert cut == safe or len(safe[: len(cut) + 1].encode()) > limit

    @given(st.binary(), st.integers(0, 50))
    def test_the_end_fits_too(self, data: bytes, limit: int) -> None:
        end = last_text(data, limit)

        assert len(end.encode()) <= limit
        assert data.decode("utf-8", "replace").endswith(end) or "\ufffd" in end


class TestSerialisation:
    """Whatever evidence holds, it becomes strict JSON, once and for all."""

    @given(ANYTHING)
    def test_it_survives_strict_json(self, value: Any) -> None:
        told = jsonable(value)

        assert told == json.loads(json.dumps(told, allow_nan=False))
        assert told == jsonable(told)

    @given(ANYTHING)
    def test_a_copy_is_told_alike(self, value: Any) -> None:
        assert jsonable(value) == jsonable(copied(value))

    @given(RESULTS)
    def test_a_result_that_was_told_comes_back(self, result: VerificationResult) -> None:
        told = verification_result_to_dict(result)
        back = verification_result_from_dict(told)

        assert told == verification_result_to_dict(back)
        assert back == verification_result_from_dict(json.loads(json.dumps(told)))


class TestTranslation:
    """A status is kept by the way through the core, and no failure becomes a pass."""

    @given(RESULTS)
    def test_there_and_back_keeps_the_status(self, result: VerificationResult) -> None:
        back = to_result("a", to_finding(result))

        assert result.status is back.status
        assert ("failure_class" in back.evidence) is (result.status == "fail")

    @given(st.lists(STATUSES, max_size=5))
    def test_the_total_passes_only_if_each_does(self, statuses: list[VerificationStatus]) -> None:
        results = [VerificationResult(status, "a", "s") for status in statuses]
        holds = overall_status(results) != "fail"

        assert holds is (bool(results) and all(one.status in {"pass", "warn"} for one in results))


class TestPolicy:
    """Some verifier always runs."""

    @given(st.one_of(ANYTHING, st.fixed_dictionaries({"verifier_ids": ANYTHING})))
    def test_there_are_always_ids(self, policy: Any) -> None:
        ids = chosen(policy).ids

        assert ids
        assert all(ids)
