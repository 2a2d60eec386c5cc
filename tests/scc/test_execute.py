"""signoff scc execute: a program does its work in a checkout of its own, and what it did is recorded."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from signoff.model import Isolation
from signoff.sandbox import Sandbox
from signoff.scc import execute as execution
from signoff.scc import told_work
from signoff.scc.change_set import Assurance
from signoff.scc.execute import ExecuteRefused
from signoff.scc.execution_record import Executed
from signoff.scc.lock import LockHeld, Locks
from signoff.scc.store import open_registry
from tests.cli.calling import Called, call
from tests.repositories import NEEDS_GIT, Repo
from tests.sandbox.attacks import eventually
from tests.sandbox.confined import need
from tests.scc.works import CONTRACT, DENIED, MISSING, PASSED, RECORD, UNUSABLE, Site

pytestmark = NEEDS_GIT

EVERYWHERE = "*,**/*,src/**,docs/**,.signoff/**"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One for all, since the first command of a sandbox is slow."""
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNOFF_SECRET", "hush")
    for name in ("SCC_OID_PG_DSN", "SCC_OID_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site(tmp_path: Path, sandbox: Sandbox) -> ExecutorSite:
    return ExecutorSite(tmp_path / "work", sandbox)


class ExecutorSite(Site):
    """A workspace with a sandbox to run executors in."""

    def __init__(self, root: Path, sandbox: Sandbox, **fields: Any) -> None:
        super().__init__(root, **fields)
        self.sandbox = sandbox


def execute(
    site: ExecutorSite, *program: str, allow_net: bool = False, contract: str = CONTRACT
) -> Executed:
    with open_registry(site.root / ".signoff" / "oids.sqlite3") as registry:
        return execution.execute(
            execution.ExecuteRequest(
                workspace=site.workspace,
                contract=contract,
                argv=program,
                allow_net=allow_net,
                env=os.environ,
                registry=registry,
                clock=lambda: datetime.now(UTC),
                sandbox=site.sandbox,
            )
        )


def shell(site: ExecutorSite, text: str) -> Executed:
    return execute(site, "sh", "-c", text)


def shell_in_turn(site: ExecutorSite, text: str) -> Executed:
    """The same after another was killed; what it was about to execute lets its lock go at once."""
    done = list[Executed]()

    def is_done() -> bool:
        try:
            done.append(shell(site, text))
        except LockHeld:
            return False
        return True

    assert eventually(is_done, within_s=30)
    return done[0]


def called(site: Site, *program: str) -> Called:
    options = ("--contract", CONTRACT, "--workspace", site.root)
    return call("scc", "execute", *options, "--", *program)


def record_of(site: ExecutorSite) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((site.root / RECORD).read_text())
    return found


def outputs(site: ExecutorSite) -> dict[str, bytes]:
    """What was written beside the record, by name."""
    folder = (site.root / RECORD).parent / record_of(site)["executor_run_id"]
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def apply(site: ExecutorSite) -> None:
    """What a person does who wants the work."""
    site.repo.git("apply", str((site.root / RECORD).parent / record_of(site)["patch_path"]))


class TestAnExecutor:
    def test_that_works_is_recorded_and_its_work_passes(self, site: ExecutorSite) -> None:
        done = shell(
            site, "echo out; echo err >&2; echo new > src/new.py; sed -i s/one/1/ src/a.py"
        )

        assert (True, "") == (done.ok, done.reason)
        assert ("src/a.py", "src/new.py") == done.touched
        assert (b"out\n", b"err\n") == (outputs(site)["stdout.txt"], outputs(site)["stderr.txt"])
        assert (site.base, 0) == (
            record_of(site)["workspace_ref"]["commit"],
            record_of(site)["exit_code"],
        )

        apply(site)
        found = site.examine()
        assert found.failure is None
        assert Assurance.PATCH is found.assurance

    def test_leaves_the_workspace_as_it_was(self, site: ExecutorSite) -> None:
        before = site.examine().tree_digest
        shell(site, "rm -r src; echo x > new; git checkout -q -b other")

        assert before == site.examine().tree_digest
        assert "" == site.repo.git("status", "--porcelain")
        assert "main" == site.repo.git("branch", "--show-current")

    def test_gets_the_contract_and_the_commit(self, site: ExecutorSite) -> None:
        shell(site, "cat; git rev-parse HEAD; echo $TASK_ID $CONTRACT_REF $AREA; ls -A")

        said = outputs(site)["stdout.txt"].decode()
        assert said.startswith((site.root / CONTRACT).read_text())
        assert f"{site.base}\nT1 {CONTRACT} control_plane\n.git\n" in said

    def test_does_not_see_the_workspace_nor_the_callers_variables(self, site: ExecutorSite) -> None:
        site.repo.write("uncommitted.txt")
        shell(site, f"env; ls; cat {site.root}/src/a.py; git log --all --oneline | wc -l")

        said = outputs(site)["stdout.txt"]
        assert b"hush" not in said
        assert b"uncommitted" not in said
        assert b"three" not in said

    def test_gets_the_variables_that_the_settings_allow(self, site: ExecutorSite) -> None:
        path = site.root / ".signoff" / "scc.toml"
        path.write_text(
            path.read_text().replace("allow = []\n\n[vars]", 'allow = ["SIGNOFF_SECRET"]\n\n[vars]')
        )

        assert shell(site, 'test "$SIGNOFF_SECRET" = hush').ok

    def test_works_on_the_commit_that_the_contract_pins(self, site: ExecutorSite) -> None:
        pinned = site.base
        site.repo.write("src/a.py", "later\n")
        contract = json.loads((site.root / CONTRACT).read_text())
        contract["inputs_ref"] = {"workspace_ref": {"repo": ".", "commit": pinned}}
        site.repo.write(CONTRACT, json.dumps(contract))
        site.repo.commit()

        assert shell(site, "grep three src/a.py").ok
        assert pinned == record_of(site)["workspace_ref"]["commit"]

    def test_that_fails_is_recorded(self, site: ExecutorSite) -> None:
        done = shell(site, "echo x > src/x; exit 7")

        assert (False, 7) == (done.ok, record_of(site)["exit_code"])
        assert "7" in done.reason
        apply(site)
        assert PASSED == site.refusal()

    def test_that_is_killed_is_recorded(self, site: ExecutorSite) -> None:
        assert not shell(site, "kill -9 $$").ok
        assert 137 == record_of(site)["exit_code"]

    def test_that_times_out_is_recorded(self, site: ExecutorSite) -> None:
        path = site.root / ".signoff" / "scc.toml"
        path.write_text(path.read_text().replace("run_timeout_s = 3600", "run_timeout_s = 1"))

        done = shell(site, "echo begun; sleep 300 & trap '' TERM; sleep 300; sleep 300")

        assert (False, 124) == (done.ok, record_of(site)["exit_code"])
        assert b"begun\n" == outputs(site)["stdout.txt"]

    def test_without_changes_is_recorded(self, site: ExecutorSite) -> None:
        assert execute(site, "true").ok
        assert record_of(site)["no_changes"]
        assert "patch_path" not in record_of(site)
        assert PASSED == site.refusal()

    def test_that_commits_is_recorded_like_any_other(self, site: ExecutorSite) -> None:
        program = "echo x > src/x; git add -A; git commit -qm x; echo y > src/y; git reset -q --soft HEAD~1 2>/dev/null; git commit -qam y"

        assert ("src/x", "src/y") == shell(site, program).touched
        apply(site)
        assert PASSED == site.refusal()

    def test_may_leave_files_of_all_kinds(self, site: ExecutorSite) -> None:
        program = "printf 'a\\000b\\377' > src/bin; chmod +x src/a.py; ln -s a.py src/link; rm src/b.py; mkdir -p 'src/ä b'; printf x > 'src/ä b/no newline'"

        assert shell(site, program).ok
        apply(site)
        assert PASSED == site.refusal()

    def test_leaves_ignored_files_behind(self, site: ExecutorSite) -> None:
        done = shell(site, "echo x > src/x.ignored; echo y > src/y")

        assert (("src/y",), 1) == (done.touched, done.ignored)

    def test_has_no_network_unless_allowed(self, site: ExecutorSite) -> None:
        need("L2")  # below it the network is not kept from commands
        program = (sys.executable, "-c", "import socket; print(socket.if_nameindex())")
        ours = f"{socket.if_nameindex()}\n".encode()

        execute(site, *program)
        assert ours != outputs(site)["stdout.txt"]
        execute(site, *program, allow_net=True)
        assert ours == outputs(site)["stdout.txt"]

    @pytest.mark.parametrize("name", ["a b", 'a"b', "a\nb", "a\\b", "äö", "#x", "a:b"])
    def test_works_wherever_the_workspace_is(
        self, tmp_path: Path, sandbox: Sandbox, name: str
    ) -> None:
        site = ExecutorSite(tmp_path / name, sandbox)

        assert shell(site, "echo x > src/x && grep three src/a.py").ok
        apply(site)
        assert PASSED == site.refusal()

    def test_is_given_no_altered_object(self, site: ExecutorSite) -> None:
        id_ = site.repo.git("rev-parse", "HEAD:src/a.py")
        path = site.root / ".git" / "objects" / id_[:2] / id_[2:]
        path.chmod(0o644)
        path.write_bytes(zlib.compress(b"blob 5\0evil\n"))

        with pytest.raises(execution.ExecuteRefused):
            shell(site, "cat src/a.py")
        assert site.without_record()

    @pytest.mark.parametrize("level", ["L1", "L2"])
    def test_can_do_its_work_at_a_lower_level(self, tmp_path: Path, level: Isolation) -> None:
        need(level)
        with Sandbox(level=level) as sandbox:
            site = ExecutorSite(tmp_path / "work", sandbox)
            done = shell(site, "echo x > src/x && git add -A && git commit -qm x")

        assert (True, level, ("src/x",)) == (done.ok, done.isolation, done.touched)

    @pytest.mark.parametrize("program", ["./agent.sh", "agent/do.sh"])
    def test_may_lie_in_the_repository(self, site: ExecutorSite, program: str) -> None:
        site.repo.write(program, "#!/bin/sh\necho x > src/x\n").chmod(0o755)
        site.repo.commit()

        assert execute(site, program).ok


class TestRules:
    @pytest.fixture
    def site(self, tmp_path: Path, sandbox: Sandbox) -> ExecutorSite:
        return ExecutorSite(tmp_path / "wide", sandbox, scope_allow=EVERYWHERE)

    @pytest.mark.parametrize(
        "program",
        [
            "mkdir -p docs/REPORT/a; echo x > docs/REPORT/a/verdict.json",
            "echo x > src/verdict.json",
            "mkdir -p artifacts; echo x > artifacts/ignored",
            "mkdir -p .signoff; echo x > .signoff/oids.sqlite3",
            "mkdir -p .signoff/scc/records/T1; echo x > .signoff/scc/records/T1/record.json",
            f"echo ' ' >> {CONTRACT}",
            "echo x >> tools/ci/mvm-verdict.py",
            "mkdir -p Docs/report; echo x > Docs/report/x",
            "ln -s ../docs/REPORT src/link",
            "ln -s /etc src/link",
            "ln -s src evidence",
        ],
    )
    def test_a_protected_write_is_refused_and_later_denied(
        self, site: ExecutorSite, program: str
    ) -> None:
        done = shell(site, program)

        assert not done.ok
        assert "" != done.reason
        if record_of(site).get("no_changes"):  # it was ignored, and is not there to be judged
            return
        apply(site)
        # With another contract, the record is about another contract.
        assert (UNUSABLE if CONTRACT in program else DENIED) == site.refusal()

    def test_a_repository_inside_is_refused_and_its_patch_too(self, site: ExecutorSite) -> None:
        done = shell(site, "git init -q src/inner; echo x > src/inner/x")

        assert not done.ok
        assert DENIED == site.refusal()

    @pytest.mark.parametrize(
        "name", ["'src/a\"b'", "'src/a\tb'", "'src/a\\b'", '"src/$(printf "a\\377")"']
    )
    def test_a_name_that_no_patch_can_say_is_refused(self, site: ExecutorSite, name: str) -> None:
        assert not shell(site, f"echo x > {name}").ok
        assert DENIED == site.refusal()

    def test_a_pipe_is_refused(self, site: ExecutorSite) -> None:
        assert not shell(site, "mkfifo src/pipe").ok
        assert DENIED == site.refusal()

    def test_a_change_outside_of_the_scope_is_refused(
        self, tmp_path: Path, sandbox: Sandbox
    ) -> None:
        site = ExecutorSite(tmp_path / "narrow", sandbox)

        assert not shell(site, "mkdir lib; echo x > lib/x").ok
        apply(site)
        assert DENIED == site.refusal()

    def test_pins_are_kept(self, tmp_path: Path, sandbox: Sandbox) -> None:
        site = ExecutorSite(tmp_path / "pinned", sandbox, inputs_ref={"pins_ref": "pins.json"})
        site.repo.write("pins.json", json.dumps({"allowed_paths": ["src/**"], "max_loc": 2}))
        site.repo.commit()

        assert shell(site, "echo x > src/x").ok
        assert not shell(site, "seq 3 > src/x").ok

    def test_a_patch_that_is_too_large_to_be_read_is_refused(
        self, site: ExecutorSite, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(told_work, "MAX_BYTES", 10)
        done = shell(site, "echo much more than that > src/a.py")

        assert not done.ok
        assert b"Not told by this patch: it is larger than 10 bytes" in outputs(site)["work.diff"]


class TestTheContract:
    @pytest.mark.parametrize("named", ["absolute", "OID", "./"])
    def test_may_be_named_by_any_of_its_names(self, site: ExecutorSite, named: str) -> None:
        names = {"absolute": str(site.root / CONTRACT), "./": f"./{CONTRACT}"}
        name = names.get(named) or site.oid(CONTRACT)
        done = execute(site, "true", contract=name)

        assert done.ok
        assert (name, site.sha256) == tuple(
            record_of(site)[field] for field in ("contract_ref", "contract_sha256")
        )

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("01" + "A" * 24, "is not registered"),
            ("/etc/passwd", "passwd"),
            ("no.json", "no.json"),
        ],
    )
    def test_by_another_name_is_none(self, site: ExecutorSite, name: str, says: str) -> None:
        with pytest.raises(ExecuteRefused, match=says):
            execute(site, "true", contract=name)
        assert site.without_record()

    def test_that_is_no_document_is_none(self, site: ExecutorSite) -> None:
        site.repo.write(CONTRACT, "{")
        with pytest.raises(ExecuteRefused, match=CONTRACT):
            execute(site, "true")

    def test_is_for_a_repository_whose_commits_a_record_can_name(
        self, tmp_path: Path, sandbox: Sandbox
    ) -> None:
        Repo(tmp_path / "long", "--object-format=sha256")
        site = ExecutorSite(tmp_path / "long", sandbox)
        with pytest.raises(ExecuteRefused, match="SHA-256 ids, which no record can name"):
            execute(site, "true")
        assert site.without_record()


