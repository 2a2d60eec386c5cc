"""
Older reports of a TaskCode: each goes into its own run, so one is visible and none is lost.

In the registry a report is known by its path; what is moved gets an OID of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import ExitStack
from hashlib import sha256
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.names import REPORTS, is_run_id, run_path
from signoff.jsonvalue import JSON
from signoff.scc.earlier import Known
from signoff.scc.oid_object import NewObject
from signoff.scc.registry import OidRegistry
from signoff.scc.run_names import RunNames
from signoff.scc.staging import folder_of
from signoff.scc.triplet import TripletInvalid, read_report
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace

__all__ = ["Superseded", "register_reports", "superseded_reports"]

MAX_REPORT_BYTES: Final = 64 * 2**20
MAX_NAMES: Final = 1_000_000


class Superseded(Struct, frozen=True, kw_only=True):
    """An older report, and where it goes; digest ``""`` for what is no file and goes nowhere."""

    path: str
    target: str
    run_id: str
    sha256: str


def superseded_reports(
    workspace: Workspace, names: RunNames, known: Known
) -> tuple[Superseded, ...]:
    """
    Where the older reports of the TaskCode go: each into its own run, or into this one.

    Raises:
        OSError: The folder of the reports cannot be read.
    """
    folder = f"{REPORTS}/{names.area}"
    pattern = re.compile(rf"REPORT__{re.escape(names.task_code)}__\d{{8}}\.md", re.ASCII)
    with ExitStack() as stack:
        try:
            opened = folder_of(workspace, folder, stack, create=False)
            present = opened.names(limit=MAX_NAMES)
        except FileNotFoundError:
            return ()
    found = [name for name in sorted(present) if pattern.fullmatch(name)]
    runs = {run.run_id for run in known.runs if run.area == names.area}
    return tuple(_superseded(workspace, f"{folder}/{name}", names, runs) for name in found)


def _superseded(workspace: Workspace, path: str, names: RunNames, runs: set[str]) -> Superseded:
    name = path.rpartition("/")[2]
    try:
        data = workspace.read(path, max_bytes=MAX_REPORT_BYTES)
    except (PathMissing, PathUnsafe):
        return Superseded(path=path, target="", run_id="", sha256="")
    try:
        own = read_report(data).facts.get("Run", "")
    except TripletInvalid:
        own = ""
    target = f"{run_path(own)}/superseded/{name}"
    usable = is_run_id(own) and own in runs and not os.path.lexists(workspace.root / target)
    if not usable or not (workspace.root / run_path(own)).is_dir():
        own, target = "", f"{names.run_dir}/superseded/{name}"
    return Superseded(path=path, target=target, run_id=own, sha256=sha256(data).hexdigest())


def register_reports(registry: OidRegistry, names: RunNames, older: Iterable[Superseded]) -> None:
    """
    Register the report of a run, and those that it takes the place of.

    Raises:
        RegistryRefused: Another object has the path.
        DatabaseUnusable: The registry cannot be written.
    """
    actor, why = "signoff scc run", f"superseded by {names.run_id}"
    for one in older:
        if not one.sha256:
            continue
        moved = registry.issue(_report(one.target, f"superseded:{one.target}", one.sha256)).oid
        known = registry.find_key(f"report:{one.path}")
        if one.path != names.report and known is not None and known.status == "active":
            gone: dict[str, JSON] = {"status": "moved", "replaced_by": moved}
            registry.migrate(known.oid, gone, reason=why, actor=actor)
    oid = registry.issue(_report(names.report, f"report:{names.report}", "")).oid
    known = registry.find(oid)
    if known is not None and known.status != "active":  # the clock was set back to its day
        back: dict[str, JSON] = {"status": "active", "replaced_by": None}
        registry.migrate(oid, back, reason=f"written again by {names.run_id}", actor=actor)


def _report(path: str, stable_key: str, digest: str) -> NewObject:
    return NewObject(
        path=path,
        kind="report",
        layer="REPORT",
        primary_unit="V.VERDICT",
        sha256=digest,
        stable_key=stable_key,
    )
