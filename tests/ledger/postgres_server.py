"""A PostgreSQL server of the tests' own: real, on a socket in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name))


def missing() -> str:
    """Why no server can be started here; empty when one can."""
    if not programs():
        return "there is no PostgreSQL server here (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and not _has_user():
        return "PostgreSQL does not run as root, and there is no user postgres"
    return ""


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, of the newest version."""
    found = shutil.which("pg_ctl")
    return PROGRAMS[-1] if PROGRAMS else Path(found).parent if found else None


class Server:
    """A running server, of which each test gets a schema of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="signoff-pg-"))
        self._options: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._count = 0
        self._run(
            "initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"
        )
        with (self.folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n")
        self.start()

    def start(self) -> None:
        self._run("pg_ctl", "-D", "data", "-l", "log", "-w", "-s", "start")

    def crash(self) -> None:
        """End it without letting it write anything more."""
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "-s", "stop")

    def close(self) -> None:
        self.crash()
        shutil.rmtree(self.folder)

    def fresh(self) -> str:
        """The DSN of a place with nothing in it: a schema of its own, which is soon made."""
        self._count += 1
        name = f"test{self._count}"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.dsn}&options=-csearch_path%3D{name}"

    @property
    def dsn(self) -> str:
        return f"postgresql://postgres:geheim@/postgres?host={self.folder}"

    def _run(self, program: str, *arguments: str) -> None:
        folder = programs()
        assert folder is not None
        done = subprocess.run(
            [folder / program, *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # the server would hold a pipe open
            stderr=subprocess.DEVNULL,
            check=False,
            **self._options,
        )
        assert done.returncode == 0, f"{program} exited with {done.returncode}"


def _has_user() -> bool:
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return True


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server."""
    why = missing()
    if why:
        pytest.skip(why)
    running = Server()
    yield running
    running.close()
