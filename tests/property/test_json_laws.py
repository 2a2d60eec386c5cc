"""The laws of JSON values, of the strict loader and of canonical bytes."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from signoff import exactjson
from signoff.canonical import (
    canonical_bytes,
    canonical_bytes_unchecked,
    digest,
    require_json,
    write_exactly,
)
from signoff.errors import JSONError
from signoff.exactjson import read_exactly
from signoff.jsonvalue import (
    JSON,
    MISSING,
    equality_key,
    find,
    first_difference,
    join_pointer,
    json_equal,
    number_text,
    parse_pointer,
    resolve,
    shown,
    utf16_key,
)
from signoff.strictjson import Limits, loads, loads_canonical

VECTORS = Path(__file__).parent.parent.parent / "conformance" / "json" / "loading.json"

DEFAULT = Limits()

# Texts that look like the marks by which the fast paths judge.
TEXTS = st.text(max_size=8) | st.sampled_from(
    [
        *(
            "a",
            "b",
            ":",
            "1.0,",
            "-0.0]",
            "2.0}",
            ",1e21,",
            ":e,",
            "e5]",
            '"',
            "\\",
            "\\u003a",
            "[{",
        ),
        *(
            "]}",
            '"]',
            '\\"',
            "\ue000",
            "\uffff",
            "\U0001f600",
            "\u007f",
            "\u2028",
            "\u0000",
            "null",
        ),
    ]
)
INTEGERS = st.integers() | st.integers(-(10**40), 10**40) | st.integers(2**53 - 2, 2**53 + 2)
FLOATS = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(10**25), 10**25).map(float)
    | st.integers(-30, 30).map(lambda exponent: 10.0**exponent)
    | st.sampled_from([0.0, -0.0, 1.0, 2.0, 1e16, 1e21, 1e-6, 1e-7, 9007199254740992.0])
)
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)
# Few different values, so that equal ones meet.
SMALL: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 0.0, -0.0, 1.0, 2**53, 2**53 + 1, 2.0**53, "", "1"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)


def has_big_numbers(value: JSON) -> bool:
    if isinstance(value, dict):
        return any(map(has_big_numbers, value.values()))
    if isinstance(value, list):
        return any(map(has_big_numbers, value))
    return isinstance(value, (int, float)) and abs(value) >= 2**53


def answers(data: bytes, limits: Limits = DEFAULT) -> list[tuple[bool, Any]]:
    """Of the fast loader, the canonical one and the exact one: accepted, and what came of it."""
    given_: list[tuple[bool, Any]] = []
    for door in ("loads", "loads_canonical", "read_exactly"):
        try:
            if door == "loads":
                given_.append((True, loads(data, limits=limits)))
            elif door == "loads_canonical":
                value, canonical = loads_canonical(data, limits=limits)
                assert canonical == write_exactly(value)
                given_.append((True, value))
            else:
                given_.append((True, read_exactly(data, limits=limits)))
        except JSONError as exc:
            given_.append((False, (exc.reason, exc.offset, exc.line, exc.column)))
    return given_


def assert_agreement(data: bytes, limits: Limits = DEFAULT) -> bool:
    fast, canonical, exact = answers(data, limits)

    assert fast[0] is canonical[0] is exact[0], data
    if exact[0]:
        assert typed(fast[1]) == typed(canonical[1]) == typed(exact[1]), data
    else:
        assert fast[1] == canonical[1] == exact[1]
    return exact[0]


def typed(value: Any) -> Any:
    """The value in a form whose ``==`` tells 1 from 1.0 and from True; -0 and 0 are one."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (type(value), value)


