"""similarity_above beyond its vectors: texts, embedders of each kind, and the arithmetic."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from signoff.contract import lock
from signoff.embedder import EndpointEmbedder, SentenceTransformerEmbedder
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.lockfile import seal
from signoff.manual import manual, tried
from signoff.model import Contract, Criterion, Finding, Subject
from signoff.probes import PROBES
from signoff.registry import Powers, Registry
from signoff.status import Cause, Outcome, Status
from signoff.verifiers import STDLIB
from tests.embedding_server import embedded, nobody, rightly, saying, serving, silence

Embedding = Callable[[list[str]], Any]

PLANE: Mapping[str, list[float]] = {
    "east": [1, 0],
    "nearly east": [0.96, 0.28],
    "north east": [0.8, 0.6],
    "north": [0, 1],
    "nowhere": [0, 0],
    "aloft": [0, 0, 1],
}
TEXT = {"reference_text": "east", "embedder": "plane", "threshold": 0.8}
VECTOR = {"reference": [1, 0], "embedder": "plane", "threshold": 0.8}
TOLD = ", embedder=plane"


class Plane:
    """Directions by name; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(texts)
        return [PLANE[text] for text in texts]


def registry(**embedders: Any) -> Registry:
    return PROBES.with_powers(Powers(embedders=embedders))


def contract(params: dict[str, Any]) -> Contract:
    criterion = Criterion(id="it", verifier="similarity_above", params=params)
    return Contract(id="near", criteria=(criterion,))


def finding(output: Any, params: dict[str, Any], embedder: Embedding | None = None) -> Finding:
    known = registry(plane=embedder or Plane())
    locked = lock(contract(params), known)
    return Engine(known).verify(locked, Subject(output=output)).results[0].finding


def told(found: Finding) -> tuple[str, str, str | None]:
    return found.status.value, found.detail, found.at


def faults(params: dict[str, Any], known: Registry) -> list[tuple[str, str]]:
    with pytest.raises(ContractError) as caught:
        lock(contract(params), known)
    return [(fault.where, fault.message) for fault in caught.value.faults]


# -- texts --


@pytest.mark.parametrize(
    ("output", "params", "expected"),
    [
        ("nearly east", TEXT, ("pass", f"similarity=0.96, threshold=0.8{TOLD}", None)),
        ("north east", TEXT, ("fail", f"similarity=0.8, threshold=0.8{TOLD}", "")),
        (
            "north east",
            TEXT | {"inclusive": True},
            ("pass", f"similarity=0.8, threshold=0.8{TOLD}", None),
        ),
        ("nearly east", VECTOR, ("pass", f"similarity=0.96, threshold=0.8{TOLD}", None)),
        ([0.96, 0.28], TEXT, ("pass", f"similarity=0.96, threshold=0.8{TOLD}", None)),
        ([0.96, 0.28], VECTOR, ("pass", "similarity=0.96, threshold=0.8", None)),
        (
            {"embedding": "north"},
            TEXT,
            ("fail", f"similarity=0, threshold=0.8{TOLD}", "/embedding"),
        ),
        (
            {"text": "nearly east"},
            TEXT | {"field": "text"},
            ("pass", f"similarity=0.96, threshold=0.8{TOLD}", None),
        ),
        (
            {"a": ["north"]},
            TEXT | {"path": "/a/0"},
            ("fail", f"similarity=0, threshold=0.8{TOLD}", "/a/0"),
        ),
        (
            ["east", "nearly east", {"embedding": "east"}, [0.9, 0.1]],
            TEXT,
            ("pass", f"All 4 items: lowest similarity=0.96, threshold=0.8{TOLD}", None),
        ),
        (
            ["east", {"embedding": "north east"}],
            TEXT,
            ("fail", f"Index 1: similarity=0.8, threshold=0.8{TOLD}", "/1/embedding"),
        ),
        (
            [[1, 0], "north", [0, 1]],
            VECTOR,
            ("fail", f"Index 1: similarity=0, threshold=0.8{TOLD}", "/1"),
        ),
        ([], TEXT, ("warn", "All 0 items: threshold=0.8 (0 items)", None)),
        ("aloft", VECTOR, ("fail", "Dimension mismatch: 2 and 3.", "")),
        ([1, 0, 0], TEXT, ("fail", "Dimension mismatch: 2 and 3.", "")),
        ([[1, 0], "aloft"], VECTOR, ("fail", "Index 1: Dimension mismatch: 2 and 3.", "/1")),
        ("nowhere", TEXT, ("fail", "Zero vector has no direction.", "")),
        (["nowhere"], TEXT, ("fail", "Index 0: Zero vector has no direction.", "/0")),
        (
            ["east", None],
            TEXT,
            ("fail", "Index 1: Output is neither a vector nor text.", "/1"),
        ),
        (
            ["north", None],
            TEXT,
            ("fail", f"Index 0: similarity=0, threshold=0.8{TOLD}", "/0"),
        ),
        (["east", []], TEXT, ("fail", "Index 1: Vector is empty.", "/1")),
    ],
)
def test_texts_are_compared(
    output: Any, params: dict[str, Any], expected: tuple[str, str, str | None]
) -> None:
    assert expected == told(finding(output, params))


