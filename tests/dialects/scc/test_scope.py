"""Scopes allow what they say; a protected path is protected in every spelling."""

from __future__ import annotations

import pytest

from signoff.dialects.scc.scope import SCRIPTS, Scope, comparable, covers, pattern_fault, protection


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("src", "src", True),
        ("src", "src/a/b.py", True),
        ("src", "src2/a", False),
        ("src/*", "src/a", True),
        ("src/*", "src/a/b", False),
        ("src/**", "src/a/b", True),
        ("**/*.md", "a.md", True),
        ("**/*.md", "a/b/c.md", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab].py", "a.py", True),
        ("SRC", "src", False),
        ("caf\u00e9", "cafe\u0301", True),
        ("**", "a/b", True),
    ],
)
def test_globs_cover_what_they_say(pattern: str, path: str, covered: bool) -> None:
    assert covered is covers(pattern, path)


def test_an_empty_scope_allows_nothing() -> None:
    assert not Scope().allows("a")
    assert Scope(allow=("src/**", "a")).allows("src/b")


@pytest.mark.parametrize(
    "path",
    [
        "docs/REPORT/a/b",
        "docs/REPORT",
        "DOCS/report/x",
        "docs/REPORT./x",
        "docs/REPORT /x",
        "docs\\REPORT\\x",
        "./docs//REPORT/x",
        "verdict.json",
        "a/b/verdict.json",
        "a/Verdict.JSON",
        "a/verdict.json.",
        "evidence/x",
        "artifacts/x",
        ".signoff/scc.toml",
        ".git/config",
        ".GIT/hooks/pre-commit",
        *SCRIPTS,
        "tools/CI/mvm-verdict.py",
    ],
)
def test_protected_in_every_spelling(path: str) -> None:
    assert protection(path)


@pytest.mark.parametrize(
    "path", ["src/a", "docs/REPORTS/a", "a/evidence/x", "verdict.json5", "docs/a", ".github/x"]
)
def test_free_paths_are_free(path: str) -> None:
    assert protection(path) is None


def test_further_patterns_protect_too() -> None:
    assert "C[1].json" == protection("c[1].JSON", files=["C[1].json"])
    assert protection("c1.json", files=["c[1].json"]) is None
    assert "infra/**" == protection("infra/x/y", ["infra/**"])


def test_comparable_keeps_what_leads_up() -> None:
    assert "../a" == comparable("../A")


@pytest.mark.parametrize("pattern", ["/a", "../a", "a\\b", "C:x", "a\nb", "", "a**b", "[a"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    assert pattern_fault(pattern)