class TestEquality:
    """``json_equal`` is an equivalence, and keys, canonical bytes and differences agree with it."""

    @given(VALUES)
    def test_reflexive(self, a: JSON) -> None:
        assert json_equal(a, json.loads(json.dumps(a)))
        assert first_difference(a, a) is None

    @given(SMALL, SMALL)
    def test_symmetric(self, a: JSON, b: JSON) -> None:
        assert json_equal(a, b) is json_equal(b, a)

    @given(SMALL, SMALL, SMALL)
    def test_transitive(self, a: JSON, b: JSON, c: JSON) -> None:
        assert not (json_equal(a, b) and json_equal(b, c)) or json_equal(a, c)

    @given(SMALL, SMALL)
    def test_keys_agree(self, a: JSON, b: JSON) -> None:
        assert json_equal(a, b) is (equality_key(a) == equality_key(b))
        assert not json_equal(a, b) or hash(equality_key(a)) == hash(equality_key(b))

    @given(VALUES, VALUES)
    def test_keys_agree_on_any_values(self, a: JSON, b: JSON) -> None:
        assert json_equal(a, b) is (equality_key(a) == equality_key(b))

    @given(SMALL | VALUES, SMALL)
    def test_canonical_bytes_agree_where_numbers_do(self, a: JSON, b: JSON) -> None:
        # An integer beyond 2^53 and the equal decimal print differently: 1e21, 10^21.
        if has_big_numbers(a) or has_big_numbers(b):
            assert canonical_bytes(a) != canonical_bytes(b) or has_big_numbers(b)
        else:
            assert json_equal(a, b) is (canonical_bytes(a) == canonical_bytes(b))
            assert json_equal(a, b) is (digest(a) == digest(b))

    @given(SMALL, SMALL)
    def test_difference_is_where_the_values_differ(self, a: JSON, b: JSON) -> None:
        where = first_difference(a, b)

        assert (where is None) is json_equal(a, b)
        assert where == first_difference(b, a)
        if where is not None:
            at_a, at_b = (resolve(value, parse_pointer(where))[0] for value in (a, b))
            missing = at_a is MISSING or at_b is MISSING
            assert at_a is not at_b
            assert missing or not json_equal(at_a, at_b)  # type: ignore[arg-type]  # both exist


# Numbers and texts that the fast way to canonical bytes has to tell apart.
CLOSE_TEXTS = st.lists(
    st.sampled_from(
        [
            *(".0", ",", "]", "}", ":", '"', "\\", "\n", "\b", "4", "e", "1e5", "-0", "-0.0", " "),
            *("tru", "\ue000", "\ufe0f", "\U0001f600", "é"),
        ]
    ),
    max_size=5,
).map("".join)
CLOSE_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([4.0, 4.5, -0.0, 0.0, 10.05, -1.0, 100.0, 4, True, False, None])
    | st.sampled_from([1e16, 1e22, 1e-7, 1e-5, 1.5e300])
    | CLOSE_TEXTS
    | CLOSE_TEXTS,
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(CLOSE_TEXTS | st.just("a"), inner, max_size=5)
    ),
    max_leaves=12,
)


class Whole(int):
    """Equal to what it is written as, and yet no JSON."""

    __slots__ = ()


# Much of it JSON, some of it Python's alone.
PYTHON: st.SearchStrategy[Any] = st.recursive(
    SCALARS | st.sampled_from([b"a", float("nan"), float("inf"), (), Whole(1), {1}, "\ud800", 1j]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "1"]), inner, max_size=3)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(st.sampled_from([1, "1", None, True]), inner, max_size=1)
    ),
    max_leaves=5,
)


class TestCanonicalBytes:
    """Canonical bytes are the same by every way, are strict JSON, and keep the value."""

    @given(VALUES)
    def test_fast_and_exact_bytes_agree(self, value: JSON) -> None:
        exact = write_exactly(value)

        assert exact == canonical_bytes(value)
        assert exact == canonical_bytes_unchecked(value)

    @given(CLOSE_VALUES)
    @settings(max_examples=500)
    @example([":4.0,", 4.0])
    @example(['":4.0,"', "\\", 4.0, '\\"'])
    @example({"\U0001f600": 4.0, "a\ue000": 1})
    @example({'\ue000"': 4.0, '\U0001f600\\"': 1})
    @example({':"\\\ue000': 1, ":\U0001f600": 4.0})
    def test_fast_and_exact_bytes_agree_on_values_that_look_alike(self, value: JSON) -> None:
        exact = write_exactly(value)

        assert exact == canonical_bytes(value)
        assert exact == canonical_bytes_unchecked(value)
        assert exact == loads_canonical(json.dumps(value))[1]

    @given(PYTHON)
    def test_only_json_has_canonical_bytes(self, value: Any) -> None:
        try:
            require_json(value)
        except ValueError as fault:
            with pytest.raises(ValueError, match=re.escape(str(fault))):
                canonical_bytes(value)
        else:
            assert write_exactly(value) == canonical_bytes(value)

    @given(VALUES)
    def test_loading_gives_the_value_back(self, value: JSON) -> None:
        data = canonical_bytes(value)
        again, bytes_again = loads_canonical(data)

        assert data == bytes_again
        assert data == canonical_bytes(again)
        assert has_big_numbers(value) or json_equal(value, again)
        assert json_equal(loads(data), again)

    @given(VALUES, st.randoms(use_true_random=False))
    def test_order_and_spelling_do_not_matter(self, value: JSON, chance: random.Random) -> None:
        def shuffled(item: Any) -> Any:
            if isinstance(item, dict):
                members = [(key, shuffled(entry)) for key, entry in item.items()]
                chance.shuffle(members)
                return dict(members)
            return [shuffled(entry) for entry in item] if isinstance(item, list) else item

        text = json.dumps(shuffled(value), indent=chance.choice([None, 1]))

        assert canonical_bytes(value) == loads_canonical(text)[1]

    @given(FLOATS)
    def test_number_text_reads_back(self, x: float) -> None:
        text = number_text(x)

        assert x == float(text)
        assert ("e" in text) is (x != 0 and not 1e-6 <= abs(x) < 1e21)
        assert text == canonical_bytes(x).decode()


