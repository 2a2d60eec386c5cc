"""
An executor run in an isolated checkout of the pinned commit, and the record of what it did.

Any program can be one.  It sees the commit and nothing of the workspace, which it
does not change: its work is a patch, its logs are files, and each has an OID.
"""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from signoff.dialects.scc.contract import SccContract, read_contract
from signoff.dialects.scc.names import clash, run_id_of
from signoff.dialects.scc.settings import Settings
from signoff.dialects.scc.shape import LIMITS
from signoff.errors import ContractError, DocumentError, NotJudged
from signoff.folder import Folder
from signoff.git.changes import opened
from signoff.git.checkout import check_out
from signoff.git.program import Deadline
from signoff.jsonvalue import shown
from signoff.sandbox.command import Command, Ended, Limits, Runner
from signoff.sandbox.supervisor.removal import remove
from signoff.scc.execution_record import Executed, Execution, recorded
from signoff.scc.given import Given, given_inputs
from signoff.scc.lock import Locks
from signoff.scc.record_file import record_path
from signoff.scc.registry import OidRegistry
from signoff.scc.told_work import Told, told_work
from signoff.scc.tree import LIMIT_S
from signoff.scc.ulid import is_oid
from signoff.scc.work_refused import WorkRefused
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace

__all__ = ["ExecuteRefused", "ExecuteRequest", "execute"]

KEPT_BYTES: Final = 4 * 2**20
_UNSTARTED: Final = frozenset(
    (
        Ended.NOT_FOUND,
        Ended.DENIED,
        Ended.CWD_MISSING,
        Ended.ISOLATION_UNAVAILABLE,
        Ended.BROKEN,
        Ended.CANCELLED,
    )
)
_MAX_NAMES: Final = 1_000_000


class ExecuteRefused(Exception):
    """The executor cannot be run as asked; nothing was recorded."""


class ExecuteRequest(Struct, frozen=True, kw_only=True):
    """
    An executor that is to be run.

    Args:
        workspace: Whose repository has the commit.
        contract: Path in the workspace, or OID.
        argv: The program and its arguments.
        allow_net: It may use the network.
        env: The caller's variables.
        registry: Of OIDs.
        clock: Read once.
        sandbox: Runs it.
        random: Gives bytes for the name of what it does.
    """

    workspace: Workspace
    contract: str
    argv: tuple[str, ...]
    allow_net: bool = False
    env: Mapping[str, str] = {}
    registry: OidRegistry
    clock: Callable[[], datetime]
    sandbox: Runner
    random: Callable[[int], bytes] = os.urandom


def execute(request: ExecuteRequest) -> Executed:
    """
    What became of an executor; its record is written, whether or not it did as it should.

    Raises:
        ExecuteRefused: It cannot be run.
        LockHeld: A run or another executor is at work on the task.
        DatabaseUnusable: Its outputs cannot be registered; no record is left.
        RegistryRefused: Likewise.
        OSError: They cannot be written; no record is left.
    """
    settings = request.workspace.settings()
    path, data = _contract_bytes(request)
    try:
        contract = read_contract(data, path, variables=settings.variables)
    except ContractError as exc:
        raise ExecuteRefused(f"{shown(path)}: {exc.faults[0]}") from exc
    except DocumentError as exc:
        raise ExecuteRefused(str(exc)) from exc
    with Locks(request.workspace) as locks:
        locks.take([(settings.area, contract.task_id)])
        execution = _Execution(request, settings, contract, path, data)
        try:
            return execution.done()
        except WorkRefused as exc:
            raise ExecuteRefused(exc.failure.reason) from exc
        except NotJudged as exc:
            raise ExecuteRefused(exc.finding.detail) from exc


