"""What an executor did is found, and refused where it wrote what it may not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.dialects.scc.scope import SCRIPTS
from signoff.scc.change_set import Assurance, encode_changes
from tests.repositories import NEEDS_GIT, Repo
from tests.scc.works import CONTRACT, DENIED, MISSING, PASSED, UNUSABLE, Site

pytestmark = NEEDS_GIT

OTHER = "1" * 40


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "work")


@pytest.fixture
def away(tmp_path: Path) -> Path:
    return tmp_path / "record"


class TestChangeSets:
    def test_a_worktree_without_changes_passes(self, site: Site) -> None:
        found = site.examine()

        assert found.failure is None
        assert (Assurance.WORKTREE, (), False) == (found.assurance, found.touched, found.dirty)
        assert site.base == found.base_commit == found.commit
        assert found.tree_digest.startswith("sha256:")

    def test_a_worktree_tells_what_is_changed_untracked_and_ignored(self, site: Site) -> None:
        site.repo.write("src/a.py", "other\n")
        site.repo.write("src/new.py")
        site.repo.write("src/x.ignored")
        (site.root / "src" / "b.py").unlink()

        found = site.examine()

        assert found.failure is None
        assert ("src/a.py", "src/b.py", "src/new.py", "src/x.ignored") == found.touched
        assert ["modify", "delete", "add", "add"] == [one.kind for one in found.changes]
        assert [False, False, False, True] == [one.ignored for one in found.changes]
        assert found.dirty

    def test_a_commit_is_compared_with_its_base(self, site: Site, away: Path) -> None:
        site.repo.write("src/a.py", "other\n")
        head = site.repo.commit()

        found = site.examine(site.record(away, commit_ref=head))

        assert found.failure is None
        assert (Assurance.COMMIT, ("src/a.py",)) == (found.assurance, found.touched)
        assert (site.base, head) == (found.base_commit, found.commit)
        assert ["record.json", "out.txt", "err.txt"] == [path.name for path in found.evidence]

    def test_a_patch_is_compared_with_the_workspace(self, site: Site, away: Path) -> None:
        site.repo.write("src/a.py", "one\ntwo\nfour\n")
        site.repo.write("src/new name ü.py", "new\n")
        site.repo.write("src/data.bin", bytes(range(256)))
        (site.root / "src" / "b.py").rename(site.root / "src" / "c.py")
        (site.root / "src" / "a.py").chmod(0o755)

        found = site.examine(site.patch_record(away))

        assert found.failure is None
        assert Assurance.PATCH is found.assurance
        assert {"src/b.py", "src/c.py", "src/new name ü.py"} < {*found.touched}

    def test_a_workspace_that_is_not_base_and_patch_is_another_state(
        self, site: Site, away: Path
    ) -> None:
        site.repo.write("src/a.py", "one\ntwo\nfour\n")
        record = site.patch_record(away)

        def refusal() -> tuple[str, int, str]:
            failure = site.examine(record).failure
            assert failure is not None
            return failure.fail_class.value, failure.exit_code, failure.reason.rpartition(", ")[2]

        otherwise = (*UNUSABLE, "it was changed otherwise")
        assert PASSED == site.refusal(record)
        site.repo.write("src/a.py", "one\ntwo\nfive\n")
        assert otherwise == refusal()
        site.repo.write("src/a.py", "one\ntwo\nfour\n").chmod(0o755)
        assert otherwise == refusal()
        site.repo.write("src/a.py", "one\ntwo\nthree\n").chmod(0o644)
        assert (*UNUSABLE, "the patch is not applied to it") == refusal()
        site.repo.write("src/a.py", "one\ntwo\nfour\n")
        site.repo.write("src/more.py")
        assert otherwise == refusal()

    def test_a_patch_that_does_not_apply_is_another_state(self, site: Site, away: Path) -> None:
        patch = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-nowhere\n+x\n"

        assert UNUSABLE == site.refusal(site.patch_record(away, patch))

    def test_without_version_control_nothing_is_known(self, tmp_path: Path) -> None:
        site = Site(tmp_path / "work", commit=False)

        found = site.examine()

        assert found.failure is None
        assert Assurance.NONE is found.assurance
        assert any("change_assurance" in one for one in found.warnings)
        assert UNUSABLE == site.refusal(strict=True)

    def test_a_head_that_was_led_astray_hides_nothing(self, site: Site) -> None:
        site.repo.git("symbolic-ref", "HEAD", "refs/heads/nowhere")
        assert UNUSABLE == site.refusal()

        site.repo.git("pack-refs", "--all")
        assert UNUSABLE == site.refusal()

    def test_without_version_control_a_forged_report_is_denied(self, tmp_path: Path) -> None:
        site = Site(tmp_path / "work", commit=False)
        site.repo.write("docs/REPORT/x.md")

        assert DENIED == site.refusal()

    @pytest.mark.parametrize("name", ["a\nb", 'a"b', "a b", "ä", "a\\b", "-rf", "\u202e"])
    def test_files_may_have_odd_names(self, site: Site, name: str) -> None:
        site.repo.write(f"src/{name}")

        found = site.examine()

        assert found.failure is None
        assert (f"src/{name}",) == found.touched

    def test_changes_are_written_as_json(self, site: Site) -> None:
        site.repo.write("src/a.py", "other\n")
        Path(os.fsdecode(os.fsencode(site.root / "src") + b"/\xff.py")).write_text("x")
        found = site.examine()

        document = json.loads(
            encode_changes(
                found.changes,
                assurance=found.assurance,
                base=found.base_commit,
                commit=found.commit,
            )
        )

        assert "worktree" == document["assurance"]
        assert ["src/\\xff.py", "src/a.py"] == sorted(one["path"] for one in document["changes"])


WRITTEN = {"docs/REPORT/area/artifacts/T1/checks.json": b"{}\n", "artifacts/x/y.txt": b"y"}


class TestTheVerifiersFiles:
    def test_what_the_verifier_wrote_is_no_violation(self, site: Site) -> None:
        for path, data in WRITTEN.items():
            site.repo.write(path, data)

        found = site.examine(written=WRITTEN)

        assert found.failure is None
        assert () == found.touched
        assert DENIED == site.refusal()

    @pytest.mark.parametrize("path", sorted(WRITTEN))
    def test_one_byte_of_it_changed_is_one(self, site: Site, path: str) -> None:
        for name, data in WRITTEN.items():
            site.repo.write(name, data)
        with (site.root / path).open("r+b") as file:
            file.write(b"#")

        assert DENIED == site.refusal(written=WRITTEN)

    def test_its_bytes_at_another_path_are_one(self, site: Site) -> None:
        site.repo.write("docs/REPORT/area/artifacts/T2/checks.json", b"{}\n")

        assert DENIED == site.refusal(written=WRITTEN)

    def test_committed_evidence_is_no_violation(self, site: Site, away: Path) -> None:
        site.repo.write("docs/REPORT/area/artifacts/T1/checks.json", b"{}\n")
        head = site.repo.commit()

        assert PASSED == site.refusal(site.record(away, commit_ref=head), written=WRITTEN)
        assert DENIED == site.refusal(site.record(away, commit_ref=head))

    def test_what_the_verifier_removed_is_no_violation(self, site: Site) -> None:
        path = "docs/REPORT/area/artifacts/T1/checks.json"
        site.repo.write(path, b"{}\n")
        site.repo.commit()
        (site.root / path).unlink()

        assert PASSED == site.refusal(written=WRITTEN)
        assert DENIED == site.refusal()

    def test_an_executable_report_is_one(self, site: Site) -> None:
        for path, data in WRITTEN.items():
            site.repo.write(path, data).chmod(0o755)

        assert DENIED == site.refusal(written=WRITTEN)

    def test_a_fresh_installation_is_none(self, tmp_path: Path) -> None:
        site = Site(tmp_path / "work", commit=False)
        site.repo.git("add", "src", "contracts", ".gitignore")
        site.repo.git("commit", "--quiet", "--message=some")

        assert PASSED == site.refusal()

    def test_a_contract_that_is_not_committed_is_told(self, tmp_path: Path) -> None:
        site = Site(tmp_path / "work", commit=False)
        site.repo.git("add", "src", "tools", "docs", ".gitignore")
        site.repo.git("commit", "--quiet", "--message=some")

        found = site.examine()

        assert found.failure is None
        assert any(CONTRACT in one for one in found.warnings)


WRITES = [
    "docs/REPORT/new.md",
    "docs/REPORT/area/artifacts/T1/verdict.json",
    "src/verdict.json",
    "evidence/x",
    "artifacts/scc_runs/x/evidence/verdict.json",
    ".signoff/more.toml",
    ".signoff/scc.toml",
    CONTRACT,
    *SCRIPTS,
]
EVERYWHERE = "*,**/*,src/**,.signoff/**"


class TestProtectedWrites:
    @pytest.fixture
    def site(self, tmp_path: Path) -> Site:
        site = Site(tmp_path / "work", scope_allow=EVERYWHERE)
        site.repo.write("docs/REPORT/kept.md", "kept\n")
        site.base = site.repo.commit()
        return site

    @pytest.mark.parametrize("path", WRITES)
    def test_are_denied_on_the_disk(self, site: Site, path: str) -> None:
        before = (site.root / CONTRACT).read_text()
        site.repo.write(path, before + " " if path == CONTRACT else "# mine\n")

        assert DENIED == site.refusal()

    @pytest.mark.parametrize("path", WRITES)
    def test_are_denied_in_a_commit(self, site: Site, away: Path, path: str) -> None:
        before = (site.root / CONTRACT).read_text()
        site.repo.write(path, before + " " if path == CONTRACT else "# mine\n")
        site.repo.git("add", "--force", path)
        head = site.repo.commit()

        assert DENIED == site.refusal(site.record(away, commit_ref=head))

    @pytest.mark.parametrize("path", [*WRITES, ".git/hooks/post-commit", "src/.git/config"])
    def test_are_denied_in_a_patch(self, site: Site, away: Path, path: str) -> None:
        patch = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"

        assert DENIED == site.refusal(site.patch_record(away, patch))

    @pytest.mark.parametrize(
        "path",
        ["DOCS/report/x", "docs/REPORT./x", "docs /REPORT/x", "src/VERDICT.json", "Evidence/x", "src/verdict.json ", "docs\\REPORT\\x", "artIFacts/ﬀ", "TOOLS/ci/mvm-verdict.py", "src/verdict.json/x"],
    )  # fmt: skip
    def test_are_denied_in_another_spelling(self, site: Site, path: str) -> None:
        site.repo.write(path)

        assert DENIED == site.refusal()

    def test_are_denied_in_a_commit_of_the_verifiers_state(self, site: Site, away: Path) -> None:
        site.repo.git("add", "--force", ".signoff/oids.sqlite3")
        head = site.repo.commit()

        assert DENIED == site.refusal(site.record(away, commit_ref=head))

    def test_are_denied_where_the_settings_say_so(self, site: Site) -> None:
        settings = site.root / ".signoff" / "scc.toml"
        text = settings.read_text().replace("protected = []", 'protected = ["src/keep/**"]')
        settings.write_text(text)
        site.repo.git("add", "--force", ".signoff/scc.toml")
        site.base = site.repo.commit()

        assert PASSED == site.refusal()
        site.repo.write("src/Keep/x")
        assert DENIED == site.refusal()

    @pytest.mark.parametrize(
        "path", ["docs/REPORT/x.ignored", "src/verdict.json", ".signoff/x", "artifacts/x"]
    )
    def test_are_denied_when_ignored(self, site: Site, path: str) -> None:
        site.repo.write(".git/info/exclude", "*\n")
        site.repo.write(path)

        assert DENIED == site.refusal()

    def test_are_denied_when_git_is_told_to_overlook_them(self, site: Site) -> None:
        site.repo.git("update-index", "--assume-unchanged", "docs/REPORT/kept.md")
        site.repo.write("docs/REPORT/kept.md", "mine\n")

        assert DENIED == site.refusal()


def _link_in(site: Site) -> None:
    (site.root / "src" / "link").symlink_to("../docs/REPORT/kept.md")


def _link_to_folder(site: Site) -> None:
    (site.root / "src" / "link").symlink_to("../docs/REPORT", target_is_directory=True)


def _link_absolute(site: Site) -> None:
    (site.root / "src" / "link").symlink_to(site.root / "docs" / "REPORT" / "new.md")


def _link_out(site: Site) -> None:
    (site.root / "src" / "link").symlink_to("../../elsewhere")


def _link_by_link(site: Site) -> None:
    (site.root / "src" / "d").symlink_to("../docs")
    (site.root / "src" / "link").symlink_to("d/REPORT/kept.md")


def _link_changed(site: Site) -> None:
    (site.root / "src" / "old_link").unlink()
    (site.root / "src" / "old_link").symlink_to("/etc/passwd")


def _linked_root(site: Site) -> None:
    (site.root / "evidence").symlink_to("src")


def _linked_parent_of_root(site: Site) -> None:
    (site.root / "docs").rename(site.root / "src" / "docs")
    (site.root / "docs").symlink_to("src/docs")


def _hard_link(site: Site) -> None:
    os.link(site.root / "docs" / "REPORT" / "kept.md", site.root / "src" / "hard.md")


def _rename_out(site: Site) -> None:
    (site.root / "docs" / "REPORT" / "kept.md").rename(site.root / "src" / "kept.md")


def _rename_in(site: Site) -> None:
    (site.root / "src" / "b.py").rename(site.root / "docs" / "REPORT" / "b.py")


def _delete(site: Site) -> None:
    (site.root / "docs" / "REPORT" / "kept.md").unlink()


def _mode(site: Site) -> None:
    (site.root / "docs" / "REPORT" / "kept.md").chmod(0o755)


def _fifo(site: Site) -> None:
    os.mkfifo(site.root / "docs" / "REPORT" / "pipe")


TRICKS: dict[Callable[[Site], None], str] = {
    _link_in: "leads to a protected path",
    _link_to_folder: "leads to a protected path",
    _link_absolute: "leads to a protected path",
    _link_out: "leads out of the workspace",
    _link_by_link: "leads to a protected path",
    _link_changed: "leads out of the workspace",
    _linked_root: "in the place of a protected folder",
    _linked_parent_of_root: "in the place of a protected folder",
    _hard_link: "is a hard link to the protected",
    _rename_out: '"docs/REPORT/kept.md" is written',
    _rename_in: '"docs/REPORT/b.py" is written',
    _delete: '"docs/REPORT/kept.md" is written',
    _mode: '"docs/REPORT/kept.md" is written',
    _fifo: '"docs/REPORT/pipe" is written',
}
ON_DISK_ALONE = (_hard_link, _fifo)


class TestTricks:
    @pytest.fixture
    def site(self, tmp_path: Path) -> Site:
        site = Site(tmp_path / "work", scope_allow=EVERYWHERE)
        site.repo.write("docs/REPORT/kept.md", "kept\n")
        (site.root / "src" / "old_link").symlink_to("a.py")
        site.base = site.repo.commit()
        return site

    @pytest.mark.parametrize("trick", TRICKS)
    def test_are_denied_on_the_disk(self, site: Site, trick: Callable[[Site], None]) -> None:
        assert PASSED == site.refusal()
        trick(site)

        failure = site.examine().failure
        assert failure is not None
        assert DENIED == (failure.fail_class.value, failure.exit_code)
        assert TRICKS[trick] in failure.reason

    @pytest.mark.parametrize("trick", [one for one in TRICKS if one not in ON_DISK_ALONE])
    def test_are_denied_in_a_commit(
        self, site: Site, away: Path, trick: Callable[[Site], None]
    ) -> None:
        trick(site)
        head = site.repo.commit()

        assert DENIED == site.refusal(site.record(away, commit_ref=head))

    @pytest.mark.parametrize("trick", [one for one in TRICKS if one not in ON_DISK_ALONE])
    def test_are_denied_in_a_patch(
        self, site: Site, away: Path, trick: Callable[[Site], None]
    ) -> None:
        trick(site)

        assert DENIED == site.refusal(site.patch_record(away))

    @pytest.mark.parametrize("word", ["rename", "copy"])
    def test_a_file_moved_out_by_a_patch_is_denied(self, site: Site, away: Path, word: str) -> None:
        patch = (
            "diff --git a/docs/REPORT/kept.md b/src/k.md\nsimilarity index 100%\n"
            f"{word} from docs/REPORT/kept.md\n{word} to src/k.md\n"
        )

        assert DENIED == site.refusal(site.patch_record(away, patch))

    def test_a_patch_through_a_linked_folder_is_denied(self, site: Site, away: Path) -> None:
        (site.root / "src" / "reports").symlink_to("../docs/REPORT")
        site.base = site.repo.commit()
        patch = "--- /dev/null\n+++ b/src/reports/x.md\n@@ -0,0 +1 @@\n+x\n"

        assert DENIED == site.refusal(site.patch_record(away, patch))

    @pytest.mark.parametrize("path", ["docs", "docs/REPORT", "docs/REPORT/x", "evidence", "tools"])
    def test_a_submodule_at_or_above_a_protected_path_is_denied(
        self, site: Site, away: Path, path: str
    ) -> None:
        patch = (
            f"diff --git a/{path} b/{path}\nnew file mode 160000\nindex 0000000..{OTHER[:7]}\n"
            f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+Subproject commit {OTHER}\n"
        )

        assert DENIED == site.refusal(site.patch_record(away, patch))

    def test_a_submodule_at_a_protected_path_is_denied_on_the_disk(self, site: Site) -> None:
        entry = f"160000,{OTHER},docs/REPORT/sub"
        site.repo.git("update-index", "--add", "--cacheinfo", entry)

        assert DENIED == site.refusal()

    @pytest.mark.parametrize("pattern", ["lib/Keep/**", "LIB/keep/one.py"])
    def test_a_submodule_above_a_protected_path_is_denied_on_the_disk(
        self, site: Site, pattern: str
    ) -> None:
        settings = site.root / ".signoff" / "scc.toml"
        settings.write_text(
            settings.read_text().replace("protected = []", f'protected = ["{pattern}"]')
        )
        site.repo.git("add", "--force", ".signoff/scc.toml")
        site.repo.commit()
        site.repo.git("update-index", "--add", "--cacheinfo", f"160000,{OTHER},other")
        assert PASSED == site.refusal()

        site.repo.git("update-index", "--add", "--cacheinfo", f"160000,{OTHER},lib")
        assert DENIED == site.refusal()

    def test_a_submodule_elsewhere_must_be_in_scope(self, tmp_path: Path) -> None:
        site = Site(tmp_path / "narrow")
        site.repo.git("update-index", "--add", "--cacheinfo", f"160000,{OTHER},src/sub")
        assert PASSED == site.refusal()

        site.repo.git("update-index", "--add", "--cacheinfo", f"160000,{OTHER},lib/sub")
        assert DENIED == site.refusal()

    def test_what_a_submodule_holds_is_judged_like_the_rest(
        self, site: Site, tmp_path: Path
    ) -> None:
        inner = Repo(tmp_path / "inner")
        inner.write("verdict.json", "{}")
        inner.commit()
        site.repo.git(
            "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "src/sub"
        )  # fmt: skip
        site.repo.commit()

        assert PASSED == site.refusal()
        site.repo.write("src/sub/verdict.json", "[]")
        assert DENIED == site.refusal()

    @pytest.mark.parametrize("path", ["../x", "/etc/x", "C:/x", "src/../../x", "src/a\\b"])
    def test_unsafe_paths_in_a_patch_are_denied(self, site: Site, away: Path, path: str) -> None:
        patch = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n".replace("b//", "/")

        assert DENIED == site.refusal(site.patch_record(away, patch))

    @pytest.mark.parametrize(
        "patch",
        [
            b'--- /dev/null\n+++ "b/src/\\303\\274"\n@@ -0,0 +1 @@\n+x\n',
            b"--- /dev/null\n+++ b/src/\xff\n@@ -0,0 +1 @@\n+x\n",
            b"diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/b.py\n@@ -1 +1 @@\n-o\n+x\n",
            b"diff --git a/src/a.py b/src/b.py\nindex 1..2\nBinary files differ\n",
            b"rubbish\n",
        ],
    )
    def test_a_patch_that_cannot_be_read_is_denied(
        self, site: Site, away: Path, patch: bytes
    ) -> None:
        assert DENIED == site.refusal(site.patch_record(away, patch))


class TestScopeAndPins:
    def test_a_change_outside_of_the_scope_is_denied(self, site: Site, away: Path) -> None:
        site.repo.write("lib/x.py")

        assert DENIED == site.refusal()
        assert DENIED == site.refusal(site.patch_record(away))
        head = site.repo.commit()
        assert DENIED == site.refusal(site.record(away, commit_ref=head))

    def test_an_ignored_file_outside_of_the_scope_is_denied(self, site: Site) -> None:
        site.repo.write("x.ignored")

        assert DENIED == site.refusal()

    def test_an_empty_scope_allows_no_change(self, tmp_path: Path, away: Path) -> None:
        site = Site(tmp_path / "work", scope_allow="EMPTY")

        assert PASSED == site.refusal()
        assert PASSED == site.refusal(site.record(away, no_changes=True))
        site.repo.write("src/a.py", "x")
        assert DENIED == site.refusal()

    @pytest.mark.parametrize(
        ("pins", "expected"),
        [
            ({"allowed_paths": ["src/**"]}, PASSED),
            ({"allowed_paths": []}, DENIED),
            ({"allowed_paths": ["src/a.py"]}, DENIED),
            ({"allowed_paths": ["src/**"], "forbidden_paths": ["SRC/new.py"]}, DENIED),
            ({"allowed_paths": ["src/**"], "max_files": 1}, DENIED),
            ({"allowed_paths": ["src/**"], "max_files": 2, "max_loc": 4}, PASSED),
            ({"allowed_paths": ["src/**"], "max_loc": 3}, DENIED),
            ({"allowed_paths": ["src/**"], "line_windows": {"src/a.py": [[2, 1]]}}, UNUSABLE),
            ({"forbidden_paths": []}, UNUSABLE),
        ],
    )
    def test_pins(self, tmp_path: Path, pins: dict[str, object], expected: tuple[str, int]) -> None:
        site = Site(tmp_path / "work", inputs_ref={"pins_ref": "pins.json"})
        site.repo.write("pins.json", json.dumps(pins))
        site.repo.commit()
        site.repo.write("src/a.py", "one\ntwo\n3\n")
        site.repo.write("src/new.py", "x\n" * 2)

        assert expected == site.refusal()

    def test_an_executor_may_not_change_its_pins(self, tmp_path: Path) -> None:
        site = Site(tmp_path / "work", inputs_ref={"pins_ref": "src/pins.json"})
        site.repo.write("src/pins.json", '{"allowed_paths": ["src/**"]}')
        site.repo.commit()
        assert PASSED == site.refusal()

        site.repo.write("src/pins.json", '{"allowed_paths": ["**"]}')
        assert DENIED == site.refusal()

    def test_pins_that_are_absent_cannot_be_used(self, tmp_path: Path) -> None:
        assert UNUSABLE == Site(tmp_path / "w", inputs_ref={"pins_ref": "pins.json"}).refusal()

    def test_pins_are_found_by_their_oid(self, site: Site) -> None:
        oid = site.oid("src/pins.json")
        site.repo.write("src/pins.json", '{"allowed_paths": ["src/a.py"]}')
        contract = json.loads((site.root / CONTRACT).read_text())
        contract["inputs_ref"] = {"pins_ref": oid}
        site.repo.write(CONTRACT, json.dumps(contract))
        site.repo.commit()

        assert PASSED == site.refusal()
        site.repo.write("src/b.py", "x")
        assert DENIED == site.refusal()

    def test_a_map_must_have_its_digest(self, tmp_path: Path) -> None:
        chart = '{"version": "1", "generated_at": "now", "modules": [{"id": "a", "paths": []}]}'
        digest = "sha256:3a5e2a6b1b6a6dbf1ba2a9a0c1d7d7fc1d8e0ef43b4b1f6b4ef0c1b1c9a1b6c0"
        reference = {"path": "map.json", "hash": digest}
        site = Site(tmp_path / "work", inputs_ref={"map_ref": reference})
        site.repo.write("map.json", chart)
        site.repo.commit()
        failure = site.examine().failure
        assert UNUSABLE == site.refusal()
        assert failure is not None

        real = failure.reason.split("the digest is ")[1].split(",")[0]
        contract = json.loads((site.root / CONTRACT).read_text())
        contract["inputs_ref"]["map_ref"]["hash"] = real
        site.repo.write(CONTRACT, json.dumps(contract))
        site.repo.commit()
        assert PASSED == site.refusal()


class TestRecords:
    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({}, UNUSABLE),
            ({"no_changes": True}, PASSED),
            ({"no_changes": True, "contract_sha256": "0" * 64}, UNUSABLE),
            ({"no_changes": True, "workspace_ref": {"repo": ".", "commit": OTHER}}, UNUSABLE),
            ({"no_changes": True, "task_id": "T2"}, UNUSABLE),
            ({"no_changes": True, "more": 1}, UNUSABLE),
            ({"no_changes": True, "stdout_path": "nowhere.txt"}, MISSING),
            ({"no_changes": True, "stderr_path": None}, UNUSABLE),
            ({"no_changes": True, "stderr_path": "../x"}, UNUSABLE),
            ({"no_changes": True, "evidence_oids": ["01KGCV31W0C42YQHMVAT6FSR1H"]}, MISSING),
            ({"no_changes": True, "touched_oids": ["01KGCV31W0C42YQHMVAT6FSR1H"]}, MISSING),
            ({"no_changes": True, "commit_ref": OTHER}, UNUSABLE),
            ({"patch_path": "nowhere.diff"}, MISSING),
            ({"patch_path": "work.diff", "commit_ref": OTHER}, UNUSABLE),
            ({"commit_ref": OTHER}, MISSING),
        ],
    )
    def test_faults(
        self, site: Site, away: Path, fields: dict[str, object], expected: tuple[str, int]
    ) -> None:
        assert expected == site.refusal(site.record(away, **fields))

    def test_no_changes_with_changes_is_denied(self, site: Site, away: Path) -> None:
        record = site.record(away, no_changes=True)
        site.repo.write("src/a.py", "x")

        assert DENIED == site.refusal(record)

    def test_a_record_that_is_absent_cannot_be_used(self, site: Site, away: Path) -> None:
        assert UNUSABLE == site.refusal(away / "record.json")

    def test_a_log_behind_a_link_is_missing(self, site: Site, away: Path) -> None:
        record = site.record(away, no_changes=True)
        (away / "out.txt").unlink()
        (away / "out.txt").symlink_to("err.txt")

        assert MISSING == site.refusal(record)

    def test_the_dispatchers_record_is_found(self, site: Site) -> None:
        folder = site.root / ".signoff" / "scc" / "records"
        folder.mkdir(parents=True)
        oid = site.oid("src/a.py")
        record = site.record(folder / "T1", no_changes=True, evidence_oids=[oid])

        found = site.examine()

        assert found.failure is None
        assert ((oid,), record) == (found.evidence_oids, found.evidence[0])

    def test_head_must_be_the_declared_commit(self, site: Site, away: Path) -> None:
        site.repo.write("src/a.py", "x")
        done = site.repo.commit()
        site.repo.write("src/a.py", "y")
        site.repo.commit()

        assert UNUSABLE == site.refusal(site.record(away, commit_ref=done))
        assert UNUSABLE == site.refusal(site.record(away, no_changes=True))

    def test_head_must_descend_from_the_base(self, site: Site, away: Path) -> None:
        site.repo.git("checkout", "--quiet", "--orphan", "other")
        site.repo.write("src/a.py", "other\n")
        head = site.repo.commit()

        assert UNUSABLE == site.refusal(site.record(away, commit_ref=head))

    def test_what_is_not_in_the_declared_commit_is_another_state(
        self, site: Site, away: Path
    ) -> None:
        site.repo.write("src/a.py", "x")
        record = site.record(away, commit_ref=site.repo.commit())
        assert PASSED == site.refusal(record)

        site.repo.write("src/b.py", "x")
        assert UNUSABLE == site.refusal(record)

    def test_the_contracts_commit_is_the_base_without_a_record(self, tmp_path: Path) -> None:
        site = Site(tmp_path / "work", inputs_ref={"workspace_ref": {"repo": ".", "commit": OTHER}})

        assert UNUSABLE == site.refusal()

    def test_a_record_needs_commits(self, tmp_path: Path, away: Path) -> None:
        site = Site(tmp_path / "work", commit=False)

        place = {"repo": ".", "commit": OTHER}
        assert UNUSABLE == site.refusal(site.record(away, no_changes=True, workspace_ref=place))


class TestTheTree:
    def test_evidence_and_commits_leave_the_digest_as_it_is(self, site: Site) -> None:
        site.repo.write("src/a.py", "x")
        before = site.examine().tree_digest
        site.repo.write("docs/REPORT/area/x.md")
        site.repo.write("src/x.ignored")
        assert before == site.examine().tree_digest

        site.repo.commit()
        assert before == site.examine().tree_digest

    @pytest.mark.parametrize("path", ["src/a.py", "src/new", "contracts/t1.json", ".gitignore"])
    def test_a_source_file_changes_it(self, site: Site, path: str) -> None:
        before = site.examine().tree_digest
        with (site.root / path).open("a") as file:
            file.write(" ")

        assert before != site.examine().tree_digest

    def test_a_mode_and_a_link_change_it(self, site: Site) -> None:
        found = {site.examine().tree_digest}
        (site.root / "src" / "a.py").chmod(0o755)
        found.add(site.examine().tree_digest)
        (site.root / "src" / "link").symlink_to("a.py")
        found.add(site.examine().tree_digest)
        (site.root / "src" / "link").unlink()
        (site.root / "src" / "link").symlink_to("b.py")
        found.add(site.examine().tree_digest)

        assert 4 == len(found)


class TestARepositoryThatConfiguresPrograms:
    def test_none_of_them_is_run(self, site: Site, away: Path, tmp_path: Path) -> None:
        ran = tmp_path / "ran"
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
        program.chmod(0o755)
        site.repo.write(".gitattributes", "*.py filter=f diff=d merge=m\n")
        site.base = site.repo.commit()
        config = (
            f"[core]\n\tfsmonitor = {program}\n\thooksPath = {tmp_path}\n\tpager = {program}\n"
            f"\tsshCommand = {program}\n\teditor = {program}\n"
            f'[filter "f"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n'
            f'[diff "d"]\n\ttextconv = {program}\n\tcommand = {program}\n'
            f"[diff]\n\texternal = {program}\n"
            f'[alias]\n\tcat-file = "!{program}"\n\tapply = "!{program}"\n'
        )
        site.repo.write("src/a.py", "other\n")
        record = site.patch_record(away)
        with (site.root / ".git" / "config").open("a") as file:
            file.write(config)

        assert PASSED == site.refusal(record)
        assert PASSED == site.refusal()
        assert not ran.exists()
