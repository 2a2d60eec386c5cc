"""A Python program that is not executed: a fork of this process becomes it, all imports done."""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import signal
import sys
import threading
import traceback
from typing import Final, NoReturn

from signoff.sandbox.supervisor.launch import Free, Launch

__all__ = ["Warm"]

HIGHEST_HANDLE: Final = 2**20


class Warm(Free):
    """No confinement, and no execution: what the keeper has imported is there already."""

    def enter(self, launch: Launch) -> NoReturn:
        """Runs the file that follows the interpreter's name, and ends as an interpreter does."""
        _be_ordinary(launch)
        code = 1
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
            code = 0
        except SystemExit as exc:
            code = _exit_code(exc.code)
        except (Exception, KeyboardInterrupt):  # noqa: BLE001 - as an interpreter does at its end
            traceback.print_exc()
        finally:
            _end(code)


def _be_ordinary(launch: Launch) -> None:
    """Takes back what makes this process a keeper; closing its handles says that it has begun."""
    os.closerange(3, HIGHEST_HANDLE)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_IGN)
    os.environb.clear()
    os.environb.update(launch.env)
    sys.argv = [os.fsdecode(argument) for argument in launch.argv[1:]]
    for name in [name for name in sys.modules if name.partition(".")[0] == "signoff"]:
        del sys.modules[name]  # only as much as a keeper needs; the tests may want all of it
    gc.enable()


def _exit_code(said: object) -> int:
    if said is None:
        return 0
    if isinstance(said, int):
        return said & 0xFF
    sys.stderr.write(f"{said}\n")
    return 1


def _end(code: int) -> NoReturn:
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as at every end
        atexit._run_exitfuncs()  # noqa: SLF001 - likewise
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except Exception:  # noqa: BLE001 - at the very end nobody is left to hear of it
        code = code or 120
    finally:
        os._exit(code)
