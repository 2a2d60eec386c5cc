"""within_radius beyond its vectors: the optional package, and that it is wanted only for positions."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.lockfile import seal
from signoff.model import Contract, Criterion, Subject
from signoff.verifiers import STDLIB

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