def test_text_against_itself_needs_inclusive() -> None:
    params = TEXT | {"threshold": 1}

    assert "fail" == finding("east", params).status.value
    assert "pass" == finding("east", params | {"inclusive": True}).status.value


@pytest.mark.parametrize(
    ("output", "params", "batch"),
    [
        (["north", {"embedding": "east"}, [1, 0]], TEXT, ["east", "north", "east"]),
        (["nearly east", "east"], VECTOR, ["nearly east", "east"]),
        ([1, 0], TEXT, ["east"]),
        (["north", None, "nobody asks for this"], TEXT, ["east", "north"]),
    ],
)
def test_all_texts_go_in_one_batch_with_the_reference(
    output: Any, params: dict[str, Any], batch: list[str]
) -> None:
    plane = Plane()
    finding(output, params, plane)

    assert [batch] == plane.asked


@pytest.mark.parametrize(
    ("output", "params"),
    [
        ([], TEXT),
        ({}, TEXT),
        ([None, "north"], TEXT),
        ([[]], TEXT),
        ([1, 0], VECTOR),
        ([[1, 0], {"embedding": [1, 0]}], VECTOR),
    ],
)
def test_embedder_is_not_asked_in_vain(output: Any, params: dict[str, Any]) -> None:
    plane = Plane()
    finding(output, params, plane)

    assert [] == plane.asked


def test_zero_reference_of_an_embedder_is_no_fault_of_the_work() -> None:
    found = finding("east", TEXT | {"reference_text": "nowhere"})

    assert Status.ERROR is found.status
    assert "Verifier threw: the reference text has a vector without direction" == found.detail


def test_name_of_an_embedder_is_one_safe_line() -> None:
    name = "a\nb\u2028" + "c" * 300
    known = registry(**{name: Plane()})
    locked = lock(contract(TEXT | {"embedder": name}), known)
    found = Engine(known).verify(locked, Subject(output="east")).results[0].finding

    assert found.detail.isprintable()
    assert len(found.detail) < 300
    assert found.detail.startswith("similarity=1, threshold=0.8, embedder=a\\u000ab\\u2028ccc")
    assert found.detail.endswith("c...")


# -- faults --


def test_unknown_embedder_is_a_fault_at_lock_with_what_is_known() -> None:
    with pytest.raises(ContractError) as caught:
        lock(contract(TEXT | {"embedder": "plan"}), registry(plane=Plane()))

    (fault,) = caught.value.faults
    assert 'no embedder named "plan"' == fault.message
    assert "/criteria/0/params/embedder" == fault.where
    assert ("plan", ("plane",)) == (fault.got, fault.known)


def test_all_faults_have_their_places() -> None:
    params = {"threshold": 2, "reference": [0], "field": "", "path": "x", "embedding": 1}
    where = "/criteria/0/params/"

    assert [
        (f"{where}embedding", "params.embedding is not a parameter of similarity_above"),
        (f"{where}threshold", "params.threshold must be number, -1 to 1"),
        (f"{where}reference", "params.reference must be non-zero vector"),
        (f"{where}field", "params.field must be field name of vector or text in an object or item"),
        (f"{where}path", "params.path must be a JSON Pointer"),
    ] == faults(params, registry())
    assert [
        (where[:-1], "exactly one of params.reference, params.reference_text is required"),
        (f"{where}embedder", 'no embedder named "x"'),
    ] == faults({"threshold": 0.8, "embedder": "x"}, registry())


