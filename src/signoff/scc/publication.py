"""
The end of a run: its files get their places, and its verdict last of all.

The ledger is told of every file before it has its place, so that what a killed run
leaves is known to be the verifier's own.  Whatever cannot be written takes the
verdict with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256

from signoff.ledger import Ledger
from signoff.model import Report
from signoff.record import encode_report
from signoff.scc.composition import EVENTS, VERDICT, Composed
from signoff.scc.earlier import announcement_of_publishing, remove_verdicts
from signoff.scc.run_names import RunNames
from signoff.scc.staging import Staging
from signoff.scc.superseded import Superseded
from signoff.scc.workspace import Workspace
from signoff.scc.written import VERIFIED, WrittenRun, run_data, subject_of, written_notes

__all__ = ["Publication", "written_run"]


class Publication:
    """
    One run on its way to its places.

    Args:
        workspace: Of the run.
        names: Of the run.
        staging: Where its files were made.
        ledger: That is told.
        on_step: Called with the name of each step before it is taken.
    """

    def __init__(
        self,
        workspace: Workspace,
        names: RunNames,
        staging: Staging,
        ledger: Ledger,
        *,
        on_step: Callable[[str], object],
    ) -> None:
        self._workspace = workspace
        self._names = names
        self._staging = staging
        self._ledger = ledger
        self._on_step = on_step

    def publish(
        self,
        made: Composed,
        report: Report,
        run: WrittenRun,
        older: tuple[Superseded, ...],
        replaced: Mapping[str, str],
    ) -> None:
        """
        Put everything in its place, the verdict last; it lasts when this returns.

        Args:
            made: The files, which are staged.
            report: The core's, for the ledger.
            run: What the ledger is told of.
            older: Reports that go elsewhere.
            replaced: Digests of files that are replaced, and were not written here.

        Raises:
            OSError: It cannot be written; no verdict is left.
            SignoffError: Likewise.
        """
        done = False
        try:
            self._announce(run, older, replaced)
            self._place(older)
            self._verdicts(made)
            self._record(made, report, run)
            done = True
        finally:
            if not done:
                self.withdraw()

    def withdraw(self) -> None:
        """
        Leave no verdict of this run anywhere.

        Raises:
            OSError: One is left.
        """
        names = self._names
        remove_verdicts(
            self._workspace,
            (
                f"{names.run_dir}/{VERDICT}",
                f"{names.mirror}/verdict.json",
                names.pointer,
                names.sidecar,
                names.gate_report,
            ),
        )

    def _announce(
        self, run: WrittenRun, older: tuple[Superseded, ...], replaced: Mapping[str, str]
    ) -> None:
        self._on_step("announce")
        moved = {one.target: one.sha256 for one in older if one.sha256}
        self._ledger.append(
            announcement_of_publishing(run),
            *written_notes(run.run_id, {**run.files, **moved}, contract_id=run.task_id),
            # When they are gone, nobody shall pass for who took them away.
            *written_notes("", replaced, contract_id=run.task_id),
        )

    def _place(self, older: tuple[Superseded, ...]) -> None:
        names, staging = self._names, self._staging
        self._on_step("place run")
        staging.put(staging.run, names.run_dir)
        self._on_step("place mirror")
        staging.take(names.mirror, "earlier")
        staging.put(staging.mirror, names.mirror)
        for number, one in enumerate(older):
            self._on_step("supersede")
            staging.take(one.path, f"report-{number}")
            if one.sha256:
                staging.put(staging.place / f"report-{number}", one.target)
        self._on_step("place report")
        staging.put(staging.place / names.report.rpartition("/")[2], names.report)

    def _verdicts(self, made: Composed) -> None:
        names, staging = self._names, self._staging
        for number, (step, data, target) in enumerate(
            (
                ("verdict run", made.verdict, f"{names.run_dir}/{VERDICT}"),
                ("verdict mirror", made.verdict, f"{names.mirror}/verdict.json"),
                ("pointer", made.pointer, names.sidecar),
                ("verdict pointer", made.verdict, names.pointer),
                ("gate report", made.gate, names.gate_report),
            )
        ):
            self._on_step(step)
            staging.write(staging.place, {f"last-{number}": data})
            staging.put(staging.place / f"last-{number}", target)

    def _record(self, made: Composed, report: Report, run: WrittenRun) -> None:
        names, staging = self._names, self._staging
        self._on_step("events")
        staging.write(staging.place, {"events": made.event})
        staging.put(staging.place / "events", f"{names.run_dir}/{EVENTS}")
        self._on_step("ledger")
        self._ledger.record(
            report,
            encode_report(report),
            subject=subject_of(names.area, names.task_code),
            run=names.run_dir,
            type=VERIFIED,
            data=run_data(run),
            also=written_notes(run.run_id, run.files, contract_id=run.task_id),
        )
        self._on_step("done")


def written_run(
    names: RunNames, made: Composed, *, contract_path: str, contract_sha256: str
) -> WrittenRun:
    """What the ledger is told of a run: every file with its digest."""
    files: dict[str, str] = {}
    for one in made.evidence:
        files[f"{names.run_dir}/{one.path}"] = one.sha256
        files[f"{names.mirror}/{one.path}"] = one.sha256
    run = {**made.run, EVENTS: made.event, VERDICT: made.verdict}
    files |= {f"{names.run_dir}/{path}": _sha256(data) for path, data in run.items()}
    files |= {f"{names.mirror}/{path}": _sha256(data) for path, data in made.mirror.items()}
    files |= {
        f"{names.mirror}/verdict.json": _sha256(made.verdict),
        names.report: _sha256(made.report),
        names.pointer: _sha256(made.verdict),
        names.sidecar: _sha256(made.pointer),
        names.gate_report: _sha256(made.gate),
    }
    return WrittenRun(
        run_id=names.run_id,
        task_id=names.task_id if names.has_task else "",
        task_code=names.task_code,
        area=names.area,
        contract_path=contract_path,
        contract_sha256=contract_sha256,
        verdict_sha256=_sha256(made.verdict),
        files=files,
    )


def _sha256(data: bytes) -> str:
    return sha256(data).hexdigest()
