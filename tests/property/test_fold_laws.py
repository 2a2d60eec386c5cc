"""The seven laws of the fold, each as a property of ``judge``."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from signoff.engine import judge
from signoff.model import Criterion, Finding, Result, Verdict
from signoff.status import Cause, Outcome, Status

IDS = st.sampled_from("abcde")
FINDINGS = st.builds(
    lambda status, cause: Finding(status=status, detail="", cause=None if status.holds else cause),
    st.sampled_from(Status),
    st.none() | st.sampled_from(Cause),
)
RESULTS = st.lists(st.builds(lambda id_, f: Result(criterion=id_, finding=f), IDS, FINDINGS))
CRITERIA = st.lists(
    st.builds(lambda id_, r: Criterion(id=id_, verifier="v", required=r), IDS, st.booleans()),
    unique_by=lambda criterion: criterion.id,
)


def badness(verdict: Verdict) -> int:
    return list(Outcome).index(verdict.outcome)


class TestClosed:
    """Every verdict has one of the three outcomes, and one result alone gives its own."""

    @given(CRITERIA, RESULTS)
    def test_outcome_is_one_of_three(
        self, criteria: list[Criterion], results: list[Result]
    ) -> None:
        assert judge(criteria, results).outcome in Outcome

    @given(FINDINGS)
    def test_one_result_gives_its_own_outcome(self, finding: Finding) -> None:
        verdict = judge([Criterion(id="a", verifier="v")], [Result(criterion="a", finding=finding)])

        assert finding.status.outcome is verdict.outcome


class TestMonotone:
    """A worse result never gives a better verdict."""

    @given(CRITERIA, RESULTS, st.data())
    def test_worse_result_is_no_better(
        self, criteria: list[Criterion], results: list[Result], data: st.DataObject
    ) -> None:
        if not results:
            return
        index = data.draw(st.integers(0, len(results) - 1))
        worse = data.draw(FINDINGS)
        if worse.status.rank < results[index].finding.status.rank:
            return
        changed = list(results)
        changed[index] = Result(criterion=results[index].criterion, finding=worse)

        assert badness(judge(criteria, changed)) >= badness(judge(criteria, results))

    @given(CRITERIA, RESULTS, st.data())
    def test_one_more_result_never_turns_a_blocker_into_a_pass(
        self, criteria: list[Criterion], results: list[Result], data: st.DataObject
    ) -> None:
        answered = {result.criterion for result in results}
        id_ = data.draw(IDS)
        if id_ not in answered:
            return
        more = [*results, Result(criterion=id_, finding=data.draw(FINDINGS))]

        assert badness(judge(criteria, more)) >= badness(judge(criteria, results))

    @given(CRITERIA, RESULTS)
    def test_making_a_criterion_required_is_no_better(
        self, criteria: list[Criterion], results: list[Result]
    ) -> None:
        if not any(criterion.required for criterion in criteria):
            return
        stricter = [Criterion(id=criterion.id, verifier="v") for criterion in criteria]

        assert badness(judge(stricter, results)) >= badness(judge(criteria, results))


class TestLossless:
    """A criterion without a result counts as an error: a lost result is never a pass."""

    @given(CRITERIA, RESULTS, IDS)
    def test_dropping_results_never_passes(
        self, criteria: list[Criterion], results: list[Result], id_: str
    ) -> None:
        kept = [result for result in results if result.criterion != id_]
        verdict = judge(criteria, kept)

        if any(criterion.required and criterion.id == id_ for criterion in criteria):
            assert Outcome.FAILED is verdict.outcome
            assert id_ in verdict.blockers

    def test_lost_result_is_named(self) -> None:
        verdict = judge([Criterion(id="a", verifier="v")], [])

        assert Verdict(outcome=Outcome.FAILED, cause=Cause.NO_RESULT, blockers=("a",)) == verdict


class TestEmptyFails:
    """Nothing checked is not a pass."""

    @given(RESULTS)
    def test_no_criteria(self, results: list[Result]) -> None:
        assert Outcome.FAILED is judge([], results).outcome

    @given(CRITERIA, RESULTS)
    def test_only_advisory_criteria(self, criteria: list[Criterion], results: list[Result]) -> None:
        advisory = [Criterion(id=one.id, verifier="v", required=False) for one in criteria]

        assert Outcome.FAILED is judge(advisory, results).outcome


class TestOrderAndRepetition:
    """The order of results and their repetition do not matter."""

    @given(CRITERIA, RESULTS, st.randoms(use_true_random=False))
    def test_shuffled_and_doubled(
        self, criteria: list[Criterion], results: list[Result], random: st.DataObject
    ) -> None:
        shuffled = [*results, *results]
        random.shuffle(shuffled)  # type: ignore[attr-defined]  # a random.Random

        assert judge(criteria, results) == judge(criteria, shuffled)


class TestExplained:
    """A verdict that is no pass names its blockers, in contract order; a pass has none."""

    @given(CRITERIA, RESULTS)
    def test_blockers_are_the_required_criteria_that_do_not_hold(
        self, criteria: list[Criterion], results: list[Result]
    ) -> None:
        verdict = judge(criteria, results)
        required = [criterion.id for criterion in criteria if criterion.required]
        by_id: dict[str, list[Status]] = {}
        for result in results:
            by_id.setdefault(result.criterion, []).append(result.finding.status)

        expected = tuple(
            id_ for id_ in required if not by_id.get(id_) or not all(s.holds for s in by_id[id_])
        )
        assert expected == verdict.blockers
        if required:
            assert (verdict.outcome is Outcome.PASSED) is not bool(verdict.blockers)

    @given(CRITERIA, RESULTS)
    def test_a_pass_has_no_cause(self, criteria: list[Criterion], results: list[Result]) -> None:
        verdict = judge(criteria, results)

        assert verdict.outcome is not Outcome.PASSED or verdict.cause is None


class TestTotal:
    """Every combination of status and cause has a verdict, and advisory results never change it."""

    def test_every_status_and_cause(self) -> None:
        criteria = [Criterion(id="a", verifier="v")]
        for status in Status:
            for cause in (None, *Cause):
                finding = Finding(status=status, detail="", cause=cause)
                verdict = judge(criteria, [Result(criterion="a", finding=finding)])

                assert status.outcome is verdict.outcome
                assert verdict.cause is (None if status.holds else cause)

    @given(CRITERIA, RESULTS, FINDINGS)
    def test_advisory_results_decide_nothing(
        self, criteria: list[Criterion], results: list[Result], finding: Finding
    ) -> None:
        advisory = Criterion(id="advisory", verifier="v", required=False)
        more = [*results, Result(criterion="advisory", finding=finding)]

        assert judge(criteria, results) == judge([*criteria, advisory], more)