class TestTheCommand:
    def test_prints_one_line_of_json(self, site: Site) -> None:
        done = called(site, "sh", "-c", "echo x > src/x")

        assert (0, "", 1) == (done.code, done.err, done.out.count("\n"))
        assert done.json["ok"]
        assert RECORD == done.json["record"]

    def test_fails_where_a_rule_is_broken_and_says_which(self, site: Site) -> None:
        done = called(site, "sh", "-c", "mkdir docs/REPORT; echo x > docs/REPORT/x")

        assert (1, False) == (done.code, done.json["ok"])
        assert "docs/REPORT/** is protected" in done.err
        folder = f".signoff/scc/records/T1/{done.json['executor_run_id']}"
        assert f"what it printed is in {folder}\n" in done.err


class TestRefusals:
    @pytest.mark.parametrize(
        "program", [("no-such-program-anywhere",), ("./src/a.py",), ("/etc/passwd",)]
    )
    def test_a_program_that_cannot_be_started(self, site: Site, program: tuple[str, ...]) -> None:
        called(site, "true")
        done = called(site, *program)

        assert 2 == done.code
        assert site.without_record()

    def test_a_contract_that_cannot_be_used(self, site: Site) -> None:
        site.repo.write(CONTRACT, "{}")

        assert 2 == called(site, "true").code
        assert site.without_record()

    def test_a_contract_that_is_absent(self, site: Site) -> None:
        (site.root / CONTRACT).unlink()

        assert 2 == called(site, "true").code

    def test_no_program(self, site: Site) -> None:
        assert 2 == called(site).code

    def test_no_repository(self, site: Site) -> None:
        shutil.rmtree(site.root / ".git")

        assert 2 == called(site, "true").code

    def test_no_commit(self, tmp_path: Path) -> None:
        site = Site(tmp_path / "fresh", commit=False)

        assert 2 == called(site, "true").code

    def test_a_commit_that_is_unknown(self, tmp_path: Path) -> None:
        place = {"repo": ".", "commit": "1" * 40}
        site = Site(tmp_path / "pinned", inputs_ref={"workspace_ref": place})

        assert 2 == called(site, "true").code

    def test_pins_that_are_absent(self, tmp_path: Path) -> None:
        site = Site(tmp_path / "pinned", inputs_ref={"pins_ref": "pins.json"})

        assert 2 == called(site, "true").code

    def test_a_task_at_work_already(self, site: Site) -> None:
        with Locks(site.workspace) as locks:
            locks.take([("control_plane", "T1")])

            assert 2 == called(site, "true").code
        assert 0 == called(site, "true").code

    def test_an_isolation_that_is_not_to_be_had(self, tmp_path: Path) -> None:
        with Sandbox(level="L1") as sandbox:
            site = ExecutorSite(tmp_path / "work", sandbox)
            path = site.root / ".signoff" / "scc.toml"
            path.write_text(path.read_text().replace('"L1"', '"L3"'))

            with pytest.raises(execution.ExecuteRefused, match="L3 is required"):
                execute(site, "true")
            assert site.without_record()

    def test_records_of_a_name_that_differs_in_case(self, site: Site) -> None:
        (site.root / ".signoff" / "scc" / "records" / "t1").mkdir(parents=True)

        assert 2 == called(site, "true").code

    def test_a_record_that_cannot_be_written(self, site: Site) -> None:
        (site.root / ".signoff" / "scc").write_text("in the way")

        assert 4 == called(site, "true").code

    def test_a_registry_that_cannot_be_used(self, site: Site) -> None:
        (site.root / ".signoff" / "oids.sqlite3").write_bytes(b"rubbish" * 1000)

        assert 4 == called(site, "true").code
        assert site.without_record()


