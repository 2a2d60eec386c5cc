"""A run with everything that the verifier leaves of it, and a hand to spoil any part of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from signoff.dialects.scc.pointer import PointerDocument, encode_pointer
from signoff.dialects.scc.verdict import (
    FailClass,
    Failure,
    encode_verdict,
    utc_text,
    verdict_document,
)
from signoff.ledger import open_ledger
from signoff.model import Report, Result, Verdict, passed
from signoff.scc.evidence_index import INDEX, EvidenceFile, encode_index, issue_evidence
from signoff.scc.gate_report import GateReport
from signoff.scc.guard import Candidate, judge
from signoff.scc.reader import Expected
from signoff.scc.store import FILE, open_registry
from signoff.scc.tree import tree_digest
from signoff.scc.triplet import (
    HASHES,
    NOT_HASHED,
    Measured,
    TestLine,
    TripletFacts,
    hashes_bytes,
    report_bytes,
    selftest_bytes,
)
from signoff.scc.workspace import Workspace
from signoff.scc.written import (
    LEDGER_FILE,
    VERIFIED,
    WrittenRun,
    run_data,
    subject_of,
    written_notes,
)
from signoff.status import Outcome

STARTED = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
FINISHED = datetime(2026, 1, 31, 12, 0, 9, tzinfo=UTC)
NOW = datetime(2026, 1, 31, 12, 5, 0, tzinfo=UTC)
RUN_ID = "20260131-120000-0000abcd"
AREA, TASK_CODE, TASK_ID = "platform", "C-1", "T-1"
REPORTS = f"docs/REPORT/{AREA}"
MIRROR = f"{REPORTS}/artifacts/{TASK_CODE}"
POINTER = f"{REPORTS}/artifacts/{TASK_ID}"
RUN = f"artifacts/scc_runs/{RUN_ID}"
REPORT = f"{REPORTS}/REPORT__{TASK_CODE}__20260131.md"
LOG = "logs/001_a.stdout.txt"
CONTRACT = "contract.json"
HELD = (TestLine(id="a", status="pass"), TestLine(id="scc.gate", status="pass"))

Spoil = Callable[["FiledRun"], object]


class FiledRun:
    """
    A run of TaskCode ``C-1`` in an initialised workspace.

    Args:
        root: Of the workspace.
        failure: None for PASS.
        notes: Of the report.
        lines: Of ``selftest.log``.
    """

    def __init__(
        self,
        root: Path,
        *,
        failure: Failure | None = None,
        notes: tuple[str, ...] = (),
        lines: tuple[TestLine, ...] = HELD,
    ) -> None:
        self.root = root
        self.workspace = Workspace.at(root)
        self.notes, self.lines = notes, lines
        self.extra: dict[str, Measured] = {}
        for path, text in ((CONTRACT, '{"task_id": "T-1"}\n'), ("src/a.py", "a = 1\n")):
            self.put(path, text.encode())
        self.tree = tree_digest(self.workspace)
        self.document = verdict_document(failure, [INDEX, LOG, "evidence/run_meta.json"], FINISHED)
        self.verdict = encode_verdict(self.document)
        self.facts = TripletFacts(
            run_id=RUN_ID,
            task_code=TASK_CODE,
            area=AREA,
            started=STARTED,
            verdict=self.document,
            lines=lines,
            notes=notes,
        )
        self._write_evidence()
        self.put(f"{MIRROR}/selftest.log", selftest_bytes(self.facts))
        self.put(f"{RUN}/selftest.log", selftest_bytes(self.facts))
        self.list_files()

    def put(self, path: str, data: bytes) -> Path:
        """The file at a path, with these bytes."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        return place

    def measured(self, path: str) -> Measured:
        """What is at a path."""
        data = (self.root / path).read_bytes()
        return Measured(sha256(data).hexdigest(), len(data))

    def list_files(self, **more: Measured) -> None:
        """Report and hashes list what is there."""
        (self.root / MIRROR / HASHES).unlink(missing_ok=True)
        paths = [path for path in self.below(MIRROR) if path.rpartition("/")[2] not in NOT_HASHED]
        self.put(REPORT, report_bytes(self.facts, [*paths, f"{MIRROR}/{HASHES}"]))
        self.hash_files(**more)

    def hash_files(self, **more: Measured) -> None:
        """The hashes list what is there, and more."""
        paths = [path for path in self.below(MIRROR) if path.rpartition("/")[2] not in NOT_HASHED]
        paths += [path for path in self.below(REPORTS) if path.count("/") == 3]
        listed = {path: self.measured(path) for path in paths}
        self.put(f"{MIRROR}/{HASHES}", hashes_bytes({**listed, **more}))

    def below(self, top: str) -> list[str]:
        """Every regular file below a folder."""
        found = (path for path in (self.root / top).rglob("*") if not path.is_symlink())
        return sorted(path.relative_to(self.root).as_posix() for path in found if path.is_file())

    def publish(self) -> None:
        """The verdict is in its three places."""
        for path in (f"{RUN}/evidence", MIRROR, POINTER):
            self.put(f"{path}/verdict.json", self.verdict)
        pointer = PointerDocument(
            run_id=RUN_ID,
            task_id=TASK_ID,
            task_code=TASK_CODE,
            area=AREA,
            run_dir=RUN,
            artifacts_dir=MIRROR,
            contract_sha256=self.measured(CONTRACT).sha256,
            commit="",
            verdict_sha256=sha256(self.verdict).hexdigest(),
        )
        self.put(f"{POINTER}/pointer.json", encode_pointer(pointer))

    def known(self, **changes: Any) -> WrittenRun:
        """The run as the verifier tells it to the ledger."""
        paths = [*self.below("docs/REPORT"), *self.below(RUN)]
        run = WrittenRun(
            run_id=RUN_ID,
            task_id=TASK_ID,
            task_code=TASK_CODE,
            area=AREA,
            contract_path=CONTRACT,
            contract_sha256=sha256(b'{"task_id": "T-1"}\n').hexdigest(),
            verdict_sha256=sha256(self.verdict).hexdigest(),
            files={path: self.measured(path).sha256 for path in paths},
        )
        return replace(run, **changes)

    def record(self, known: WrittenRun) -> None:
        """The ledger of the workspace knows the run."""
        written = Report(
            contract_id=TASK_ID,
            contract_digest="sha256:" + "0" * 64,
            output_digest=None,
            results=(Result(criterion="a", finding=passed("holds")),),
            verdict=Verdict(outcome=Outcome.PASSED),
            started=STARTED,
            elapsed_s=1.0,
            engines={},
        )
        with open_ledger(self.root / LEDGER_FILE) as ledger:
            ledger.record(
                written,
                msgspec.json.encode(written),
                subject=subject_of(known.area, known.task_code),
                type=VERIFIED,
                data=run_data(known),
                also=written_notes(known.run_id, known.files),
            )

    def judged(
        self, known: WrittenRun | None, *, candidate: Candidate | None = None, tree: str = ""
    ) -> GateReport:
        """What the guard finds."""
        expected = Expected(
            contract_sha256=self.measured(CONTRACT).sha256,
            tree_digest=tree or tree_digest(self.workspace),
        )
        return judge(
            self.workspace,
            AREA,
            TASK_CODE,
            expected=expected,
            known=known,
            candidate=candidate,
            now=NOW,
        )

    def _write_evidence(self) -> None:
        meta = {
            "run_id": RUN_ID,
            "task_id": TASK_ID,
            "task_code": TASK_CODE,
            "contract_sha256": self.measured(CONTRACT).sha256,
            "tree_digest": self.tree,
            "workspace_ref": {"repo": "", "commit": "f" * 40},
            "started_utc": utc_text(STARTED),
            "finished_utc": utc_text(FINISHED),
        }
        files = {LOG: b"EXIT_CODE=0\n", "evidence/run_meta.json": json.dumps(meta).encode()}
        listed = [
            EvidenceFile(path=path, sha256=sha256(data).hexdigest(), size=len(data))
            for path, data in files.items()
        ]
        with open_registry(self.root / FILE) as registry:
            oids = issue_evidence(registry, RUN_ID, [*files, INDEX])
        files[INDEX] = encode_index(RUN_ID, oids, listed)
        for path, data in files.items():
            self.put(f"{MIRROR}/{path}", data)
            self.put(f"{RUN}/{path}", data)


def failed_run(root: Path) -> FiledRun:
    """A run whose verdict is FAIL."""
    failure = Failure(fail_class=FailClass.COMMAND_FAILED, exit_code=3)
    return FiledRun(root, failure=failure)
