"""What a run finds out: of the contract, of the work, by the checks and by phase 4."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final

from msgspec.structs import replace

from signoff.dialects.scc.placeholder import expand
from signoff.dialects.scc.verdict import Failure, encode_verdict, verdict_document
from signoff.errors import NotJudged
from signoff.ledger import Ledger
from signoff.model import skipped
from signoff.pathglob import parse_glob
from signoff.scc.checks import CheckDone, Prepared, Surroundings, environment, prepared, run_checks
from signoff.scc.composition import FIXED
from signoff.scc.criteria import NOT_RUN, Judged
from signoff.scc.earlier import Known, together
from signoff.scc.opening import Opened
from signoff.scc.phase4 import PhaseResult
from signoff.scc.phase4 import check as phase4
from signoff.scc.request import RunRequest
from signoff.scc.store import open_registry, place_of
from signoff.scc.tree import tree_digest
from signoff.scc.view import View, copy_out, given_up, laid_out, stamps
from signoff.scc.work import WorkFound, WorkRequest, examine
from signoff.scc.work_refused import WorkRefused
from signoff.scc.workspace import PathUnsafe
from signoff.scc.written import digests_of

__all__ = ["Inquiry"]

ATTEMPTS: Final = 5
UNREAD: Final = 125
EXECUTORS: Final = ("record.json", "stdout.txt", "stderr.txt", "patch.diff")
"""Under which names the executor's files are kept, in the order in which the work has them."""


