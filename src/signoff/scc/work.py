"""What an executor did to a workspace, and whether it may have done it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from signoff.dialects.scc.contract import SccContract
from signoff.dialects.scc.settings import Settings
from signoff.dialects.scc.verdict import Failure
from signoff.scc.change_set import Assurance, ChangedPath
from signoff.scc.registry import OidRegistry
from signoff.scc.tree import tree_digest
from signoff.scc.workspace import Workspace

__all__ = ["WorkFound", "WorkRequest", "examine"]


class WorkRequest(Struct, frozen=True, kw_only=True):
    """
    Whose work is examined, and against what.

    Args:
        workspace: That is judged.
        contract: That the work was done under.
        contract_path: Of the contract, relative to the workspace.
        contract_sha256: 64 hex digits of the contract's bytes.
        settings: In force.
        registry: Of OIDs.
        record: The executor's record; None for that of the dispatcher, if there is one.
        strict: Warnings are failures.
        written: Digests that the verifier wrote, 64 hex digits each, by path.
        own: Further files of the verifier, such as a gate report elsewhere.
    """

    workspace: Workspace
    contract: SccContract
    contract_path: str
    contract_sha256: str
    settings: Settings
    registry: OidRegistry
    record: Path | None = None
    strict: bool = False
    written: Mapping[str, frozenset[str]] = {}
    own: tuple[str, ...] = ()


class WorkFound(Struct, frozen=True, kw_only=True):
    """
    What was found of the work.

    Args:
        base_commit: The commit before the work, ``""`` where there is none.
        commit: That is checked out, likewise.
        assurance: What the change set rests on.
        changes: Every path that is not as it is in the base, the verifier's own files aside.
        touched: Their paths, sorted.
        evidence: The executor's files: record, logs, patch; none without a record.
        touched_oids: Of the record.
        evidence_oids: Of the record.
        failure: What the work is refused for, None if it is not.
        warnings: What a person should know.
        tree_digest: Of the judged tree.
        dirty: Something differs from the commit that is checked out.
    """

    base_commit: str = ""
    commit: str = ""
    assurance: Assurance = Assurance.NONE
    changes: tuple[ChangedPath, ...] = ()
    touched: tuple[str, ...] = ()
    evidence: tuple[Path, ...] = ()
    touched_oids: tuple[str, ...] = ()
    evidence_oids: tuple[str, ...] = ()
    failure: Failure | None = None
    warnings: tuple[str, ...] = ()
    tree_digest: str = ""
    dirty: bool = False


def examine(request: WorkRequest) -> WorkFound:
    """
    What an executor did, and why it is refused if it is; never raises for what it did.

    Where there is a failure, nothing of the contract may be run.
    """
    return WorkFound(tree_digest=tree_digest(request.workspace, own=request.own))
