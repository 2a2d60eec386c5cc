"""Requests as a WattSwarm node sent them, and what another runtime answered."""

from __future__ import annotations

from typing import Any

from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import canonical, loads
from signoff.dialects.wattswarm.request import read_verify
from tests.dialects.wattswarm.world import asked, cases, verifying


@cases("recorded")
def test_a_recorded_request_has_the_reply_of_the_reference_runtime(case: dict[str, Any]) -> None:
    """Acceptance row 24: verdict, codes, score and hash are the same, with nothing fetched."""
    reply = asked(verifying("off"), case["body"].encode())
    assert {name: reply[name] for name in case["expect"]} == case["expect"]


@cases("recorded")
def test_a_node_names_the_output_as_we_do(case: dict[str, Any]) -> None:
    """Acceptance row 24: the digest and the length that it sends are those of our canonical form."""
    body = case["body"].encode()
    request = read_verify(body)
    ref = request.output_ref
    checks = asked(verifying("advisory"), body)["signoff"]["checks"]
    assert (ref.digest, ref.size_bytes) == (digest_of(request.canonical), len(request.canonical))
    assert {"output_ref": "pass"}.items() <= {one["id"]: one["status"] for one in checks}.items()


@cases("recorded")
def test_a_node_writes_json_in_the_canonical_form_where_it_is_free(case: dict[str, Any]) -> None:
    body = case["body"]
    read: Any = loads(body.encode())
    for value in (read["candidate"]["output"], read["output_schema"]):
        assert canonical(value).decode() in body
