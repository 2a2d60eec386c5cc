"""Refusals as bodies: RFC 9457, small, and telling little of what was sent."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.service.message import Problem
from signoff.service.problem import (
    MAX_BYTES,
    MEDIA_TYPE,
    excerpt,
    internal,
    problem_response,
    title,
)


def test_members_are_those_of_the_standard_and_ours() -> None:
    response = problem_response(
        Problem(422, "wrong_shape", "expected a number", pointer="/a", headers=(("A", "b"),)), "id"
    )

    assert (422, MEDIA_TYPE, (("A", "b"),)) == (
        response.status,
        response.media_type,
        response.headers,
    )
    assert {
        "type": "about:blank",
        "title": "Unprocessable Entity",
        "status": 422,
        "detail": "expected a number",
        "code": "wrong_shape",
        "pointer": "/a",
        "request_id": "id",
    } == msgspec.json.decode(response.body)


def test_pointer_to_the_whole_is_shown() -> None:
    body = problem_response(Problem(422, "wrong_shape", "x", pointer=""), "id").body

    assert "" == msgspec.json.decode(body)["pointer"]


def test_errors_are_shown_as_far_as_there_is_room() -> None:
    few = [{"pointer": f"/{number}", "detail": "wrong"} for number in range(3)]
    many = [{"pointer": f"/{number}", "detail": "wrong" * 10} for number in range(1000)]

    shown = msgspec.json.decode(problem_response(Problem(422, "c", "d", errors=few), "i").body)
    cut = msgspec.json.decode(problem_response(Problem(422, "c", "d", errors=many), "i").body)

    assert few == shown["errors"]
    assert many[: len(cut["errors"])] == cut["errors"]
    assert 5 < len(cut["errors"]) < 1000


@given(detail=st.text(max_size=5000), pointer=st.none() | st.text(max_size=5000))
def test_problem_is_never_longer_than_two_kibibytes(detail: str, pointer: str | None) -> None:
    """Law: whatever is put into it, a problem is JSON and at most two kibibytes long."""
    body = problem_response(Problem(400, "bad_json", detail, pointer=pointer), "a" * 64).body

    assert MAX_BYTES >= len(body)
    assert 400 == msgspec.json.decode(body)["status"]


@pytest.mark.parametrize("detail", ["\x00" * 5000, "\ud800" * 900, "\N{BILLIARDS}" * 5000])
def test_odd_text_is_cut_and_made_plain(detail: str) -> None:
    body = problem_response(Problem(400, "bad_json", detail), "id").body

    assert MAX_BYTES >= len(body)
    assert msgspec.json.decode(body)["detail"]


@given(st.text())
def test_excerpt_is_short_and_printable(text: str) -> None:
    """Law: an excerpt has at most 200 characters, all of them printable."""
    shown = excerpt(text)

    assert 200 >= len(shown)
    assert shown.isprintable()


def test_internal_problem_says_nothing_of_the_fault() -> None:
    problem = internal()

    assert (500, "internal") == (problem.status, problem.code)


def test_titles_are_the_phrases_of_statuses() -> None:
    assert [status.phrase for status in HTTPStatus] == [title(status) for status in HTTPStatus]
    assert "" == title(499)
