"""Runs commands that leave processes behind, on two threads, until it is killed."""

from __future__ import annotations

import os
import sys
from tempfile import TemporaryDirectory
from threading import Thread

from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Limits
from tests.sandbox.attacks import MARK

LEAVES = "(setsid sh -c 'sleep 60 & sleep 60' &) & printf . > note; sleep 0.0$1"


def commands(sandbox: Sandbox, workspace: str, count: int | None) -> None:
    done = 0
    while count is None or done < count:
        done += 1
        command = Command(
            argv=("sh", "-c", LEAVES, "sh", str(done % 9)),
            workspace=workspace,
            env={MARK: os.environ[MARK]},
            limits=Limits(timeout_s=30),
        )
        sandbox.run(command).close()


def main(level: str, count: int | None) -> None:
    sandbox = Sandbox(level=level)  # type: ignore[arg-type]  # one of them
    with TemporaryDirectory() as workspace:
        threads = [Thread(target=commands, args=(sandbox, workspace, count)) for _ in range(2)]
        for thread in threads:
            thread.start()
        sys.stdout.write(".")
        sys.stdout.flush()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(sys.argv[1], 1 if "once" in sys.argv else None)
