"""within_radius beyond its vectors: the optional package, and that it is wanted only for positions."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.lockfile import seal
from signoff.model import Contract, Criterion, Finding, Subject
from signoff.strictjson import loads
from signoff.verifiers import STDLIB

GEODESICS = Path(__file__).parents[2] / "conformance" / "geodesy" / "inverse.json"
CENTER = {"lat": 48.8584, "lon": 2.2945}
ABSENT = "within_radius needs geographiclib (install signoff[geo])"


def contract(**params: Any) -> Contract:
    return Contract(
        id="near", criteria=(Criterion(id="it", verifier="within_radius", params=params),)
    )


@pytest.fixture
def without_geographiclib(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules is how Python itself says that a module cannot be imported.
    monkeypatch.setitem(sys.modules, "geographiclib", None)
    monkeypatch.setitem(sys.modules, "geographiclib.geodesic", None)


@pytest.mark.usefixtures("without_geographiclib")
def test_absent_library_is_a_fault_at_lock() -> None:
    with pytest.raises(ContractError) as caught:
        lock(contract(center=CENTER, max=1), STDLIB)

    assert [ABSENT] == [fault.message for fault in caught.value.faults]


@pytest.mark.usefixtures("without_geographiclib")
def test_absent_library_is_an_error_in_a_contract_locked_elsewhere() -> None:
    locked = seal(contract(center=CENTER, max=1), {}, ())
    finding = Engine(STDLIB).verify(locked, Subject(output=CENTER)).results[0].finding

    assert ("error", f"{ABSENT}.") == (finding.status.value, finding.detail)


@pytest.mark.usefixtures("without_geographiclib")
def test_faults_of_the_params_come_before_the_absent_library() -> None:
    with pytest.raises(ContractError) as caught:
        lock(contract(center=CENTER), STDLIB)

    assert ["params.max or params.min is required"] == [f.message for f in caught.value.faults]


@pytest.mark.usefixtures("without_geographiclib")
def test_stated_distances_need_no_library() -> None:
    locked = lock(contract(max=15), STDLIB)

    assert Engine(STDLIB).verify(locked, Subject(output=[{"minutes": 15}])).passed


def test_library_is_imported_only_when_a_centre_is_bound() -> None:
    script = "import sys, signoff.verifiers; sys.exit('geographiclib' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", script], check=False).returncode


def test_faults_have_their_places() -> None:
    with pytest.raises(ContractError) as caught:
        lock(contract(min=9, max=5, coordinates="geo"), STDLIB)

    assert ["/criteria/0/params/min", "/criteria/0/params/coordinates"] == [
        fault.where for fault in caught.value.faults
    ]


def geodesics() -> list[Any]:
    document: Any = loads(GEODESICS.read_bytes())
    return [pytest.param(case, id=case["description"]) for case in document["cases"]]


def judged(output: Any, **params: Any) -> Finding:
    locked = lock(contract(**params), STDLIB)
    return Engine(STDLIB).verify(locked, Subject(output=output)).results[0].finding


def printed_meters(center: dict[str, float], position: Any) -> float:
    detail = judged(position, center=center, max=30_000_000).detail
    found = re.fullmatch(r"Within max=30000000 m \((\d+(?:\.\d{1,3})?) m\)\.", detail)
    assert found, detail
    return float(found[1])


@pytest.mark.parametrize("case", geodesics())
def test_distance_is_the_published_one(case: dict[str, Any]) -> None:
    known = round(case["meters"], case["decimals"])
    there = printed_meters(case["from"], case["to"])
    back = printed_meters(case["to"], case["from"])

    assert (known, known) == (round(there, case["decimals"]), round(back, case["decimals"]))
    assert there == back


@pytest.mark.parametrize("case", geodesics())
def test_distance_is_compared_to_the_millimetre(case: dict[str, Any]) -> None:
    there = printed_meters(case["from"], case["to"])
    nearer = round(there - 0.001, 3)

    assert judged([case["to"]], center=case["from"], min=there, max=there).status.holds
    if nearer >= 0:
        found = judged([case["to"]], center=case["from"], max=nearer)
        assert ("fail", "/0") == (found.status.value, found.at)


@pytest.mark.parametrize("case", geodesics())
def test_every_way_to_write_a_position_is_the_same_place(case: dict[str, Any]) -> None:
    lat, lon = case["to"]["lat"], case["to"]["lon"]
    ways: list[Any] = [
        {"lat": lat, "lng": lon},
        {"latitude": lat, "longitude": lon},
        {"type": "Point", "coordinates": [lon, lat]},
    ]

    assert {printed_meters(case["from"], case["to"])} == {
        printed_meters(case["from"], way) for way in ways
    }


def test_published_distances_reach_the_odd_places() -> None:
    cases = [case.values[0] for case in geodesics()]

    assert 50 < len(cases)
    assert any(abs(case["from"]["lat"]) == 90 for case in cases)
    assert any(case["meters"] > 20_000_000 for case in cases)
    assert any(abs(case["from"]["lon"] - case["to"]["lon"]) > 180 for case in cases)
    assert 40 < sum(case["decimals"] == 3 for case in cases)
