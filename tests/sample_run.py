"""A run to write, read and tamper with."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from signoff.canonical import digest_bytes
from signoff.contract import lock
from signoff.engine import Engine
from signoff.model import LockedContract, Report, Subject, ToolCall
from signoff.record import VerdictFile, subject_of
from signoff.registry import Registry
from signoff.rundir import RunDirectory, begin_run
from signoff.verifiers import STDLIB

CONTRACT = {
    "id": "sample",
    "title": "Two or three items",
    "criteria": [
        {"id": "few", "verifier": "count_between", "params": {"min": 1, "max": 3}},
        {"id": "some", "verifier": "count_between", "params": {"min": 1}, "required": False},
    ],
}
GOOD = b'[1, {"a": 2.50}]\n'
BAD = b"[1, 2, 3, 4]"
WHEN = datetime(2026, 5, 4, 3, 2, 1, 987654, tzinfo=UTC)
FILES = ("contract.json", "facts.json", "output.json", "report.json", "verdict.json")


def locked(contract: dict[str, Any] = CONTRACT, registry: Registry = STDLIB) -> LockedContract:
    return lock(contract, registry)


def engine(registry: Registry = STDLIB) -> Engine:
    return Engine(registry, clock=lambda: WHEN)


def timeless(report: Report) -> Report:
    """The same report as if everything had taken no time."""
    results = tuple(msgspec.structs.replace(r, elapsed_s=0.0) for r in report.results)
    return msgspec.structs.replace(report, results=results, elapsed_s=0.0)


def fill(
    run: RunDirectory,
    output: bytes = GOOD,
    *,
    contract: LockedContract | None = None,
    text: bool = False,
    registry: Registry = STDLIB,
    weakened: tuple[str, ...] = (),
) -> VerdictFile:
    """Commit a run with evidence and facts."""
    contract = contract or locked()
    kept = run.store.put(b"what it was made of", media_type="text/plain", name="source.txt")
    facts: dict[str, Any] = {
        "elapsed_s": 2,
        "tools": (ToolCall(name="search", status=200),),
        "evidence": (kept,),
    }
    subject: Subject = subject_of(output, text=text, **facts)
    report = engine(registry).verify(contract, subject, weakened=weakened)
    return run.commit(contract, report, subject, output=output, text=text)


def fill_again(run: RunDirectory) -> None:
    """Try to commit without new evidence."""
    subject = subject_of(GOOD)
    run.commit(locked(), engine().verify(locked(), subject), subject, output=GOOD)


def written(folder: Path, output: bytes = GOOD, **options: Any) -> Path:
    """The folder, with a run committed in it."""
    with begin_run(folder) as run:
        fill(run, output, **options)
    return folder


def document(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_bytes())


def put_document(folder: Path, name: str, value: Any) -> None:
    """Write a document the way signoff writes it."""
    data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    (folder / name).write_bytes(data)


def forge(folder: Path, name: str, edit: Callable[[Any], Any]) -> None:
    """Edit a document, and make the verdict agree with it as well as a forger can."""
    value = document(folder, name)
    edit(value)
    put_document(folder, name, value)
    reseal(folder)


def reseal(folder: Path) -> None:
    """Write into the verdict whatever the other files say now."""
    report, verdict = document(folder, "report.json"), document(folder, "verdict.json")
    verdict |= report["verdict"]
    taken = ("contract_id", "contract_digest", "output_digest", "engines", "weakened")
    for name in (*taken, "isolation", "assurance", "missing"):
        verdict[name] = report[name]
    verdict["when"] = report["started"]
    verdict["files"] = {
        path.name: digest_bytes(path.read_bytes())
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name not in {"verdict.json", ".signoff-run"}
    }
    kept = sorted((folder / "evidence").iterdir()) if (folder / "evidence").is_dir() else []
    verdict["evidence"] = {f"sha256:{path.name}": path.stat().st_size for path in kept}
    put_document(folder, "verdict.json", verdict)
