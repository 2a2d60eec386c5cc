"""Files of a run get their place whole, wherever they lie, and nothing of a dead run stays."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from signoff.scc import staging
from signoff.scc.run_names import STAGING, RunNames
from signoff.scc.staging import Staging
from signoff.scc.workspace import Workspace

RUN_ID = "20260131-120000-0000abcd"


def names(run_id: str = RUN_ID) -> RunNames:
    return RunNames(
        run_id=run_id, area="platform", task_id="T1", task_code="C-1", started=datetime.now(UTC)
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "work"
    root.mkdir()
    return Workspace.at(root)


def first_refused(call: Callable[..., None], code: int) -> Callable[..., None]:
    """A call of the system that fails once, as between two file systems, and then does its work."""
    calls = list[int]()

    def refusing(*paths: Any, **handles: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError(code, os.strerror(code))
        call(*paths, **handles)

    return refusing


def test_folders_of_dead_runs_go_and_those_of_others_stay(workspace: Workspace) -> None:
    dead = workspace.root / STAGING / "20250131-120000-00000001"
    (dead / "run" / "logs").mkdir(parents=True)
    (dead / "run" / "logs" / "a").touch()
    (workspace.root / STAGING / "file").touch()
    other = names("20260131-120000-00000002")
    with Staging(workspace, other) as alive, Staging(workspace, names()) as own:
        there = {path.name for path in (workspace.root / STAGING).iterdir()}
        assert {alive.place.name, own.place.name, "file"} == there
    assert not own.place.exists()


def test_an_unfinished_file_is_no_evidence(workspace: Workspace) -> None:
    unfinished = f".unfinished-{secrets.token_hex(8)}"
    with Staging(workspace, names()) as own:
        own.write(own.run, {"logs/a": b"text", "elsewhere": b"text"})
        (own.run / "logs" / unfinished).write_bytes(b"part")
        kept = own.kept()
        left = [path.name for path in (own.run / "logs").iterdir()]

    assert [("logs/a", 4, sha256(b"text").hexdigest())] == [
        (one.path, one.size, one.sha256) for one in kept
    ]
    assert ["a"] == left


@pytest.mark.parametrize("count", [3, 4])
def test_all_is_flushed_each_for_itself_or_at_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    flushed = list[str]()
    monkeypatch.setattr(staging, "MAX_SINGLY", 3)
    with Staging(workspace, names()) as own:
        own.write(own.run, {f"logs/{number}": b"x" for number in range(count - 1)})
        own.write(own.mirror, {"collected/a": b"x"})
        monkeypatch.setattr(os, "fsync", lambda _: flushed.append("one"))
        monkeypatch.setattr(os, "sync", lambda: flushed.append("all"))
        own.flush()
        monkeypatch.undo()

    assert flushed == (["one"] * 3 if count == 3 else ["all"])


@pytest.mark.parametrize("is_across", [False, True])
def test_what_is_put_in_its_place_is_there_whole(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, is_across: bool
) -> None:
    """Also where the place lies in another file system."""
    real = os.replace
    with Staging(workspace, names()) as own:
        own.write(own.run, {"logs/a": b"text", "verdict.json": b"{}"})
        (own.place / "single").write_bytes(b"single")
        for source, target in (
            (own.run, "artifacts/run"),
            (own.place / "single", "artifacts/file"),
        ):
            if is_across:
                monkeypatch.setattr(os, "replace", first_refused(real, errno.EXDEV))
            own.put(source, target)

    root = workspace.root / "artifacts"
    assert b"text" == (root / "run" / "logs" / "a").read_bytes()
    assert b"{}" == (root / "run" / "verdict.json").read_bytes()
    assert b"single" == (root / "file").read_bytes()


@pytest.mark.parametrize("is_across", [False, True])
def test_what_is_taken_is_gone_from_its_place(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, is_across: bool
) -> None:
    (workspace.root / "docs" / "old").mkdir(parents=True)
    (workspace.root / "docs" / "old" / "file").write_text("text")
    with Staging(workspace, names()) as own:
        if is_across:
            monkeypatch.setattr(os, "rename", first_refused(os.rename, errno.EXDEV))
        for path in ("docs/old", "docs/none", "none/none"):
            own.take(path, "taken")

        assert not (workspace.root / "docs" / "old").exists()
        assert is_across or "text" == (own.place / "taken" / "file").read_text()


@pytest.mark.parametrize("call", ["put", "take"])
def test_what_cannot_be_moved_stays_and_is_said_by_its_path_in_the_workspace(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (workspace.root / "docs" / "old").mkdir(parents=True)
    name = "replace" if call == "put" else "rename"
    with Staging(workspace, names()) as own:
        monkeypatch.setattr(os, name, first_refused(getattr(os, name), errno.EACCES))
        with pytest.raises(OSError, match="docs/old") as caught:
            own.put(own.run, "docs/old") if call == "put" else own.take("docs/old", "x")

    assert ("docs/old", errno.EACCES) == (caught.value.filename, caught.value.errno)
    assert (workspace.root / "docs" / "old").is_dir()
