"""The same subject gives the same bytes in every process, and every detail is one safe line."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from signoff.strictjson import loads

ROOT = Path(__file__).parent.parent.parent
VECTORS = ROOT / "conformance" / "verifiers"
NAMES = sorted(path.stem for path in VECTORS.glob("*.json"))

JUDGE_ALL = """
import hashlib, json, pathlib, sys
import msgspec
from signoff.lockfile import seal
from signoff.engine import Engine
from signoff.model import Contract, Criterion, Subject
from signoff.verifiers import STDLIB

found = hashlib.sha256()
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    document = json.loads(path.read_bytes())
    for case in document["cases"]:
        try:
            criterion = Criterion(id="it", verifier=document["verifier"], params=case["params"])
            locked = seal(Contract(id="it", criteria=(criterion,)), {}, ())
        except ValueError:
            continue
        subject = msgspec.convert(case.get("subject", {}), Subject)
        finding = Engine(STDLIB).verify(locked, subject).results[0].finding
        found.update(msgspec.json.encode(finding))
print(found.hexdigest())
"""


def findings_digest(seed: str, locale: str) -> str:
    environment = os.environ | {
        "PYTHONHASHSEED": seed,
        "LC_ALL": locale,
        "TZ": "Pacific/Kiritimati",
    }
    done = subprocess.run(
        [sys.executable, "-c", JUDGE_ALL, str(VECTORS)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout


def test_hash_seed_and_locale_change_no_byte() -> None:
    first = findings_digest("0", "C")

    assert len(first.strip()) == 64
    assert first == findings_digest("1", "tr_TR.UTF-8")
    assert first == findings_digest("4711", "C.UTF-8")


@pytest.mark.parametrize("name", NAMES)
def test_details_of_vectors_are_one_safe_line(name: str) -> None:
    document: Any = loads((VECTORS / f"{name}.json").read_bytes())
    details = [case["expect"]["detail"] for case in document["cases"] if "expect" in case]

    assert details
    for detail in details:
        assert not [char for char in detail if unicodedata.category(char) in {"Cc", "Zl", "Zp"}]
        assert len(detail) < 4_096
