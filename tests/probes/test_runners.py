"""The set-ups of the documentation: each runner of tests, as far as it is installed here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.sandbox import Sandbox
from signoff.status import Status
from tests.suites import PASSING, found, write

CONVERTER = Path(__file__).parents[2] / "examples" / "test-runners" / "junit_of.py"
NODE = [
    "node",
    "--test",
    "--test-reporter=junit",
    "--test-reporter-destination=report.xml",
]


def converting(runner: str, *argv: str) -> list[str]:
    return [sys.executable, "-I", str(CONVERTER), runner, "report.xml", "--", *argv]


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(readable=[str(CONVERTER.parent), *toolchains()]) as made:
        yield made


def toolchains() -> list[str]:
    """Where Go and Rust are, for an operator must say so where it is no folder of the system."""
    go = shutil.which("go")
    places = [Path(go).resolve().parents[1]] if go else []
    return [str(place) for place in [*places, *([rust()] if rust() else [])]]


def rust() -> Path | None:
    """The folder of the Rust toolchain itself, behind whatever chooses among several."""
    cargo = shutil.which("rustup") and subprocess.run(
        ["rustup", "which", "cargo"], capture_output=True, text=True, check=False
    )
    if cargo and cargo.returncode == 0:
        return Path(cargo.stdout.strip()).parents[1]
    plain = shutil.which("cargo")
    return Path(plain).resolve().parents[1] if plain else None


def test_pytest(sandbox: Sandbox, tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_a.py": PASSING})
    finding = found(
        sandbox, "pytest", tmp_path, args=["tests"], required_tests=["tests/test_a.py::test_one"]
    )

    assert Status.PASS is finding.status, finding


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node(sandbox: Sandbox, tmp_path: Path) -> None:
    test = "import test from 'node:test';\nimport assert from 'node:assert';\n"
    sums = "test('sums', () => { assert.equal(1 + 1, 2); });\n"
    write(tmp_path, {"sum.test.mjs": test + sums})
    params = {"argv": NODE, "report": "report.xml", "required_tests": ["sums"]}

    assert Status.PASS is found(sandbox, "junit", tmp_path, **params).status
    write(tmp_path, {"sum.test.mjs": test + sums.replace("2", "3")})
    bad = found(sandbox, "junit", tmp_path, **params)
    assert "tests_failed: test::sums (1 of 1 failed)" == bad.detail
    write(tmp_path, {"sum.test.mjs": "process.exit(0);\n"})
    ended = found(sandbox, "junit", tmp_path, **params)
    assert Status.FAIL is ended.status


GO = {
    "go.mod": "module example.com/sum\n\ngo 1.20\n",
    "sum.go": "package sum\n\nfunc Sum(a, b int) int { return a + b }\n",
}
GO_TEST = """package sum

import "testing"

func TestSum(t *testing.T) {
	if Sum(1, 2) != 3 {
		t.Fatal("wrong")
	}
}

func TestLater(t *testing.T) { t.Skip() }
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
def test_go(sandbox: Sandbox, tmp_path: Path) -> None:
    params = {
        "argv": converting("go", "go", "test", "-json", "./..."),
        "report": "report.xml",
        "required_tests": ["example.com/sum::TestSum"],
        "max_skipped": 1,
        "env": {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"},
    }
    write(tmp_path, GO | {"sum_test.go": GO_TEST})
    good = found(sandbox, "junit", tmp_path, **params)

    assert Status.PASS is good.status, good
    assert good.detail.startswith("1 passed, 1 skipped")
    write(tmp_path, {"sum.go": "package sum\n\nfunc Sum(a, b int) int { return x }\n"})
    assert "tests_failed" == found(sandbox, "junit", tmp_path, **params).data["failure_class"]


RUST = {
    "Cargo.toml": '[package]\nname = "sum"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """pub fn sum(a: i32, b: i32) -> i32 {
    a + b
}

#[cfg(test)]
mod tests {
    #[test]
    fn sums() {
        assert_eq!(crate::sum(1, 2), 3);
    }
}
""",
}


@pytest.mark.long
@pytest.mark.skipif(rust() is None, reason="cargo is not installed")
def test_cargo(sandbox: Sandbox, tmp_path: Path) -> None:
    folder = rust()
    assert folder is not None
    params = {
        "argv": converting("cargo", str(folder / "bin" / "cargo"), "test", "--offline"),
        "report": "report.xml",
        "required_tests": ["tests::sums"],
        "env": {"RUSTC": str(folder / "bin/rustc"), "RUSTDOC": str(folder / "bin/rustdoc")},
    }
    write(tmp_path, RUST)
    good = found(sandbox, "junit", tmp_path, **params)

    assert Status.PASS is good.status, good
    write(tmp_path, {"src/lib.rs": RUST["src/lib.rs"].replace("2), 3", "2), 4")})
    bad = found(sandbox, "junit", tmp_path, **params)
    assert "tests_failed: unittests src/lib.rs::tests::sums (1 of 1 failed)" == bad.detail


def test_converter_marks_what_does_not_add_up() -> None:
    source: dict[str, object] = {"__name__": "converter"}
    exec(compile(CONVERTER.read_text("utf-8"), str(CONVERTER), "exec"), source)
    printed = [
        "     Running unittests src/lib.rs (target/debug/deps/sum-1)",
        "test tests::forged ... ok",
        "test tests::real ... ok",
        "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0s",
    ]
    cases = list(source["cargo_cases"](printed))  # type: ignore[operator]  # a function

    assert ("unittests src/lib.rs", "(total)", "error") == tuple(cases[-1])
