"""Where everything of one run is, workspace-relative; all of it from one reading of the clock."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.names import GATE_REPORT, mirror_path, pointer_path, report_path, run_path

__all__ = ["LOCKS", "STAGING", "RunNames"]

LOCKS: Final = ".signoff/locks"
STAGING: Final = ".signoff/staging"
"""Both are the verifier's own, and change whenever it runs."""


class RunNames(Struct, frozen=True, kw_only=True):
    """
    What a run is called.

    Args:
        area: In which it is filed.
        task_code: Under which it is filed.
        task_id: Of its contract; the TaskCode where the contract gives none.
        run_id: Its own name.
        started: The one reading of the clock.
        gate_report: Where the gate's report goes.
        has_task: The task_id is that of a contract, this one or an earlier one.
    """

    area: str
    task_code: str
    task_id: str
    run_id: str
    started: datetime
    gate_report: str = GATE_REPORT
    has_task: bool = True

    @property
    def run_dir(self) -> str:
        """The run output directory."""
        return run_path(self.run_id)

    @property
    def mirror(self) -> str:
        """The artifacts directory."""
        return mirror_path(self.area, self.task_code)

    @property
    def report(self) -> str:
        """The report."""
        return report_path(self.area, self.task_code, self.started)

    @property
    def replacing(self) -> tuple[str, ...]:
        """How the paths begin that a run replaces: mirror, reports, pointer and gate report."""
        of_reports = self.report.removesuffix(f"{self.started:%Y%m%d}.md")
        return (f"{self.mirror}/", of_reports, self.pointer, self.sidecar, self.gate_report)

    @property
    def pointer(self) -> str:
        """The stable pointer."""
        return pointer_path(self.area, self.task_id)

    @property
    def sidecar(self) -> str:
        """What stands beside the pointer."""
        return f"{mirror_path(self.area, self.task_id)}/pointer.json"

    @property
    def staging(self) -> str:
        """Where the run's files are made before they get their places."""
        return f"{STAGING}/{self.run_id}"
