"""Where in a valid JSON text each key and value stands."""

from __future__ import annotations

import time

from signoff.document.jsonplaces import JSONPlaces

TEXT = ' {"a" : [1, {"b]": "}\\""} ,true],\n "c/d~": {}, "\\u00e9": -1.5e3, "": null}\n'


def near(pointer: str) -> tuple[str, str] | None:
    """What begins at the place of the key, and of the value."""
    found = JSONPlaces(TEXT).find(pointer)
    return None if found is None else (TEXT[found[0] :][:4], TEXT[found[1] :][:4])


def test_each_value_and_its_key_are_found() -> None:
    assert near("") == ('{"a"', '{"a"')
    assert near("/a") == ('"a" ', "[1, ")
    assert near("/a/0") == ("1, {", "1, {")
    assert near("/a/1/b]") == ('"b]"', '"}\\"')
    assert near("/a/2") == ("true", "true")
    assert near("/c~1d~0") == ('"c/d', "{}, ")
    assert near("/é") == ('"\\u0', "-1.5")
    assert near("/") == ('"": ', "null")


def test_nothing_is_found_where_nothing_is() -> None:
    for pointer in (
        "/b",
        "/a/3",
        "/a/-",
        "/a/01",
        "/a/-1",
        "/a/１",
        "/a/0/0",
        "/a/1/b]/0",
        "/c~1d~0/x",
    ):
        assert near(pointer) is None


def test_a_text_that_is_one_value_has_one_place() -> None:
    assert JSONPlaces(" 17 ").find("") == (1, 1)
    assert JSONPlaces(" 17 ").find("/0") is None
    assert JSONPlaces("[]").find("/0") is None


def test_an_index_is_written_in_one_way() -> None:
    places = JSONPlaces("[0,1,2,3,4,5,6,7,8,9,10]")
    assert places.find("/1") == (3, 3)
    assert places.find("/10") == (21, 21)
    assert places.find("/01") is None
    assert places.find("/00") is None
    assert places.find("/11") is None


def test_many_places_in_a_large_text_are_found_quickly() -> None:
    text = "[" + ", ".join(f'{{"a": [{i}]}}' for i in range(50_000)) + "]"
    places = JSONPlaces(text)
    start = time.monotonic()
    for i in range(0, 50_000, 10):
        found = places.find(f"/{i}/a/0")
        assert found is not None
        assert text.startswith(f"{i}]", found[1])
    assert time.monotonic() - start < 10
