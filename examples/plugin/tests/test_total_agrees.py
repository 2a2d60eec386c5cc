"""Each vector holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from invoice_checks import total_agrees

from signoff import ContractError, Registry, verify

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text("utf-8"))
REGISTRY = Registry([total_agrees])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["title"])
def test_vector_holds(vector: dict[str, Any]) -> None:
    criterion = {"id": "it", "verifier": "total_agrees", "params": vector["params"]}
    contract = {"id": "vector", "criteria": [criterion]}
    if "faults" in vector:
        with pytest.raises(ContractError) as caught:
            verify(contract, {}, registry=REGISTRY)
        assert vector["faults"] == [fault.message for fault in caught.value.faults]
        return
    finding = verify(contract, vector["output"], registry=REGISTRY).result("it").finding
    found = {"status": finding.status.value, "detail": finding.detail, "at": finding.at}
    assert {"at": None, **vector["expect"]} == found
