"""What an executor did to a workspace, and whether it may have done it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from signoff.dialects.scc.contract import SccContract
from signoff.dialects.scc.patch import Change as PatchChange
from signoff.dialects.scc.patch import changed_paths
from signoff.dialects.scc.settings import PATH, Settings
from signoff.dialects.scc.verdict import Failure
from signoff.errors import NotJudged
from signoff.folder import reason
from signoff.git.changes import Change, Opened, Side, opened
from signoff.git.history import merge_base
from signoff.git.lines import changed_lines
from signoff.git.objects import Entry
from signoff.git.program import Deadline
from signoff.git.repository import Repository
from signoff.git.worktree import Worktree
from signoff.jsonvalue import shown
from signoff.scc.change_set import Assurance, ChangedPath, printable
from signoff.scc.comparison import Compared, changed_as, compared_with, ignored_as, path_text
from signoff.scc.given import Given, given_inputs, require_allowed
from signoff.scc.own_files import OwnFiles
from signoff.scc.patch_work import patch_paths, read_headers, require_applied
from signoff.scc.protected import Protected, violations
from signoff.scc.record_file import FoundRecord, record_at, record_path
from signoff.scc.registry import OidRegistry
from signoff.scc.replaced import as_in_base, require_unforged, without_removals
from signoff.scc.tree import LIMIT_S, is_versioned, listing, tree_digest
from signoff.scc.work_refused import WorkRefused
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
        removed: Digest of each verdict that the verifier has taken away already, by path.
        replacing: How the paths begin of what the run is going to replace.
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
    removed: Mapping[str, str] = {}
    replacing: tuple[str, ...] = ()


class WorkFound(Struct, frozen=True, kw_only=True):
    """
    What was found of the work.

    Args:
        base_commit: The commit before the work, ``""`` where there is none.
        commit: That is checked out, likewise.
        assurance: What the change set rests on.
        changes: Every path that is not as it is in the base, the verifier's own files aside.
        touched: Their paths, sorted; odd bytes are written out.
        evidence: The executor's files: record, logs, patch; none without a record.
        touched_oids: Of the record.
        evidence_oids: Of the record.
        failure: What the work is refused for, None if it is not.
        warnings: What a person should know.
        tree_digest: Of the judged tree.
        dirty: Something differs from the commit that is checked out.
        replaced: Digest of each file that the run replaces and that is as the base has it.
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
    replaced: Mapping[str, str] = {}


def examine(request: WorkRequest) -> WorkFound:
    """
    What an executor did, and why it is refused if it is; never raises for what it did.

    Where there is a failure, nothing of the contract may be run.
    """
    examination = _Examination(request)
    failure: Failure | None = None
    for step in (examination.run, examination.digest):
        try:
            step()
        except WorkRefused as exc:
            failure = failure or exc.failure
        except NotJudged as exc:
            failure = failure or WorkRefused.unread(exc.finding.detail).failure
        except OSError as exc:
            failure = failure or WorkRefused.unread(f"the work: {reason(exc)}").failure
    return examination.found(failure)


