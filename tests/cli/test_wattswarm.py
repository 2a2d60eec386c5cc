"""``signoff wattswarm hash``: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.wattswarm.hashes import hex_of
from tests.cli.calling import call, wrote
from tests.dialects.wattswarm.world import asked, cases, compact, document, question, verifying

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "wattswarm"


def hashed(*argv: str | Path, stdin: bytes = b"") -> Any:
    return call("wattswarm", "hash", *argv, stdin=stdin)


@cases("policy_hashes")
def test_policy_prints_both_hashes(case: dict[str, Any]) -> None:
    """Acceptance row 22."""
    params = json.dumps(case.get("policy_params", {}))
    called = hashed("policy", case["policy_id"], "--params", params, "--preimage", "--json")
    assert called.code == 0
    assert called.json["policy_id"] == case["policy_id"]
    assert called.json[f"{case['form']}_hash"] == case["policy_hash"]
    assert called.json[f"{case['form']}_preimage"] == case["preimage"]
    plain = hashed("policy", case["policy_id"], "--params", params)
    assert case["policy_hash"] in plain.out
    assert case["preimage"] not in plain.out


def test_policy_takes_params_from_a_file(tmp_path: Path) -> None:
    file = wrote(tmp_path, "params.json", '{"min_confidence": 0.80}')
    called = hashed("policy", "vp.schema_thresholds.v1", "--params", f"@{file}")
    assert "519ac00a96f4f92417d75243c4be5a6979329f4d4b2574d1a917e2dd3d28b50a" in called.out


@pytest.mark.parametrize(
    "argv",
    [
        ("policy", "vp.other.v1"),
        ("policy", "vp.schema_only.v1", "--params", "[]"),
        ("policy", "vp.schema_only.v1", "--params", "{"),
        ("policy", "vp.schema_only.v1", "--params", '{"a":1,"a":2}'),
        ("policy", "vp.schema_only.v1", "--params", "@nowhere.json"),
        ("output", "nowhere.json"),
        ("output", "-"),
        ("canonical", "-"),
        ("result", "--request", "nowhere.json", "--response", "nowhere.json"),
        ("result",),
    ],
)
def test_what_cannot_be_used_is_refused(argv: tuple[str, ...]) -> None:
    called = hashed(*argv)
    assert (called.code, called.out) == (2, "")
    assert called.err


@cases("canonical")
def test_canonical_prints_the_bytes_and_no_newline(case: dict[str, str]) -> None:
    """Acceptance row 22."""
    data = case["json"].encode()
    assert hashed("canonical", "-", stdin=data).out == case["canonical"]
    told = hashed("canonical", "-", "--json", stdin=data).json
    digest = "sha256:" + hex_of(case["canonical"].encode())
    assert told == {"canonical": case["canonical"], "digest": digest}
    assert hashed("output", "-", "--json", stdin=data).json["digest"] == digest


@pytest.mark.parametrize(("text", "safe"), [(b"[0.3]", True), (b"[0.30000000000000004]", False)])
def test_output_says_whether_its_numbers_are_safe(text: bytes, safe: bool) -> None:
    told = hashed("output", "-", "--json", stdin=text).json
    assert told["safe_numbers"] is safe
    assert told["size_bytes"] == len(text)
    assert ("otherwise" in hashed("output", "-", stdin=text).out) is not safe


def compared(folder: Path, request: Any, response: Any) -> Any:
    files = (
        wrote(folder, "request.json", compact(request)),
        wrote(folder, "response.json", compact(response)),
    )
    return hashed("result", "--request", files[0], "--response", files[1], "--json")


@cases("requests")
def test_the_hashes_of_a_reply_are_found_again(case: dict[str, Any], tmp_path: Path) -> None:
    """Acceptance row 22."""
    reply = asked(verifying(), case["request"])
    called = compared(tmp_path, case["request"], reply)
    assert (called.code, called.json["equal"]) == (0, True)
    assert called.json["verifier_result_hash"]["computed"] == reply["verifier_result_hash"]
    assert called.json["audit_hash"]["computed"] == case["audit"]["audit_hash"]


CHANGES: dict[str, Any] = {
    "passed": False,
    "score": 0.5,
    "reason_codes": [100, 102],
    "verification_status": "failed",
    "provider_family": "other",
    "model_id": "other",
    "verifier_result_hash": "0" * 64,
}


@pytest.mark.parametrize("member", CHANGES)
def test_a_changed_reply_is_found_out(member: str, tmp_path: Path) -> None:
    """Acceptance row 22."""
    request = question()
    reply = asked(verifying(), request) | {member: CHANGES[member]}
    called = compared(tmp_path, request, reply)
    assert (called.code, called.json["equal"]) == (1, False)
    by_audit_alone = member == "verification_status"
    assert called.json["verifier_result_hash"]["equal"] is by_audit_alone


@pytest.mark.parametrize("member", ["output", "schema", "params", "ref"])
def test_a_changed_request_is_found_out_by_the_audit_hash(member: str, tmp_path: Path) -> None:
    """Acceptance row 22."""
    reply = asked(verifying("off"), question())
    changed = question()
    if member == "output":
        changed["candidate"]["output"]["answer"] = "y"
    elif member == "schema":
        changed["output_schema"] = {"type": "object"}
    elif member == "params":
        changed["policy"]["policy_params"] = {"x": 1}
    else:
        changed["candidate"]["evidence_refs"] = [changed["candidate"]["output_ref"]]
    called = compared(tmp_path, changed, reply)
    assert called.code == 1
    assert called.json["verifier_result_hash"]["equal"] is True
    assert called.json["audit_hash"]["equal"] is False


def test_a_reply_of_another_verifier_states_no_audit_hash(tmp_path: Path) -> None:
    case = document("requests")["cases"][0]
    reply = asked(verifying(), case["request"])
    del reply["signoff"]
    reply["score"] = 1  # an integer token says the same
    called = compared(tmp_path, case["request"], reply)
    assert called.code == 0
    assert "audit_hash" not in called.json
    del reply["score"]
    assert compared(tmp_path, case["request"], reply).code == 2


def test_the_example_is_what_is_answered() -> None:
    expected = json.loads((EXAMPLE / "response.json").read_bytes())
    reply = asked(verifying(), (EXAMPLE / "request.json").read_bytes())
    for name in ("engine", "schema_engine"):
        del reply["signoff"][name]
    assert reply == expected
    called = hashed(
        "result", "--request", EXAMPLE / "request.json", "--response", EXAMPLE / "response.json"
    )
    assert (called.code, called.out.count("  equal\n")) == (0, 2)
