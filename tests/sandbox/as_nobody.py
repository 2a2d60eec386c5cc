"""Runs a memory bomb and a fork bomb as nobody: a program of its own, because it gives up root."""

from __future__ import annotations

import os
import sys

from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Limits

NOBODY = 65534
HOARD = "kept = []\nwhile True: kept.append(bytearray(1_000_000))"
FORK = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"


def main(folder: str) -> None:
    os.chown(folder, NOBODY, NOBODY)
    os.environ["TMPDIR"] = folder
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    version = "python{}.{}".format(*sys.version_info)
    pythons = [path for path in (sys.executable, f"/usr/bin/{version}") if os.access(path, os.X_OK)]
    if not pythons:
        sys.exit(77)
    sys.executable = pythons[0]
    with Sandbox(level="L1") as sandbox:

        def run(program: str, limits: Limits) -> tuple[str, str]:
            done = sandbox.run(Command(argv=(sys.executable, "-c", program), limits=limits))
            return done.ended.value, " ".join(done.missing)

        hoard, missing = run(HOARD, Limits(memory_bytes=100 * 2**20, timeout_s=20))
        bomb, _ = run(FORK, Limits(processes=50, timeout_s=1))
    sys.stdout.write(
        f"{hoard} {bomb} {'limits memory' in missing} {'limits processes' in missing}\n"
    )


if __name__ == "__main__":
    main(sys.argv[1])
