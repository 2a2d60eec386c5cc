"""Functions that tests run as executors; each does what its name says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.leftovers import SLEEPER

not_callable = 7


def returns(request: dict[str, Any]) -> Any:
    """Gives back what the request asks for."""
    return request["reply"]


def process(_: dict[str, Any]) -> dict[str, Any]:
    return {"output": os.getpid()}


def prints(request: dict[str, Any]) -> dict[str, Any]:
    sys.stdout.write("on stdout\n")
    sys.stderr.write("on stderr\n" + "x" * request.get("more", 0))
    return {"output": sys.stdin.read()}


def raises(_: dict[str, Any]) -> None:
    raise RuntimeError("connection timed out")


def raises_oddly(_: dict[str, Any]) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    raise Odd


def exits(_: dict[str, Any]) -> None:
    sys.exit(5)


def vanishes(_: dict[str, Any]) -> None:
    os._exit(3)


def is_killed(_: dict[str, Any]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hangs_with_children(request: dict[str, Any]) -> None:
    """Three generations, one of which leaves its session and loses its parent."""
    argv = [sys.executable, "-c", SLEEPER, request["marker"]]
    subprocess.Popen(argv)
    subprocess.Popen(argv, start_new_session=True)
    leaving = (
        "import subprocess, sys; subprocess.Popen([sys.executable, *sys.argv[1:]],"
        " start_new_session=True)"
    )
    subprocess.run([sys.executable, "-c", leaving, *argv[1:]], check=True)
    Path(request["begun"]).touch()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def counts(request: dict[str, Any]) -> dict[str, Any]:
    """Adds a line to a file for each run, and takes its time."""
    with Path(request["inputs"]["file"]).open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(request["inputs"].get("takes_s", 0))
    return {"output": {"answer": request["inputs"].get("answer", "done")}}


def acts(request: dict[str, Any]) -> Any:
    """Does what the inputs say, after all of it was noted."""
    inputs = request["inputs"]
    if "file" in inputs:
        with Path(inputs["file"]).open("a") as file:
            file.write(f"{os.getpid()}\n")
    if "marker" in inputs:
        subprocess.Popen([sys.executable, "-c", SLEEPER, inputs["marker"]])
    if "said" in inputs:
        sys.stderr.write(inputs["said"])
    if "raises" in inputs:
        raise RuntimeError(inputs["raises"])
    time.sleep(inputs.get("takes_s", 0))
    while "gate" in inputs and not Path(inputs["gate"]).exists():
        time.sleep(0.01)
    return json.loads(json.dumps(inputs["reply"]).replace("LONG", "x" * inputs.get("long", 0)))
