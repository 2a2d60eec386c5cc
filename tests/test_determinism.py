"""The vectors give the same bytes whatever the process: hash seed, locale, time zone, optimisation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from signoff.jsonvalue import shown
from signoff.strictjson import loads

FOLDER = Path(__file__).parent.parent / "conformance" / "verifiers"

PROGRAM = """
import sys
from pathlib import Path
import msgspec
from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.model import Subject
from signoff.verifiers import STDLIB

def judged(verifier, case):
    criterion = {"id": "it", "verifier": verifier, "params": case["params"]}
    try:
        locked = lock({"id": "vector", "criteria": [criterion]}, STDLIB)
    except ContractError as exc:
        return [[fault.where, fault.message] for fault in exc.faults]
    subject = msgspec.convert(case.get("subject", {}), Subject)
    report = Engine(STDLIB).verify(locked, subject)
    return [locked.digest, locked.warnings, report.results[0].finding, report.output_digest]

for file in sorted(Path(sys.argv[1]).glob("*.json")):
    document = msgspec.json.decode(file.read_bytes())
    for case in document["cases"]:
        line = msgspec.json.encode([file.stem, judged(document["verifier"], case)], order="sorted")
        sys.stdout.buffer.write(line + b"\\n")
"""


def vectors() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for file in sorted(FOLDER.glob("*.json")):
        document: Any = loads(file.read_bytes())
        found += [(file.stem, case) for case in document["cases"]]
    return found


def output_of(*options: str, **environment: str) -> bytes:
    return subprocess.run(
        [sys.executable, *options, "-c", PROGRAM, str(FOLDER)],
        env=os.environ | environment,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout


@pytest.fixture(scope="module")
def usual() -> bytes:
    return output_of(PYTHONHASHSEED="0", LC_ALL="C.UTF-8", TZ="UTC")


def test_every_vector_is_judged(usual: bytes) -> None:
    assert len(vectors()) == usual.count(b"\n")


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        ((), {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Kathmandu"}),
        (("-O",), {"PYTHONHASHSEED": "4242", "LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "0"}),
    ],
    ids=["seed and time zone", "locale and optimisation"],
)
def test_other_processes_give_the_same_bytes(
    usual: bytes, options: tuple[str, ...], environment: dict[str, str]
) -> None:
    assert usual.splitlines() == output_of(*options, **environment).splitlines()


def test_texts_of_the_vectors_are_single_safe_lines() -> None:
    texts = [
        text
        for _, case in vectors()
        for text in (*case.get("faults", ()), case.get("expect", {}).get("detail", ""))
    ]

    assert [] == [text for text in texts if shown(text, 10_000) != text]
