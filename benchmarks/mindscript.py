"""
The MindScript runtime on Node, where SIGNOFF_BENCH_MINDSCRIPT names a build of it, a folder.

Both sides judge the criteria that the runtime knows, on an output that is parsed.
One Node process lives as long as the row, and is warmed up like everything else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from benchmarks.row import Pair, Row, Unavailable
from benchmarks.samples import FIVE, OUTPUT_SCHEMA, bad_outputs, contract, judging, output, plan
from benchmarks.timing import Timed, calling
from signoff import STDLIB, Engine, Result, Subject

__all__ = ["ROWS", "VARIABLE"]

VARIABLE: Final = "SIGNOFF_BENCH_MINDSCRIPT"
SCHEMA: Final = ("shape", "json_schema", {"schema": OUTPUT_SCHEMA})

Criteria = Sequence[tuple[str, str, dict[str, Any]]]


class Runtime:
    """A Node process with the runtime loaded, which answers requests until it is closed."""

    def __init__(self, node: str, folder: str) -> None:
        harness = Path(__file__).with_suffix(".mjs")
        self._process = subprocess.Popen(
            [node, str(harness), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def close(self) -> str:
        """What the process said on standard error, now that it is ended."""
        self._process.kill()
        _, told = self._process.communicate()
        return told

    def ask(self, **request: Any) -> dict[str, Any]:
        """
        The answer to a request.

        Raises:
            Unavailable: The process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            return dict(json.loads(self._process.stdout.readline()))
        except (BrokenPipeError, ValueError) as exc:
            told = self.close().splitlines()
            reason = next((line for line in told if "Error" in line), "it ended")
            raise Unavailable(f"the runtime cannot be used: {reason}") from exc

    def timing(self, criteria: Criteria, value: Any) -> Timed:
        """Calls of ``verifyOutput``."""
        asked = partial(self.ask, criteria=_criteria(criteria), output=value)
        return lambda loops: float(asked(loops=loops)["seconds"])

    def judged(self, criteria: Criteria, values: Sequence[Any]) -> list[list[bool | None]]:
        """For each value whether each criterion passed, None where the runtime does not know it."""
        asked = self.ask(criteria=_criteria(criteria), outputs=values)
        return list(asked["results"])


def _criteria(criteria: Criteria) -> Any:
    return contract(*criteria)["criteria"]


def _runtime() -> Runtime:
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise Unavailable(f"{VARIABLE} names no build")
    node = shutil.which("node")
    if node is None:
        raise Unavailable("there is no node")
    if not (Path(folder) / "package.json").is_file():
        raise Unavailable(f"{VARIABLE} names a folder without package.json")
    return Runtime(node, folder)


def _pair(criteria: Criteria, *, whole_report: bool) -> Pair:
    runtime = _runtime()
    known = [answer is not None for answer in runtime.judged(criteria, [output()])[0]]
    shared = [one for one, is_known in zip(criteria, known, strict=True) if is_known]
    if not shared:
        runtime.close()
        raise Unavailable("the runtime knows none of the criteria")
    values = [output(), *bad_outputs()]
    judge = judging(*shared)
    subject = Subject(output=output())
    if whole_report:
        ours = calling(Engine(STDLIB).verify, plan(*shared), subject, clock=perf_counter)
    else:
        ours = calling(judge, subject, clock=perf_counter)  # the clock that Node has
    return Pair(
        ours=ours,
        peer=runtime.timing(shared, output()),
        answers=lambda: (
            [_held(judge, value) for value in values],
            runtime.judged(shared, values),
        ),
        close=runtime.close,
        note=f"both: {', '.join(verifier for _, verifier, _ in shared)}",
    )


def _held(judge: Callable[[Subject], tuple[Sequence[Result], object]], value: Any) -> list[bool]:
    return [result.finding.status.holds for result in judge(Subject(output=value))[0]]


ROWS: Final = (
    Row(
        name="mindscript-judge",
        ours="Engine.judge",
        peer="MindScript verifyOutput, Node",
        prepare=partial(_pair, FIVE, whole_report=False),
    ),
    Row(
        name="mindscript-report",
        ours="Engine.verify: report with digest",
        peer="MindScript verifyOutput, Node",
        prepare=partial(_pair, FIVE, whole_report=True),
        note="the peer's report has no digest",
    ),
    Row(
        name="mindscript-schema",
        ours="Engine.judge, one json_schema",
        peer="MindScript verifyOutput, Node",
        prepare=partial(_pair, [SCHEMA], whole_report=False),
        note="the peer compiles the schema each time",
    ),
)