class _Examination:
    """One work, with what is known of it so far."""

    def __init__(self, request: WorkRequest) -> None:
        self._request = request
        self._facts = dict[str, Any]()
        self._warnings: list[str] = []
        self._record: FoundRecord | None = None
        self._given = Given()

    def found(self, failure: Failure | None) -> WorkFound:
        """All that is known."""
        return WorkFound(**self._facts, failure=failure, warnings=tuple(self._warnings))

    def digest(self) -> None:
        """The digest of the judged tree is known."""
        request = self._request
        self._facts["tree_digest"] = tree_digest(request.workspace, own=request.own)

    def run(self) -> None:
        """
        Nothing, if the work may be judged.

        Raises:
            WorkRefused: It may not.
            NotJudged: It could not be looked at.
        """
        request = self._request
        self._read_record()
        self._given = given_inputs(request.workspace, request.contract.inputs, request.registry)
        deadline = Deadline.after(LIMIT_S)
        root = str(request.workspace.root)
        if is_versioned(request.workspace):
            with opened(root, deadline) as work:
                if work.head is not None:
                    self._examine(work, work.head)
                    return
                if _has_references(work.repository):
                    raise WorkRefused.unusable("HEAD names no commit, and other references do")
        self._without_commits(root, deadline)

    def _read_record(self) -> None:
        request = self._request
        place = request.record
        if place is None:
            default = request.workspace.root / record_path(request.contract.task_id)
            if not os.path.lexists(default):
                return
            place = default
        self._record = record_at(
            place,
            task_id=request.contract.task_id,
            contract_sha256=request.contract_sha256,
            registry=request.registry,
        )
        record = self._record.record
        self._facts |= {
            "evidence": self._record.files,
            "touched_oids": record.touched_oids,
            "evidence_oids": record.evidence_oids,
        }

    # -- without a commit to compare with --

    def _without_commits(self, root: str, deadline: Deadline) -> None:
        if self._record is not None or self._request.contract.inputs.commit:
            raise WorkRefused.unusable("a commit is named, and the workspace has no commits")
        if self._request.strict:
            raise WorkRefused.unusable("there is no version control and no record of the work")
        self._warnings.append("change_assurance is none: what was changed is not known")
        compared = Compared(root=root, nodes=listing(root, deadline))
        files = Worktree(root=root, hashing="sha1", deadline=deadline)
        compared = self._apart(compared, {*self._given_paths(), PATH})
        require_unforged(self._request.removed, self._request.written)
        self._require_unprotected(compared, self._own(compared, files))

    # -- with one --

    def _examine(self, work: Opened, head: str) -> None:
        base = self._base(work, head)
        self._facts |= {"base_commit": base, "commit": head}
        compared = compared_with(work, base)
        unpinned = self._unpinned(compared)
        self._warnings += [
            f'"{shown(path)}" is not in the base commit: whether it was changed is not known'
            for path in sorted(unpinned)
        ]
        compared = without_removals(self._apart(compared, unpinned), self._request.removed)
        files = _reader(work)
        own = self._own(compared, files)
        changes = [one for one in compared.changes.values() if not own.made(one)]
        headers = self._headers()
        touched = self._tell(compared, changes, headers, own)
        self._facts["replaced"] = as_in_base(compared, self._request.replacing, files)
        self._facts["replaced"] |= require_unforged(
            self._request.removed, self._request.written, work, compared
        )
        self._require_unprotected(compared, own)
        if headers is not None:
            patch_paths(headers, compared, self._protected())
        self._require_state(work, compared, changes)
        lines = self._lines(work, compared, changes, files)
        require_allowed(self._request.contract.scope, self._given.pins, touched, lines=lines)

    def _base(self, work: Opened, head: str) -> str:
        record = None if self._record is None else self._record.record
        wanted = self._request.contract.inputs.commit or head
        base = wanted if record is None else record.base
        target = record.commit_ref if record is not None and record.commit_ref else base
        if work.objects.commit(base) is None:
            raise WorkRefused.unusable(f"commit {base} is not in the repository")
        if work.objects.commit(target) is None:
            raise WorkRefused.missing(f"record: commit {target} is not in the repository")
        if head != target:
            raise WorkRefused.unusable(f"HEAD is {head}, expected {target}")
        if merge_base(work.objects, head, base) != base:
            raise WorkRefused.unusable(f"HEAD {head} does not descend from {base}")
        return base

    def _headers(self) -> tuple[PatchChange, ...] | None:
        if self._record is None or self._record.patch is None:
            return None
        return read_headers(self._record.patch)

    def _tell(
        self,
        compared: Compared,
        changes: list[Change],
        headers: tuple[PatchChange, ...] | None,
        own: OwnFiles,
    ) -> tuple[str, ...]:
        """Notes the change set; gives its paths."""
        record = None if self._record is None else self._record.record
        told = [changed_as(change, compared.nodes.get(change.path)) for change in changes]
        assurance = Assurance.WORKTREE
        if headers is not None:
            assurance = Assurance.PATCH
        elif record is not None and record.commit_ref:
            assurance = Assurance.COMMIT
        elif record is None:  # the executor worked here, and may have written what is ignored
            told += [
                ignored_as(path, compared.nodes[path])
                for path in compared.ignored()
                if not own.holds(path)
            ]
        paths = {one.path for one in told} | {*(changed_paths(headers) if headers else ())}
        touched = tuple(sorted(paths))
        self._facts |= {
            "assurance": assurance,
            "changes": tuple(sorted(told, key=lambda one: one.path)),
            "touched": tuple(map(printable, touched)),
            "dirty": bool(told) and assurance is not Assurance.COMMIT,
        }
        return touched

    def _require_state(self, work: Opened, compared: Compared, changes: list[Change]) -> None:
        """The workspace is in the state that the record says."""
        if self._record is None:
            return
        record, patch = self._record.record, self._record.patch
        if record.no_changes and changes:
            name = shown(path_text(min(change.path for change in changes)))
            raise WorkRefused.denied(f'the record says no_changes, and "{name}" is changed')
        if patch is not None:
            paths = changed_paths(read_headers(patch))
            require_applied(work, compared, patch, paths, changes)
        if record.commit_ref:
            self._require_clean(work)

    def _require_clean(self, work: Opened) -> None:
        """Nothing differs from the commit that is checked out."""
        assert work.head is not None
        with opened(work.root, work.git.deadline) as again:
            compared = compared_with(again, work.head)
            compared = self._apart(compared, self._unpinned(compared))
            compared = without_removals(compared, self._request.removed)
            files = _reader(again)
            own = self._own(compared, files)
            for path, change in sorted(compared.changes.items()):
                if not own.made(change):
                    self._facts["dirty"] = True
                    message = f'"{shown(path_text(path))}" is not what commit {work.head} has'
                    raise WorkRefused.unusable(f"the workspace is in another state: {message}")

    def _lines(
        self, work: Opened, compared: Compared, changes: list[Change], files: Worktree
    ) -> int | None:
        """How many lines were changed, where the pins limit that."""
        if self._given.pins is None or self._given.pins.max_loc is None:
            return None
        ignored = {one.path for one in self._facts["changes"] if one.ignored}
        added = [
            Change(path=path, before=None, after=(_on_disk(files, path),))
            for path in compared.ignored()
            if path_text(path) in ignored
        ]
        return changed_lines(work.git, [*changes, *added])

    # -- what is protected --

    def _require_unprotected(self, compared: Compared, own: OwnFiles) -> None:
        for fault in violations(compared, own, self._protected()):
            raise WorkRefused.denied(fault)

    def _own(self, compared: Compared, files: Worktree) -> OwnFiles:
        return OwnFiles(written=self._request.written, compared=compared, files=files)

    def _protected(self) -> Protected:
        return Protected(more=self._request.settings.protected, files=self._given_paths())

    def _unpinned(self, compared: Compared) -> set[str]:
        """The given files that no commit holds: a dispatcher put them there, or somebody else."""
        known = compared.base.keys() | compared.head.keys()
        return {
            path
            for path in self._given_paths()
            if path.encode("utf-8", "surrogateescape") not in known
        }

    def _given_paths(self) -> tuple[str, ...]:
        return (self._request.contract_path, *self._given.paths)

    @staticmethod
    def _apart(compared: Compared, paths: Iterable[str]) -> Compared:
        """Without files that the caller vouches for, where they lie as plain files."""
        keys = {path.encode("utf-8", "surrogateescape") for path in paths}
        keys = {key for key in keys if key in compared.nodes and compared.nodes[key].is_file}
        return msgspec.structs.replace(
            compared,
            nodes={path: node for path, node in compared.nodes.items() if path not in keys},
            changes={path: one for path, one in compared.changes.items() if path not in keys},
        )


def _has_references(repository: Repository) -> bool:
    """Something in the repository refers to a commit."""
    if (Path(repository.shared) / "packed-refs").exists():
        return True
    return any(files for _, _, files in os.walk(Path(repository.shared) / "refs"))


def _reader(work: Opened) -> Worktree:
    return Worktree(root=work.root, hashing=work.git.hashing, deadline=work.git.deadline)


def _on_disk(files: Worktree, path: bytes) -> Side:
    return Side(Entry(0, ""), lambda: files.content(path))