class _Execution:
    """One executor, from the checkout to the record."""

    def __init__(
        self,
        request: ExecuteRequest,
        settings: Settings,
        contract: SccContract,
        contract_path: str,
        data: bytes,
    ) -> None:
        self._request = request
        self._settings = settings
        self._contract = contract
        self._contract_path = contract_path
        self._data = data
        started = request.clock()
        self._run_id = run_id_of(started, request.random(4))
        self._root = str(request.workspace.root)

    def done(self) -> Executed:
        """What became of it, all of it written."""
        inputs = self._contract.inputs
        given = given_inputs(self._request.workspace, inputs, self._request.registry)
        self._forget()
        sandbox = self._request.sandbox.requiring(self._settings.min_isolation)
        checkout = Path(sandbox.scratch) / f"checkout-{self._run_id}"
        commit = self._laid_out(checkout)
        with sandbox.run(self._command(checkout, commit)) as completed:
            if completed.ended in _UNSTARTED:
                why = completed.reason or completed.ended.value.replace("_", " ")
                raise ExecuteRefused(f"{shown(self._request.argv[0])}: {why}")
        told = self._told(checkout, commit, given)
        remove(str(checkout))
        execution = Execution(
            task_id=self._contract.task_id,
            executor_run_id=self._run_id,
            contract_ref=self._request.contract,
            contract_sha256=sha256(self._data).hexdigest(),
            repo=self._contract.inputs.repo or ".",
            base=commit,
            completed=completed,
            told=told,
        )
        return recorded(execution, self._request.workspace, self._request.registry)

    def _forget(self) -> None:
        """No earlier record is left, so that none is taken for that of this executor."""
        *folders, name = record_path(self._contract.task_id).split("/")
        with ExitStack() as stack:
            folder = stack.enter_context(Folder.open(self._request.workspace.root))
            for part in folders:
                if part == folders[-1]:
                    self._require_free(part, folder)
                folder = stack.enter_context(folder.child(part, create=True))
            folder.remove(name)
            folder.sync()

    @staticmethod
    def _require_free(name: str, records: Folder) -> None:
        other = clash(name, records.names(limit=_MAX_NAMES))
        if other is not None:
            raise ExecuteRefused(f'task_id "{name}": there are records of "{other}"')

    def _laid_out(self, checkout: Path) -> str:
        """The commit that lies in the checkout."""
        with opened(self._root, Deadline.after(LIMIT_S)) as work:
            commit = self._contract.inputs.commit or work.head
            if commit is None:
                raise ExecuteRefused("the workspace has no commit to work on")
            if len(commit) != 40:
                raise ExecuteRefused("the repository has SHA-256 ids, which no record can name")
            if work.objects.commit(commit) is None:
                raise ExecuteRefused(f"commit {commit} is not in the repository")
            check_out(work, commit, checkout)
        return commit

    def _command(self, checkout: Path, commit: str) -> Command:
        request, inputs = self._request, self._contract.inputs
        interpreter = str(Path(sys.executable).parent)
        path = os.pathsep.join((interpreter, request.env.get("PATH", os.defpath)))
        passed_on = {n: request.env[n] for n in self._settings.env_allow if n in request.env}
        own = {
            "PATH": path,
            # Where it may not be read, git would not start for the lack of it.
            "GIT_CONFIG_NOSYSTEM": "1",
            "TASK_ID": self._contract.task_id,
            "AREA": self._settings.area,
            "CONTRACT_REF": request.contract,
            "WORKSPACE_COMMIT": commit,
            "PINS_REF": inputs.pins_ref,
            "MAP_REF": inputs.map_path,
        }
        return Command(
            argv=request.argv,
            workspace=str(checkout),
            env=passed_on | {name: value for name, value in own.items() if value},
            network=request.allow_net,
            live=True,
            stdin=self._data,
            limits=replace(
                Limits(),
                timeout_s=float(self._settings.run_timeout_s),
                head_bytes=KEPT_BYTES // 2,
                tail_bytes=KEPT_BYTES // 2,
            ),
        )

    def _told(self, checkout: Path, commit: str, given: Given) -> Told:
        with opened(self._root, Deadline.after(LIMIT_S)) as work:
            return told_work(
                work,
                commit,
                str(checkout),
                contract=self._contract,
                settings=self._settings,
                given=given,
                contract_path=self._contract_path,
            )


def _contract_bytes(request: ExecuteRequest) -> tuple[str, bytes]:
    """The contract's path in the workspace, and its bytes."""
    given, root = request.contract, request.workspace.root
    path = posixpath.normpath(given)
    if is_oid(given) and not (root / given).is_file():
        found = request.registry.find(given)
        if found is None:
            raise ExecuteRefused(f"OID {given} is not registered")
        path = found.path
    elif posixpath.isabs(given):
        place = Path(given).parent.resolve() / posixpath.basename(given)
        path = place.relative_to(root).as_posix() if place.is_relative_to(root) else given
    try:
        return path, request.workspace.read(path, max_bytes=LIMITS.max_bytes)
    except (PathMissing, PathUnsafe) as exc:
        raise ExecuteRefused(str(exc)) from exc
