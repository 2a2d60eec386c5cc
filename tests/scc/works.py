"""A repository with a contract, in which executors do their work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from signoff.dialects.scc.contract import read_contract
from signoff.scc.installation import install
from signoff.scc.oid_object import NewObject
from signoff.scc.store import open_registry
from signoff.scc.work import WorkFound, WorkRequest, examine
from signoff.scc.workspace import Workspace
from tests.repositories import Repo

CONTRACT = "contracts/t1.json"
RECORD = ".signoff/scc/records/T1/record.json"


def contract_text(**fields: Any) -> str:
    document = {
        "schema_version": "v0.1.0",
        "task_id": "T1",
        "goal": "it works",
        "scope_allow": "src/**",
        "constraints": "",
        "stop_condition": "",
        "commands_hint": "",
        "acceptance": {"checks": [{"name": "one", "command": "true"}]},
        "inputs_ref": {},
        "outputs_expected": {},
    }
    return json.dumps(document | fields)


class Site:
    """A workspace under version control, with SCC installed and all of it committed."""

    def __init__(self, root: Path, *, commit: bool = True, **fields: Any) -> None:
        self.repo = Repo(root)
        self.root = root
        self.repo.write(CONTRACT, contract_text(**fields))
        self.repo.write("src/a.py", "one\ntwo\nthree\n")
        self.repo.write("src/b.py", "b\n")
        self.repo.write(".gitignore", ".signoff/\n*.ignored\n/artifacts/\n")
        self.workspace = Workspace.at(root)
        install(self.workspace, root / ".signoff" / "oids.sqlite3")
        self.base = self.repo.commit() if commit else ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256((self.root / CONTRACT).read_bytes()).hexdigest()

    def examine(
        self,
        record: Path | None = None,
        *,
        strict: bool = False,
        written: Mapping[str, bytes] | None = None,
    ) -> WorkFound:
        """What is found; ``written`` is what the verifier wrote, by path."""
        path = self.root / CONTRACT
        digests = {
            name: frozenset([hashlib.sha256(d).hexdigest()]) for name, d in (written or {}).items()
        }
        with open_registry(self.root / ".signoff" / "oids.sqlite3") as registry:
            return examine(
                WorkRequest(
                    workspace=self.workspace,
                    contract=read_contract(path.read_bytes(), CONTRACT),
                    contract_path=CONTRACT,
                    contract_sha256=self.sha256,
                    settings=self.workspace.settings(),
                    registry=registry,
                    record=record,
                    strict=strict,
                    written=digests,
                )
            )

    def refusal(self, record: Path | None = None, **more: Any) -> tuple[str, int]:
        """Class and code of the refusal; nothing and 0 without one."""
        failure = self.examine(record, **more).failure
        return ("", 0) if failure is None else (failure.fail_class.value, failure.exit_code)

    def record(self, folder: Path, **fields: Any) -> Path:
        """A record with logs; a field that is None is left away."""
        folder.mkdir(exist_ok=True)
        (folder / "out.txt").write_text("out")
        (folder / "err.txt").write_text("")
        document: dict[str, Any] = {
            "schema_version": "v0.1.0",
            "task_id": "T1",
            "executor_run_id": "run-1",
            "contract_ref": CONTRACT,
            "contract_sha256": self.sha256,
            "workspace_ref": {"repo": ".", "commit": self.base},
            "stdout_path": "out.txt",
            "stderr_path": "err.txt",
            "exit_code": 0,
            "evidence_oids": [],
            "touched_oids": [],
        }
        chosen = {name: value for name, value in (document | fields).items() if value is not None}
        (folder / "record.json").write_text(json.dumps(chosen))
        return folder / "record.json"

    def patch_record(self, folder: Path, patch: str | bytes | None = None, **fields: Any) -> Path:
        """A record of a patch: the one given, or what git says of the workspace."""
        folder.mkdir(exist_ok=True)
        data = self.diff() if patch is None else patch
        text = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        (folder / "work.diff").write_bytes(text)
        return self.record(folder, patch_path="work.diff", **fields)

    def diff(self) -> str:
        """The work as git tells it, new files too."""
        self.repo.git("add", "--all")
        text = self.repo.git(
            "-c", "core.quotePath=false", "diff", "--cached", "--binary", "-M", "-C"
        )
        self.repo.git("reset", "--quiet")
        return f"{text}\n" if text else ""

    def without_record(self) -> bool:
        """No record of the task is there."""
        return not (self.root / RECORD).exists()

    def oid(self, path: str) -> str:
        """The OID of an object, registered now."""
        with open_registry(self.root / ".signoff" / "oids.sqlite3") as registry:
            new = NewObject(path=path, kind="log", layer="REPORT", primary_unit="V.TESTS")
            return registry.issue(new).oid


DENIED = ("command_denied", 97)
UNUSABLE = ("verifier_error", 2)
MISSING = ("artifact_missing", 1)
PASSED = ("", 0)