class TestAgreement:
    """The fast and the exact loader accept the same texts and give the same values."""

    @given(VALUES, st.booleans(), st.sampled_from([None, 0, 3]))
    def test_valid_texts(self, value: JSON, ascii_: bool, indent: int | None) -> None:
        text = json.dumps(value, ensure_ascii=ascii_, indent=indent)

        assert assert_agreement(text.encode())
        assert json_equal(value, loads(text))

    @given(st.text(alphabet='[]{}:,"\\u003aA0d8e1.-+ \n/ntrufalsé😀', max_size=40))
    @example('{"a":1,"b":"\\u003a","a":2}')
    def test_any_texts(self, text: str) -> None:
        assert_agreement(text.encode())

    @given(st.binary(max_size=40))
    def test_any_bytes(self, data: bytes) -> None:
        assert_agreement(data)
        assert_agreement(b'["' + data + b'"]')

    @given(st.from_regex(r"\A-?[0-9]{1,25}(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?\Z"))
    def test_numbers(self, text: str) -> None:
        assert_agreement(text.encode())

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(
                    ['"a"', '"\\u0061"', '"b"', '":"', '"\\u003a"', '"\\u003A"', '"\\\\u003a"']
                ),
                st.sampled_from(
                    ["1", '":"', '"\\u003a"', '{"a":2}', '[{"a":1,"a":1}]', '"\\\\\\u003a"']
                ),
            ),
            max_size=5,
        ),
        st.booleans(),
    )
    def test_objects_with_keys_that_meet(self, pairs: list[tuple[str, str]], last: bool) -> None:
        text = "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}"
        accepted = assert_agreement(text.encode(), Limits(last_key_wins=last))
        keys = [json.loads(key) for key, _ in pairs]
        clean = len(keys) == len(set(keys)) and '"a":1,"a"' not in text

        assert accepted is (last or clean)

    @given(
        st.lists(
            st.sampled_from(["[", "]", '{"a":', "}", '"["', '"]"', '"\\"["', '"\\\\"', ",", "1"])
        ),
        st.integers(1, 4),
        st.booleans(),
    )
    def test_nests(self, pieces: list[str], max_depth: int, last: bool) -> None:
        assert_agreement("".join(pieces).encode(), Limits(max_depth=max_depth, last_key_wins=last))

    @given(VALUES, st.integers(1, 4), st.integers(1, 20))
    def test_narrow_limits(self, value: JSON, max_depth: int, max_digits: int) -> None:
        assert_agreement(
            json.dumps(value).encode(), Limits(max_depth=max_depth, max_digits=max_digits)
        )


SEEDS = [
    b'{"id":"a:b","rating":4.0,"tags":["x","[y]"],"geo":{"lat":-0.5e1,"lon":1e-7},"n":null}',
    b'[{"a":1,"b":"\\u003a"},{"a":"\\\\u003a","\\u0062":12345678901234567890}]',
    '["\U0001f600\ue000","\\ud83d\\ude00",true,false,-0.0,[[[]]],{"":{}}]'.encode(),
]
SPLICES = (
    *(b"\\u003a", b"\\u003A", b'"a":1,', b":", b'"', b"\\", b"[", b"]", b"{", b"}", b",", b"1e400"),
    *(
        b"\xef\xbb\xbf",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"NaN",
        b"-",
        b"0",
        b"1" * 1001,
        b"\x00",
    ),
)


