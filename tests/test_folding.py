"""Texts made comparable, whatever marks they carry."""

from __future__ import annotations

import sys
import time
from unicodedata import combining, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff import folding
from signoff.folding import folded, normalized

MARKS = "\u0301\u0316\u0345\u0f71\u0f72\u0f73\u0f75\u0f81\u0344\u3099\uff9e\uff9f\u0335"
LETTERS = "aé한ｶßﬁİ각 "


@pytest.mark.parametrize(
    "marks", ["\u0301\u0316", "\u0301\u0f73", "\u0301\uff9e", "\u0301\u0344\u0316"]
)
def test_prepared_marks_cost_no_more_than_their_number(marks: str) -> None:
    hostile = "a" + marks * 100_000
    start = time.process_time()
    found = folded(hostile)

    assert time.process_time() - start < 2
    assert len(hostile) - 1 <= len(found)


@given(
    st.text(alphabet=MARKS + LETTERS, max_size=120),
    st.text(alphabet=MARKS, min_size=40, max_size=200),
)
def test_sorting_long_runs_first_changes_nothing(before: str, marks: str) -> None:
    text = f"{before}{marks}{before}x" + "\n" * folding._LONG

    assert normalize("NFKC", text) == normalized(text)
    assert normalize("NFKC", normalize("NFKC", text).casefold()) == folded(text)


def test_hidden_marks_are_all_there_are() -> None:
    everything = map(chr, range(sys.maxunicode + 1))
    hidden = {c for c in everything if not combining(c) and combining(normalize("NFKD", c)[0])}

    assert hidden == set(map(chr, folding._HIDDEN_MARKS))
    for character in hidden:
        assert normalize("NFKD", character) == character.translate(folding._HIDDEN_MARKS)


def test_mark_made_of_marks_keeps_its_class() -> None:
    marks = [c for c in map(chr, range(sys.maxunicode + 1)) if combining(c)]

    assert marks
    for mark in marks:
        assert {combining(mark)} == set(map(combining, normalize("NFKD", mark)))


@given(st.text())
def test_folding_again_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


def test_ascii_is_folded_like_any_text() -> None:
    ascii_text = "".join(map(chr, range(128)))

    assert normalize("NFKC", ascii_text.casefold()) == folded(ascii_text)
    assert ascii_text == normalized(ascii_text)
