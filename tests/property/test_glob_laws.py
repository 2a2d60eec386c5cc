"""The laws of globs, against a model that knows nothing of how they are matched."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from signoff.pathglob import folded_path, parse_glob

CHARS = "abA.-"
NAMES = st.text(CHARS, min_size=1, max_size=4).filter(lambda name: name not in {".", ".."})
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
SETS = st.sampled_from(["[ab]", "[!ab]", "[a-b]", "[^A]", "[]a]", "[!.-]"])
PIECES = st.one_of(st.sampled_from(["a", "b", "A", ".", "-", "?", "*", "\\a"]), SETS)
PARTS = (
    st.lists(PIECES, min_size=1, max_size=4)
    .map("".join)
    .filter(lambda part: "**" not in part and part not in {".", ".."})
)
GLOBS = st.lists(st.one_of(st.just("**"), PARTS), min_size=1, max_size=5).map("/".join)


def model(glob: str) -> str:
    """A regular expression that says the same, written down part by part."""
    parts = glob.split("/")
    text = ""
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            text += "(?:[^/]+/)*[^/]+" if last else "(?:[^/]+/)*"
        else:
            text += _part(part) + ("" if last else "/")
    return text


def _part(part: str) -> str:
    """Tokens of one part, found by a pattern instead of by walking."""
    tokens = re.findall(r"\\.|\[[!^]?\]?[^\]]*\]|.", part)
    return "".join(map(_token, tokens))


def _token(token: str) -> str:
    if token == "*":
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if token.startswith("["):
        negated = token[1] in "!^"
        inner = token[2 if negated else 1 : -1].replace("]", "\\]")
        return f"(?!/)[{'^' if negated else ''}{inner}]"
    return re.escape(token.removeprefix("\\"))


class TestMeaning:
    """A glob matches what its model matches, and nothing else."""

    @given(GLOBS, PATHS)
    def test_holds(self, glob: str, path: str) -> None:
        expected = re.fullmatch(model(glob), path) is not None

        assert expected == parse_glob(glob).matches(path)


class TestItself:
    """A path whose special characters are escaped matches itself, and no other path."""

    @given(PATHS, PATHS)
    def test_holds(self, path: str, other: str) -> None:
        glob = parse_glob("".join(f"\\{char}" if char not in "/." else char for char in path))

        assert glob.matches(path)
        assert (path == other) == glob.matches(other)


class TestFolding:
    """What a glob matches, it matches in any case: nothing that is forbidden gets by in capitals."""

    @given(GLOBS, PATHS)
    def test_holds(self, glob: str, path: str) -> None:
        parsed = parse_glob(glob)
        spelled = {path, path.upper(), path.lower(), path.swapcase()}

        if "!" not in glob and "^" not in glob and parsed.matches(path):
            assert all(parsed.matches_folded(folded_path(one)) for one in spelled)


class TestEverything:
    """``**`` matches every path."""

    @given(PATHS)
    def test_holds(self, path: str) -> None:
        assert parse_glob("**").matches(path)
        assert parse_glob("**/*").matches(path)
