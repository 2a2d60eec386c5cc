"""Which folders a program needs, and which it never gets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from signoff.sandbox.programs import Reach, is_in


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def installed(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """A program of an installation, which is the folder above its own."""
    (path.parent.parent / "lib").mkdir(parents=True)
    return program(path, text)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def reached(program: str, home: Path, *search: Path, work: Path | None = None) -> set[str]:
    """Folders beneath the home's parent that one program needs."""
    workspace = str(work) if work else None
    reach = Reach([*map(str, search), "/usr/bin"], str(home), workspace)
    found = {*reach.of(program, workspace)}
    return {path.removeprefix(f"{home.parent}/") for path in found if is_in(path, str(home.parent))}


def test_program_brings_its_installation(home: Path) -> None:
    installed(home / "tool" / "bin" / "run")

    assert {"home/tool"} == reached("run", home, home / "tool" / "bin")


def test_folder_alone_where_there_is_no_installation(home: Path) -> None:
    program(home / "bin" / "run")

    assert {"home/bin"} == reached("run", home, home / "bin")


@pytest.mark.parametrize("text", ["#!{}\n", "#!/usr/bin/env -S {}\n"])
def test_interpreter_is_followed(home: Path, text: str) -> None:
    lua = installed(home.parent / "lua" / "bin" / "lua")
    program(home / "bin" / "run", text.format(lua))

    assert {"home/bin", "lua"} == reached("run", home, home / "bin")


def test_links_are_followed_hop_by_hop(home: Path) -> None:
    last = installed(home.parent / "c" / "bin" / "run")
    for name, target in (("b", last), ("a", home.parent / "b" / "bin" / "run")):
        installed(home.parent / name / "bin" / "other")
        (home.parent / name / "bin" / "run").symlink_to(target)

    assert {"a", "b", "c"} == reached("run", home, home.parent / "a" / "bin")


def test_links_in_a_circle_end(home: Path) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "a").symlink_to("b")
    (home / "bin" / "b").symlink_to("a")

    assert {"home/bin"} >= reached(str(home / "bin" / "a"), home)


def test_virtual_environment_brings_its_python(home: Path) -> None:
    python = installed(home.parent / "py" / "bin" / "python3")
    (home.parent / "py" / "lib" / "python3.12").mkdir()
    (home.parent / "py" / "lib" / "python3.12" / "os.py").touch()
    installed(home.parent / "env" / "bin" / "tool")
    (home.parent / "env" / "pyvenv.cfg").write_text(f"home = {python.parent}\n")

    assert {"env", "py"} == reached("tool", home, home.parent / "env" / "bin")


@pytest.mark.parametrize(
    ("folder", "needed"),
    [
        (".local", {"home/.local/bin", "home/.local/lib"}),
        (".cargo", {"home/.cargo/bin", "home/.cargo/registry", "home/.rustup"}),
    ],
)
def test_secrets_next_to_programs_are_left_out(home: Path, folder: str, needed: set[str]) -> None:
    installed(home / folder / "bin" / "tool")

    assert needed == reached("tool", home, home / folder / "bin")


def test_home_itself_is_never_given(home: Path) -> None:
    installed(home / "bin" / "tool")
    program(home / "top")

    assert {"home/bin"} == reached("tool", home, home / "bin")
    assert set() == reached("top", home, home)
    assert set() == reached(str(home / "top"), home)


class TestWorkspaceIsNotTrusted:
    """What lies in the workspace leads to a Python, and to nothing else."""

    @pytest.fixture
    def work(self, tmp_path: Path) -> Path:
        (tmp_path / "work").mkdir()
        return tmp_path / "work"

    @pytest.fixture
    def vault(self, tmp_path: Path) -> Path:
        return installed(tmp_path / "vault" / "bin" / "python3")

    def test_link(self, home: Path, work: Path, vault: Path) -> None:
        (work / "tool").symlink_to(vault)

        assert set() == reached("./tool", home, work=work)

    def test_link_of_links(self, home: Path, work: Path, vault: Path) -> None:
        (work / "folder").symlink_to(vault.parent)
        (work / "tool").symlink_to(work / "folder" / "python3")

        assert set() == reached("./tool", home, work=work)
        assert set() == reached("./folder/python3", home, work=work)

    def test_interpreter(self, home: Path, work: Path, vault: Path) -> None:
        program(work / "tool", f"#!{vault}\n")

        assert set() == reached("./tool", home, work=work)

    def test_search_path_in_it(self, home: Path, work: Path, vault: Path) -> None:
        installed(work / "bin" / "tool")
        (work / "pyvenv.cfg").write_text(f"home = {vault.parent}\n")
        reach = Reach([str(work / "bin")], str(home), str(work))

        assert {sys.prefix, sys.base_prefix} >= {*reach.everywhere}

    def test_python_is_found(self, home: Path, work: Path, vault: Path) -> None:
        (vault.parent.parent / "lib" / "python3.12").mkdir()
        (vault.parent.parent / "lib" / "python3.12" / "os.py").touch()
        (work / "python").symlink_to(vault)

        assert {"vault"} == reached("./python", home, work=work)


def test_folders_are_compared_by_their_parts() -> None:
    assert is_in("/a/b", "/a")
    assert is_in("/a", "/a")
    assert is_in("/a", "/")
    assert not is_in("/ab", "/a")