class TestOutputs:
    def test_every_one_has_an_oid_and_its_digest(self, site: ExecutorSite) -> None:
        touched = site.oid("src/a.py")
        done = shell(site, "echo x > src/a.py")

        record = record_of(site)
        assert [touched] == record["touched_oids"]
        with open_registry(site.root / ".signoff" / "oids.sqlite3") as registry:
            found = registry.find_all(record["evidence_oids"])
            active = {path for path, _ in registry.active_paths()}
        assert {"stdout.txt", "stderr.txt", "work.diff"} == {
            Path(one.path).name for one in found.values()
        }
        assert all((site.root / one.path).is_file() for one in found.values())
        assert RECORD in active
        assert done.patch in active

    def test_those_of_an_earlier_executor_stay(self, site: ExecutorSite) -> None:
        shell(site, "echo 1 > src/x")
        earlier = record_of(site)["executor_run_id"]
        shell(site, "echo 2 > src/x")

        later = record_of(site)["executor_run_id"]
        folders = {path.name for path in (site.root / RECORD).parent.iterdir() if path.is_dir()}
        assert earlier != later
        assert {earlier, later} == folders

    def test_a_log_that_is_gone_is_missed(self, site: ExecutorSite) -> None:
        execute(site, "true")
        shutil.rmtree((site.root / RECORD).parent / record_of(site)["executor_run_id"])

        assert MISSING == site.refusal()

    def test_endless_output_is_bounded(self, site: ExecutorSite) -> None:
        done = shell(site, "yes | head -c 20000000")

        assert done.ok
        assert 4 * 2**20 < len(outputs(site)["stdout.txt"]) < 5 * 2**20