def test_longest_reference_is_taken_and_no_longer_one() -> None:
    longest = [1] * 65_536

    assert "pass" == finding(longest, {"reference": longest, "threshold": 0.5}).status.value
    assert [("/criteria/0/params/reference", "params.reference must be non-zero vector")] == faults(
        {"reference": [*longest, 1], "threshold": 0.5}, registry()
    )


def test_contract_locked_where_the_embedder_was_known_is_an_error_here() -> None:
    criteria = (
        Criterion(id="first", verifier="equals", params={"value": "east"}),
        Criterion(id="near", verifier="similarity_above", params=TEXT),
        Criterion(id="last", verifier="equals", params={"value": "east"}),
    )
    there = (STDLIB | PROBES).with_powers(Powers(embedders={"plane": Plane()}))
    locked = lock(Contract(id="c", criteria=criteria), there)
    report = Engine(STDLIB | PROBES).verify(locked, Subject(output="east"))

    assert ["pass", "error", "pass"] == [one.finding.status.value for one in report.results]
    assert 'no embedder named "plane".' == report.results[1].finding.detail
    assert Cause.BAD_PARAMS is report.results[1].finding.cause
    assert Outcome.FAILED is report.verdict.outcome


def test_absent_library_is_a_fault_at_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    endpoint = EndpointEmbedder(url="http://127.0.0.1:1", model="tiny")
    folder = SentenceTransformerEmbedder(folder=Path("model"))

    assert [
        ("/criteria/0/verifier", "similarity_above needs h11 (install signoff[http])")
    ] == faults(TEXT, registry(plane=endpoint))
    message = "similarity_above needs sentence-transformers (install signoff[embeddings])"
    assert [("/criteria/0/verifier", message)] == faults(TEXT, registry(plane=folder))
    locked = seal(contract(TEXT), {}, ())
    found = Engine(registry(plane=folder)).verify(locked, Subject(output="x")).results[0].finding
    assert (Status.ERROR, Cause.NOT_INSTALLED) == (found.status, found.cause)


# -- embedders that fail --


def raising(exc: BaseException) -> Embedding:
    def embedder(texts: list[str]) -> None:
        raise exc

    return embedder


@pytest.mark.parametrize(
    ("raised", "cause"),
    [
        (ConnectionRefusedError("secret"), Cause.EVIDENCE_UNREACHABLE),
        (TimeoutError("secret"), Cause.EVIDENCE_TIMED_OUT),
    ],
)
def test_function_that_reaches_nobody_is_inconclusive(raised: Exception, cause: Cause) -> None:
    found = finding("east", TEXT, raising(raised))

    assert Status.INCONCLUSIVE is found.status
    assert 'Embedder "plane" did not answer.' == found.detail
    assert cause is found.cause
    assert "secret" not in repr(found)


@pytest.mark.parametrize("raised", [ValueError("odd"), OSError("odd"), SystemExit("odd")])
def test_function_that_raises_anything_else_is_an_error(raised: BaseException) -> None:
    found = finding("east", TEXT, raising(raised))

    assert (Status.ERROR, "Verifier threw: odd") == (found.status, found.detail)


@pytest.mark.parametrize("answer", [None, [], [[1, 0]], [[1, 0], [1]], [[1, math.nan]] * 2, True])
def test_function_that_gives_nonsense_is_an_error(answer: Any) -> None:
    found = finding("east", TEXT, lambda texts: answer)

    assert Status.ERROR is found.status
    assert found.detail.startswith("Verifier threw: the embedder gave ")


def test_function_that_hangs_is_inconclusive() -> None:
    over = threading.Event()

    class Hanging:
        timeout_s = 0.02

        def __call__(self, texts: list[str]) -> None:
            over.wait(30)

    found = finding("east", TEXT, Hanging())
    over.set()

    assert (Status.INCONCLUSIVE, Cause.EVIDENCE_TIMED_OUT) == (found.status, found.cause)