class Inquiry:
    """
    One run's questions and the answers so far, which stay when it is broken off.

    Args:
        request: What is asked for.
        opened: The run, with its locks.
        folder: Where logs and evidence go.
        ledger: That other runs tell what they write.
    """

    def __init__(self, request: RunRequest, opened: Opened, folder: Path, ledger: Ledger) -> None:
        self._request = request
        self._ledger = ledger
        self._opened = opened
        self._folder = folder
        self._begun = monotonic()
        self._view: View | None = None
        self._done: list[CheckDone] = []
        self.prepared: tuple[Prepared, ...] = ()
        self.work = WorkFound()
        self.phases: tuple[PhaseResult, ...] = ()

    @property
    def elapsed_s(self) -> float:
        """Seconds since it began, by the monotonic clock."""
        return monotonic() - self._begun

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know of contract and work."""
        return (*self._opened.warnings, *self.work.warnings)

    @property
    def values(self) -> dict[str, str]:
        """Of each placeholder."""
        return self._own_values() | self._opened.settings.variables

    def found(self) -> Judged:
        """
        Everything but what the gate says.

        Raises:
            OSError: A file could not be read or written.
            SignoffError: Something that it rests on cannot be used.
        """
        opened, step = self._opened, self._request.on_step
        if opened.failure is not None or opened.contract is None:
            self.work = WorkFound(tree_digest=self.tree())
            return self.stopped(opened.failure, "scc.contract")
        root, policy = self._request.workspace.root, opened.settings.commands
        self.prepared = prepared(opened.contract.checks, self.values, policy, root)
        step("work")
        self._examine()
        if self.work.failure is not None:
            if not self.work.tree_digest:
                self.work = replace(self.work, tree_digest=self.tree())
            return self.stopped(self.work.failure, "scc.work")
        step("view")
        self._run_checks()
        step("phase4")
        self._run_phase4()
        return Judged(warnings=self.warnings, checks=tuple(self._done), phases=self.phases)

    def stopped(self, failure: Failure | None, at: str) -> Judged:
        """
        What was found out until something ended it.

        Args:
            failure: What did.
            at: The condition that it is told as.
        """
        done = {one.prepared.index: one for one in self._done}
        checks = tuple(
            done.get(one.index) or CheckDone(prepared=one, finding=skipped(NOT_RUN))
            for one in self.prepared
        )
        return Judged(
            failure=failure,
            ended_at=at,
            warnings=self.warnings,
            checks=checks,
            phases=self.phases,
        )

    def tree(self) -> str:
        """The digest of the tree as it is now, ``""`` where it cannot be read."""
        for _ in range(ATTEMPTS):
            with suppress(NotJudged):
                return tree_digest(self._request.workspace, own=(self._opened.names.gate_report,))
        return ""

    def close(self) -> None:
        """Give up what the checks saw."""
        if self._view is not None:
            given_up(self._view)
            self._view = None

    def forget_checks(self) -> None:
        """What checks left is not told of, for it cannot be kept."""
        self._done.clear()

    def missing_outputs(self, own: Mapping[str, object]) -> tuple[str, ...]:
        """
        Those of the expected outputs that are neither in the view nor among the run's own files.

        Args:
            own: The run's own files, by their paths in the workspace.

        Raises:
            OSError: The view cannot be read.
        """
        contract, view = self._opened.contract, self._view
        if contract is None or view is None:
            return ()
        # A gate command is not started, so what it leaves can only be looked for now.
        of_gates = (one.check.evidence_paths for one in self.prepared if one.gate is not None)
        wanted = (*contract.evidence_paths, *(path for paths in of_gates for path in paths))
        missing: list[str] = []
        for text in dict.fromkeys(expand(one, self.values) for one in wanted):
            try:
                glob = parse_glob(text)
            except ValueError:
                missing.append(text)
                continue
            if not any(map(glob.matches, own)) and not stamps(view.root, [glob])[text]:
                missing.append(text)
        return tuple(missing)

    def _own_values(self) -> dict[str, str]:
        names = self._opened.names
        return {"TASK_CODE": names.task_code, "TASK_ID": names.task_id, "AREA": names.area}

    def _examine(self) -> None:
        """The work is examined, as the executor's files are that are evidence of it."""
        known = self._opened.known
        for _ in range(ATTEMPTS):
            self.work = self._examined(known)
            if self.work.failure is None:
                break
            # Another run may have told the ledger of its files and written them meanwhile.
            written = together(known.written, digests_of(self._ledger))
            if written == known.written and self.work.failure.exit_code != UNREAD:
                break
            known = replace(known, written=written)
        self._collect()

    def _collect(self) -> None:
        """Keep copies of the executor's record, logs and patch."""
        for place, name in zip(self.work.evidence, EXECUTORS, strict=False):
            try:
                copy_out(str(place.parent), place.name, self._folder, f"collected/000/{name}")
            except PathUnsafe as exc:
                failure = WorkRefused.missing(f"record: {exc}").failure
                self.work = replace(self.work, failure=self.work.failure or failure)

    def _examined(self, known: Known) -> WorkFound:
        opened, request = self._opened, self._request
        assert opened.contract is not None
        with open_registry(place_of(request.workspace, request.env)) as registry:
            return examine(
                WorkRequest(
                    workspace=request.workspace,
                    contract=opened.contract,
                    contract_path=opened.contract_path,
                    contract_sha256=opened.contract_sha256,
                    settings=opened.settings,
                    registry=registry,
                    record=request.workspace.root / request.record if request.record else None,
                    strict=request.strict,
                    written=known.written,
                    own=(opened.names.gate_report,),
                    removed=opened.removed,
                    replacing=opened.names.replacing,
                )
            )

    def _run_checks(self) -> None:
        request, opened = self._request, self._opened
        sandbox = request.sandbox.requiring(opened.settings.min_isolation)
        view = self._view = self._laid_out(sandbox.scratch)
        own = self._own_values() | {"CONTRACT_REF": opened.contract_path}
        around = Surroundings(
            sandbox=sandbox,
            view=view,
            env=environment(request.env, opened.settings.env_allow, view, own),
            values=self.values,
            folder=self._folder,
            deadline=self._begun + opened.settings.run_timeout_s,
            fail_fast=request.fail_fast,
            on_step=request.on_step,
            on_done=self._done.append,
        )
        run_checks(self.prepared, around)

    def _laid_out(self, scratch: str) -> View:
        """The view, made anew while what other runs write comes and goes as it is copied."""
        for _ in range(ATTEMPTS - 1):
            with suppress(FileNotFoundError):
                return laid_out(self._request.workspace.root, scratch)
        return laid_out(self._request.workspace.root, scratch)

    def _run_phase4(self) -> None:
        """The phase-4 checks, shown a verdict of the form that it will have."""
        names = self._opened.names
        so_far = encode_verdict(verdict_document(None, FIXED, names.started))
        self.phases = phase4(
            self._request.workspace,
            None,
            names.area,
            names.task_code,
            so_far,
            settings=self._opened.settings,
            env=self._request.env,
            now=names.started,
        )