def mutated(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice([1, 1, 2, 3])):
        i, j = sorted(chance.choices(range(len(data) + 1), k=2))
        way = chance.randrange(4)
        if way == 0:
            data = data[:i] + chance.choice(SPLICES) + data[i:]
        elif way == 1:
            data = data[:i] + data[min(j, i + 3) :]
        elif way == 2:
            data = data[:i] + data[i:j] * 2 + data[j:]
        elif i < len(data):
            data = data[:i] + bytes([data[i] ^ 1 << chance.randrange(8)]) + data[i + 1 :]
    return data


def fuzz(rounds: int, seed: int) -> tuple[int, int]:
    chance = random.Random(seed)
    vectors: Any = loads(VECTORS.read_bytes())
    seeds = SEEDS * 30 + [case["text"].encode() for case in vectors["cases"] if "text" in case]
    limits = [Limits(), Limits(last_key_wins=True), Limits(max_depth=3, max_digits=5)]
    accepted = sum(
        assert_agreement(mutated(chance.choice(seeds), chance), chance.choice(limits))
        for _ in range(rounds)
    )
    return accepted, rounds - accepted


def test_loaders_agree_on_mutated_texts() -> None:
    accepted, refused = fuzz(4000, seed=8785)

    assert min(accepted, refused) > 200


def coarse_fuzz(rounds: int, seed: int) -> None:
    """The exact reader and the decision for large texts accept the same, with the same value."""
    chance = random.Random(seed)
    vectors: Any = loads(VECTORS.read_bytes())
    seeds = SEEDS * 30 + [case["text"].encode() for case in vectors["cases"] if "text" in case]
    limits = [Limits(), Limits(last_key_wins=True), Limits(max_depth=3, max_digits=5)]
    for _ in range(rounds):
        data, limit = mutated(chance.choice(seeds), chance), chance.choice(limits)
        exact, *coarse = (
            value_or_none(door, data, limit) for door in (read_exactly, exactjson.decide, loads)
        )
        assert [exact, exact] == coarse, data


def value_or_none(door: Any, data: bytes, limits: Limits) -> Any:
    try:
        return [typed(door(data, limits=limits))]
    except JSONError:
        return None


def test_decisions_on_large_texts_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exactjson, "_CLOSELY", -1)
    coarse_fuzz(4000, seed=8785)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_decisions_on_large_texts_agree_very_often(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exactjson, "_CLOSELY", -1)
    coarse_fuzz(50_000, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_loaders_agree_on_very_many_mutated_texts(seed: int) -> None:
    accepted, refused = fuzz(100_000, seed)

    assert min(accepted, refused) > 5_000


class TestPointers:
    """A pointer made of tokens names the same tokens, and finds what stands there."""

    @given(st.lists(st.text(max_size=5)))
    def test_round_trip(self, tokens: list[str]) -> None:
        assert tuple(tokens) == parse_pointer(join_pointer("", *tokens))

    @given(VALUES, st.lists(st.sampled_from(["a", "b", "0", "1", "", ":"]), max_size=4))
    def test_prefix_that_exists_is_found(self, value: JSON, tokens: list[str]) -> None:
        found, where = resolve(value, tokens)
        prefix = parse_pointer(where)

        assert tuple(tokens[: len(prefix)]) == prefix
        assert (found is not MISSING) is (len(prefix) == len(tokens))
        assert resolve(value, prefix)[0] is not MISSING
        assert found is find(value, tokens)


class TestTexts:
    """UTF-16 order is that of the code units, and shown texts are safe lines."""

    @given(st.text(), st.text())
    def test_utf16_order(self, a: str, b: str) -> None:
        units = [
            [encoded[i] << 8 | encoded[i + 1] for i in range(0, len(encoded), 2)]
            for encoded in (text.encode("utf-16-be", "surrogatepass") for text in (a, b))
        ]

        assert (utf16_key(a) < utf16_key(b)) is (units[0] < units[1])

    @given(st.text(alphabet=st.characters(), max_size=300), st.integers(0, 250))
    def test_shown_text_is_one_bounded_line(self, text: str, limit: int) -> None:
        line = shown(text, limit)

        assert len(line.splitlines()) <= 1
        assert len(line) <= 6 * limit + 3
        assert line == line.encode().decode()
        assert line == shown(line, limit=10**6)