def test_failing_vector_before_a_text_waits_for_the_embedder_and_never_passes() -> None:
    found = finding([[0, 1], "east"], TEXT, raising(ConnectionError()))

    assert Status.INCONCLUSIVE is found.status


# -- a real server --


def served(url: str, output: Any, **fields: Any) -> Finding:
    given: dict[str, Any] = {"url": url, "model": "tiny", "timeout_s": 5.0} | fields
    params = {"reference_text": "a small quiet cafe", "embedder": "plane", "threshold": 0.7}
    return finding(output, params, EndpointEmbedder(**given))


def test_server_judges_texts() -> None:
    with serving(rightly) as server:
        near = served(server.url, ["a quiet small cafe", "A small cafe"])
        far = served(server.url, ["a small cafe", "loud music all night"])

    assert (
        "All 2 items: lowest similarity=0.866025404, threshold=0.7, embedder=plane" == near.detail
    )
    assert Status.PASS is near.status
    assert ("fail", "/1") == (far.status.value, far.at)
    assert 2 == len(server.asked)
    assert ["a small quiet cafe", "a quiet small cafe", "A small cafe"] == server.asked[0].body[
        "input"
    ]
    assert embedded(["A b"]) == embedded(["b a"])


@pytest.mark.parametrize("output", ["a small quiet cafe", ["a small quiet cafe"]])
def test_server_that_is_down_is_inconclusive(output: Any) -> None:
    found = served(nobody(), output)

    assert Status.INCONCLUSIVE is found.status
    assert 'Embedder "plane" did not answer.' == found.detail
    assert Cause.EVIDENCE_UNREACHABLE is found.cause


def test_server_that_is_unwell_is_inconclusive() -> None:
    with serving(saying(b"{}", 503)) as server:
        found = served(server.url, "a")

    assert (Status.INCONCLUSIVE, Cause.EVIDENCE_UNREACHABLE) == (found.status, found.cause)


def test_server_that_is_slow_is_inconclusive() -> None:
    with silence() as url:
        found = served(url, "a", timeout_s=0.05)

    assert (Status.INCONCLUSIVE, Cause.EVIDENCE_TIMED_OUT) == (found.status, found.cause)
    assert 'Embedder "plane" did not answer.' == found.detail


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (b"", 200),
        (b"[]", 200),
        (b'{"data": []}', 200),
        (b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}', 200),
        (b'{"pass": true, "similarity": 1}', 200),
        (b"{}", 401),
        (b"{}", 404),
        (b"{}", 302),
        (b" " * 1001, 200),
    ],
)
def test_server_that_answers_nonsense_is_an_error(reply: bytes, status: int) -> None:
    with serving(saying(reply, status)) as server:
        found = served(server.url, "a", max_bytes=1000)

    assert (Status.ERROR, Cause.VERIFIER_BROKE) == (found.status, found.cause)
    assert found.detail.startswith("Verifier threw: the embedder")


def test_server_whose_key_is_not_set_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with serving(rightly) as server:
        found = served(server.url, "a", key="env:NO_SUCH_KEY")

    assert (Status.ERROR, Cause.NOT_INSTALLED) == (found.status, found.cause)
    assert (
        "similarity_above was not given the means: "
        "the environment variable NO_SUCH_KEY has no value" == found.detail
    )
    assert [] == server.asked


# -- the arithmetic --

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = FINITE | st.integers(-(10**400), 10**400)
# A contract's own numbers lie within 2^53-1, or are too large to be written as integers.
OWN = FINITE.filter(lambda x: not 2**53 <= abs(x) < 1e21)
VECTORS = st.lists(NUMBERS, min_size=1, max_size=8)
ORDINARY = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


def similarity(a: list[Any], b: list[Any]) -> float | None:
    """What the check prints; None when it judges neither."""
    found = finding(b, {"reference": a, "threshold": -1, "inclusive": True})
    if found.status is not Status.PASS:
        return None
    return float(found.detail.removeprefix("similarity=").partition(",")[0])


