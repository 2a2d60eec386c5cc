"""The hashes of policies, and what a received one selects."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.dialects.wattswarm.hashes import hex_of
from signoff.dialects.wattswarm.policies import (
    BindingInvalid,
    PolicyBinding,
    bind,
    doc_hash,
    doc_preimage,
    kernel_hash,
    kernel_preimage,
)
from tests.dialects.wattswarm.world import cases


@cases("policy_hashes")
def test_a_policy_has_the_hash_of_its_preimage(case: dict[str, Any]) -> None:
    """Acceptance row 1."""
    id_ = case["policy_id"]
    if case["form"] == "kernel":
        preimage, found = kernel_preimage(id_), kernel_hash(id_)
    else:
        params = case["policy_params"]
        preimage, found = doc_preimage(id_, params), doc_hash(id_, params)
    assert preimage.decode() == case["preimage"]
    assert found == hex_of(preimage) == case["policy_hash"]


@cases("bindings")
def test_a_received_policy_selects_a_form_or_is_refused(case: dict[str, Any]) -> None:
    """Acceptance rows 3 and 4."""
    binding = PolicyBinding(**case["policy"])
    extra = {id_: frozenset(hashes) for id_, hashes in case.get("extra", {}).items()}
    expect = case["expect"]
    if "form" in expect:
        assert bind(binding, extra).value == expect["form"]
        return
    with pytest.raises(BindingInvalid) as raised:
        bind(binding, extra)
    assert (raised.value.code, str(raised.value)) == (expect["code"], expect["detail"])


def test_a_long_id_is_told_in_part() -> None:
    binding = PolicyBinding(
        policy_id="x" * 10_000, policy_version="1", policy_hash="", policy_params={}
    )
    with pytest.raises(BindingInvalid) as raised:
        bind(binding, {})
    assert len(str(raised.value)) < 300
