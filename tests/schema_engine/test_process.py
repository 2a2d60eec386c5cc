from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from signoff.errors import SchemaNotJudged, SchemaTimeout
from signoff.jsonvalue import JSON
from signoff.schema_engine import compile_schema
from signoff.schema_engine import process as schema_process
from signoff.schema_engine import worker as schema_worker

TREE: JSON = {"type": "object", "properties": {"kids": {"items": {"$ref": "#"}}}}


def slow(depth: int = 40) -> Any:
    """A schema that takes two to the power of its depth steps."""
    parts: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)
    }
    return {"$ref": "#/$defs/d0", "$defs": parts | {f"d{depth}": {"type": "integer"}}}


def children() -> set[int]:
    """Processes started by this one and not yet waited for."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended in between
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            found |= {int(stat.parent.name)} if parent == os.getpid() else set()
    return found


@pytest.fixture(autouse=True)
def others() -> Iterator[set[int]]:
    """The children that have nothing to do with it; besides them, none is left."""
    schema_process._workers(os.getpid()).close()
    others = children()
    yield others
    schema_process._workers(os.getpid()).close()
    assert set() == children() - others


def test_worker_is_kept_warm(others: set[int]) -> None:
    tree = compile_schema(TREE)
    assert tree.is_valid({})
    before = children() - others
    assert not tree.is_valid({"kids": [1]})

    assert 1 == len(before)
    assert before == children() - others


def test_late_worker_is_stopped(others: set[int]) -> None:
    begin = monotonic()
    with pytest.raises(SchemaTimeout, match="was not judged within 2 s"):
        compile_schema(slow()).is_valid(1)

    assert monotonic() - begin < 10
    assert set() == children() - others


def test_next_request_is_answered_after_a_late_one() -> None:
    with pytest.raises(SchemaTimeout):
        compile_schema(slow()).is_valid(1)

    assert compile_schema(TREE).is_valid({})


def test_worker_that_died_of_boredom_is_replaced(others: set[int]) -> None:
    tree = compile_schema(TREE)
    assert tree.is_valid({})
    (worker,) = children() - others
    os.kill(worker, signal.SIGKILL)

    assert not tree.is_valid(1)
    assert worker not in children()


def test_worker_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")

    with pytest.raises(SchemaNotJudged, match="no worker process could be started"):
        compile_schema(TREE).is_valid({})


def test_worker_that_dies_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    with pytest.raises(SchemaNotJudged, match="the process that judges schemas ended"):
        compile_schema(TREE).is_valid({})


def test_library_that_refuses_is_no_answer() -> None:
    with pytest.raises(SchemaNotJudged, match="could not be judged: ValidationError"):
        schema_process.ask("valid", "known", b'{"type":"foo"}', b"1")


def test_memory_is_limited() -> None:
    script = "from signoff.schema_engine import worker as w; w._limit(); bytearray(w.MEMORY_BYTES)"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    assert 1 == ran.returncode
    assert "MemoryError" in ran.stderr


def test_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_process, "MAX_ANSWER_BYTES", 10)

    with pytest.raises(SchemaNotJudged, match="too much to complain about"):
        compile_schema(TREE).is_valid({})


def test_several_at_once(others: set[int]) -> None:
    tree = compile_schema(TREE)
    values: list[Any] = [{} if n % 2 else [] for n in range(64)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(tree.is_valid, values))

    assert [value == {} for value in values] == answers
    assert len(children() - others) <= schema_process.MAX_WORKERS


def test_large_value_goes_through() -> None:
    assert not compile_schema(TREE).is_valid({"kids": [{"a": "x" * 5_000_000}, 1]})


SCRIPT = """
import os, signal, sys
from signoff.schema_engine import compile_schema
assert compile_schema({"items": {"$ref": "#"}}).is_valid([])
if sys.argv[1] == "fork":
    if os.fork() == 0:
        assert compile_schema({"items": {"$ref": "#"}}).is_valid([])
        sys.exit(0)
    assert os.wait()[1] == 0
    assert compile_schema({"items": {"$ref": "#"}}).is_valid([])
elif sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("how", "code"), [("exit", 0), ("fork", 0), ("kill", -signal.SIGKILL)])
def test_workers_end_with_their_parent(how: str, code: int) -> None:
    # A worker holds the other end of this pipe, as a stray descriptor would be held.
    ours, theirs = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, how], pass_fds=(theirs,), env=os.environ
    ) as parent:
        os.close(theirs)
        assert code == parent.wait(60)

    with os.fdopen(ours, "rb") as pipe:
        assert b"" == pipe.read()


# -- the worker's program, in this process --


def answers(*requests: tuple[str, str, bytes, bytes]) -> list[Any]:
    sent = b"".join(
        json.dumps([want, formats, len(schema), len(value)]).encode() + b"\n" + schema + value
        for want, formats, schema, value in requests
    )
    sink = BytesIO()
    schema_worker._serve(BytesIO(sent), sink)
    sink.seek(0)
    return [json.loads(sink.read(int(size))) for size in sink]


def test_no_request_no_answer() -> None:
    assert [] == answers()


def test_answers_come_in_order() -> None:
    schema = b'{"minLength":2,"format":"ipv4"}'
    told = answers(
        ("valid", "known", schema, b'"::1"'),
        ("valid", "annotation", schema, b'"::1"'),
        ("first", "annotation", schema, b'"::1"'),
        ("all", "known", schema, b'""'),
        ("first", "known", b'{"minLength":2}', b'""'),
        ("valid", "known", schema, b"["),
        ("valid", "known", b'{"format":"phone"}', b"1"),
    )
    short = [[], ["minLength"], "MinLength", 2]

    assert [{"answer": False}, {"answer": True}, {"answer": []}] == told[:3]
    assert [[[], ["format"], "Format", "ipv4"], short] == sorted(told[3]["answer"])
    assert {"answer": [short]} == told[4]
    assert told[5]["broken"].startswith("JSONDecodeError: ")
    assert told[6]["broken"].startswith("ValidationError: Unknown format")