def exact(a: list[Any], b: list[Any]) -> float:
    with localcontext(prec=1_000, Emin=-999_999, Emax=999_999):
        left, right = [[Decimal(one) for one in vector] for vector in (a, b)]
        zero = Decimal(0)
        dot = sum((x * y for x, y in zip(left, right, strict=True)), zero)
        squares = sum((x * x for x in left), zero) * sum((y * y for y in right), zero)
        return float(dot / squares.sqrt())


class TestLaws:
    """What holds of every two vectors."""

    @given(st.lists(OWN, min_size=1, max_size=8).filter(any))
    def test_vector_reaches_one_against_itself(self, vector: list[float]) -> None:
        assert 1 == similarity(vector, vector)

    @given(st.data())
    def test_agrees_with_exact_arithmetic(self, data: st.DataObject) -> None:
        size = data.draw(st.integers(1, 8))
        a = data.draw(st.lists(OWN, min_size=size, max_size=size).filter(any))
        b = data.draw(st.lists(NUMBERS, min_size=size, max_size=size).filter(any))
        found = similarity(a, b)

        assert found is not None
        assert abs(exact(a, b) - found) <= 0.5001e-9

    @given(st.data())
    def test_order_does_not_matter(self, data: st.DataObject) -> None:
        size = data.draw(st.integers(1, 8))
        several = st.lists(ORDINARY, min_size=size, max_size=size).filter(any)
        a, b = data.draw(several), data.draw(several)

        assert similarity(a, b) == similarity(b, a)

    @given(st.lists(ORDINARY, min_size=1, max_size=8).filter(any), st.integers(-900, 900))
    def test_length_does_not_matter(self, vector: list[float], bits: int) -> None:
        scaled = [math.ldexp(one, bits) for one in vector]
        assume([math.ldexp(one, -bits) for one in scaled] == vector)

        assert 1 == similarity(vector, scaled)

    @given(st.lists(st.sampled_from([math.nan, math.inf, -math.inf, 1.0, 0.0, 1]), min_size=1))
    def test_what_is_no_number_never_passes(self, vector: list[Any]) -> None:
        params = {"reference": [1] * len(vector), "threshold": -1, "inclusive": True}
        usable = all(map(math.isfinite, vector)) and any(vector)
        known = registry()
        plan = Engine(known).prepare(lock(contract(params), known))
        results, _ = Engine(known).judge(plan, Subject(output=vector))

        assert usable is results[0].finding.status.holds

    @given(VECTORS)
    def test_length_of_the_vector_decides_before_its_numbers(self, vector: list[Any]) -> None:
        found = finding(vector, {"reference": [1] * (len(vector) + 1), "threshold": -1})

        assert f"Dimension mismatch: {len(vector) + 1} and {len(vector)}." == found.detail


def test_bound_is_compared_with_the_rounded_similarity() -> None:
    # The exact cosine is 0.70710678118..., which is above the first and below the second.
    reference = {"reference": [1, 1]}

    assert finding([1, 0], reference | {"threshold": 0.7071067805}).status.holds
    assert not finding([1, 0], reference | {"threshold": 0.7071067811}).status.holds


def test_examples_of_the_manual_are_true() -> None:
    probe = PROBES.get("similarity_above")
    assert probe is not None
    examples = manual(probe).examples

    assert examples
    for example in examples:
        meets, misses = tried(probe, example)
        assert misses is not None
        assert (Status.PASS, Status.FAIL) == (meets.status, misses.status)


def test_output_is_left_as_it_was() -> None:
    output = [{"embedding": [1, 0.5], "text": "east"}, [10**400, 1]]
    before = json.dumps(output)
    finding(output, VECTOR)

    assert before == json.dumps(output)


SCRIPT = """
import locale, sys
from signoff.probes.similarity_above import similarity_above
from signoff.model import Subject
from signoff.registry import Powers
check = similarity_above.bind({"reference": [0.1, 0.2, 0.7], "threshold": 0.2}, Powers())
print(check(Subject(output=[[0.3, 0.1, 0.2], {"embedding": [1e300, 2, 3]}])))
"""


def test_every_run_says_the_same() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "LC_ALL": language, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed, language in [("0", "C"), ("1", "C.UTF-8"), ("2", "de_DE.UTF-8")]
    }

    assert 1 == len(said)
    assert b"Index 1: similarity=0.136082763, threshold=0.2" in said.pop()
