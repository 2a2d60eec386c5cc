"""A file that a run was to write: what it holds, and whether it is another than before."""

from __future__ import annotations

import os
import stat

from msgspec import Struct

from signoff.document.beneath import open_beneath
from signoff.errors import ReportError
from signoff.junit_report import MAX_REPORT_BYTES, JUnitReport, read_report
from signoff.workspace import OPENING

__all__ = ["ReportFile", "report_file"]


class ReportFile(Struct, frozen=True, kw_only=True):
    """
    A regular file as it stands.

    Times do not count: a command that only touches a file has not written a report.

    Args:
        data: Its content; None when it is too large for a report.
    """

    data: bytes | None

    def report(self) -> JUnitReport:
        """
        What it says.

        Raises:
            ReportError: It cannot be used.
        """
        if self.data is None:
            raise ReportError(f"it is larger than {MAX_REPORT_BYTES} bytes")
        return read_report(self.data)


def report_file(path: str, folder: str) -> ReportFile | None:
    """A regular file below a folder; None where there is none that can be read."""
    try:
        handle = open_beneath(folder, path, OPENING)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return ReportFile(data=_content(handle))
    except OSError:
        return None
    finally:
        os.close(handle)


def _content(handle: int) -> bytes | None:
    with os.fdopen(os.dup(handle), "rb") as file:
        data = file.read(MAX_REPORT_BYTES + 1)
    return data if len(data) <= MAX_REPORT_BYTES else None