class TestARepositoryThatConfiguresPrograms:
    def test_none_of_them_is_run(self, site: ExecutorSite, tmp_path: Path) -> None:
        ran = tmp_path / "ran"
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
        program.chmod(0o755)
        site.repo.write(".gitattributes", "* filter=f diff=d\n")
        site.repo.commit()
        for hook in ("post-checkout", "pre-commit", "reference-transaction"):
            shutil.copy(program, site.root / ".git" / "hooks" / hook)
        with (site.root / ".git" / "config").open("a") as file:
            file.write(
                f'[filter "f"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n'
                f'[diff "d"]\n\ttextconv = {program}\n[core]\n\tfsmonitor = {program}\n'
                f"\thooksPath = {site.root}/.git/hooks\n"
            )

        assert shell(site, "echo x > src/x; git add -A; git commit -qm x").ok
        assert not ran.exists()


class TestAKilledExecutor:
    """Whenever signoff is killed, there is no record, or a whole one."""

    @pytest.mark.parametrize("moment", ["the earlier record is gone", "the first log is there"])
    def test_leaves_no_half_record(self, site: ExecutorSite, moment: str) -> None:
        shell(site, "echo 1 > src/x")
        earlier = record_of(site)["executor_run_id"]
        folder = (site.root / RECORD).parent
        asked = ["scc", "execute", "--contract", CONTRACT, "--workspace", str(site.root)]
        with subprocess.Popen(
            [sys.executable, "-m", "signoff", *asked, "--", "sh", "-c", "echo 2 > src/x"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.DEVNULL,
        ) as process:
            while process.poll() is None:
                if moment == "the earlier record is gone" and site.without_record():
                    break
                if len([*folder.glob("*/stdout.txt")]) > 1:
                    break
            process.send_signal(signal.SIGKILL)

        if not site.without_record():
            assert earlier != record_of(site)["executor_run_id"]
            apply(site)
            assert PASSED == site.refusal()
            site.repo.git("checkout", "--quiet", ".")
            site.repo.git("clean", "--quiet", "--force", "src")
        assert shell_in_turn(site, "echo 3 > src/x").ok
