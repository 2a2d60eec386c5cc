"""What was agreed of titles."""

from __future__ import annotations

from slug import slug


def test_words_are_joined() -> None:
    assert slug("Hello World") == "hello-world"


def test_spaces_at_the_ends_go() -> None:
    assert slug(" Hello ") == "hello"
