"""Text includes required terms."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from operator import contains
from typing import Annotated, Any, Literal
from unicodedata import category

from msgspec import Struct

from signoff.errors import ParamsError
from signoff.folding import folded, normalized
from signoff.items import Field, Problem, column, failure, first_problem, listed, of_value_or_items
from signoff.jsonvalue import JSON, MISSING, parse_pointer
from signoff.model import Finding, Subject, held, passed
from signoff.params import Pointer, array_of, field_name, integer, text
from signoff.registry import Check, reads, verifier

TEXT_ALONE = frozenset({str})
Mode = Literal["all", "any", "none"]
Terms = Annotated[
    tuple[str, ...],
    array_of(text(least=1), "array of 1 or more different non-empty strings"),
]
TextField = Annotated[str, field_name("field name of the text in an object or item")]
Occurrences = Annotated[int, integer(ge=1)]


@verifier
def contains_terms(
    *,
    terms: Terms,
    mode: Mode = "all",
    case_sensitive: bool = False,
    whole_word: bool = False,
    min_count: Occurrences | None = None,
    field: TextField | None = None,
    path: Pointer = "",
) -> Check:
    """
    A text contains all of the terms, any of them, or none; of an array each text does.

    Full-width letters, ligatures and composed accents are equal to their plain
    spellings, and so are upper and lower case unless asked otherwise.  An empty
    array is a warning.

    Args:
        terms: What to look for; different after normalisation.
        mode: "all", "any", or "none" for terms that are forbidden.
        case_sensitive: True tells upper from lower case.
        whole_word: True where no letter, mark, digit or ``_`` may touch a term; wrong for
            scripts that write without spaces.
        min_count: How often a term must occur, not overlapping; once when absent.
        field: Key of the text in the object or in each item, or a pointer inside it.
        path: RFC 6901 pointer to the text, object or array; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    if mode == "none" and min_count is not None:
        raise ParamsError('params.min_count excludes mode "none"', where="/min_count")
    prepared = folded if not case_sensitive else normalized
    looked_for = tuple(map(prepared, terms))
    if len({*looked_for}) < len(looked_for):
        raise ParamsError(
            "params.terms must be array of 1 or more different non-empty strings", where="/terms"
        )
    claim = _Claim(
        mode=mode,
        terms=terms,
        looked_for=looked_for,
        prepared=prepared,
        whole_word=whole_word,
        needed=min_count or 1,
    )
    return _check(claim, None if field is None else Field.named(field), path)


def _check(claim: _Claim, at: Field | None, path: str) -> Check:
    def judged(item: JSON, what: str) -> int | Problem:
        """How many terms the text has, or what is wrong with it."""
        value = item if at is None else at.of(item)
        tokens = () if at is None or value is MISSING else at.tokens
        if not isinstance(value, str):
            return Problem(text=f"{what} is not text.", tokens=tokens)
        counts = claim.counts(value)
        complaint = claim.complaint(counts)
        return claim.found(counts) if complaint is None else Problem(text=complaint, tokens=tokens)

    def problem_of(item: JSON) -> Problem | None:
        answer = judged(item, "Item")
        return answer if isinstance(answer, Problem) else None

    def check(subject: Subject) -> Finding:
        value = subject.value(path)
        if type(value) is list:
            texts = value if at is None else column(value, at)
            certain = texts is not None and claim.surely_holds(texts)
            found = None if certain else first_problem(value, path, problem_of)
            detail = f"All {len(value)} items: terms found ({claim.mode})."
            return found or held(detail, items=len(value))
        answer = judged(value, "Output")
        if isinstance(answer, Problem):
            return failure(answer, path, None)
        return passed(f"Contains {answer}/{len(claim.terms)} terms ({claim.mode}).")

    return reads(check, *([parse_pointer(path)] if at is None else of_value_or_items(path, at)))


class _Claim(Struct, frozen=True, kw_only=True):
    """
    What must be true of a text.

    Args:
        mode: Whether all, any or none of the terms must occur often enough.
        terms: The terms as they were written.
        looked_for: The same made comparable.
        prepared: Makes a text comparable.
        whole_word: Whether no part of a word may touch a term.
        needed: How often is often enough.
    """

    mode: Mode
    terms: tuple[str, ...]
    looked_for: tuple[str, ...]
    prepared: Callable[[str], str]
    whole_word: bool
    needed: int

    def surely_holds(self, texts: list[Any]) -> bool:
        """True where it certainly holds of every text; False also for what needs a closer look."""
        if self.whole_word or self.needed > 1 or {*map(type, texts)} != TEXT_ALONE:
            return False
        plain = self.prepared is folded and all(map(str.isascii, texts))
        ready = list(map(str.lower if plain else self.prepared, texts))
        if self.mode == "any":
            return all(any(map(text.__contains__, self.looked_for)) for text in ready)
        found = (map(contains, ready, repeat(term)) for term in self.looked_for)
        return all(map(all, found)) if self.mode == "all" else not any(map(any, found))

    def counts(self, text: str) -> list[int]:
        """How often each term occurs."""
        comparable = self.prepared(text)
        occurrences = _words if self.whole_word else str.count
        return [occurrences(comparable, term) for term in self.looked_for]

    def found(self, counts: list[int]) -> int:
        """How many terms occur often enough."""
        return sum(count >= self.needed for count in counts)

    def complaint(self, counts: list[int]) -> str | None:
        """Why the claim does not hold, or None."""
        found = self.found(counts)
        if self.mode == "all":
            holds, words, often = found == len(counts), "Missing terms", False
        elif self.mode == "any":
            holds, words, often = found > 0, "None of the terms found", False
        else:
            holds, words, often = found == 0, "Forbidden terms found", True
        if holds:
            return None
        named = (
            (term, "" if self.needed == 1 else f" {count}/{self.needed}")
            for term, count in zip(self.terms, counts, strict=True)
            if (count >= self.needed) is often
        )
        return f"{words}: {listed(named)} ({self.mode})."


def _words(text: str, term: str) -> int:
    """Occurrences of the term, from left to right, that no part of a word touches."""
    count, start = 0, text.find(term)
    while start >= 0:
        end = start + len(term)
        alone = not (start and _is_of_word(text[start - 1])) and not (
            end < len(text) and _is_of_word(text[end])
        )
        count += alone
        start = text.find(term, end if alone else start + 1)
    return count


def _is_of_word(character: str) -> bool:
    return character == "_" or category(character)[0] in "LMN"
