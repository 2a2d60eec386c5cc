"""One call of the command line, in this process, with what it wrote."""

from __future__ import annotations

import json
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

from signoff.cli import run

CONTRACT = """\
id: answers
title: Two to three answers, best first
criteria:
  - id: enough
    description: Two to three answers
    verifier: count_between
    params: {min: 2, max: 3}
  - id: best-first
    verifier: sorted_by
    params: {field: score, order: desc}
"""
GOOD = b'[{"score": 2}, {"score": 1}]'
BAD = b'[\n  {"score": 1},\n  {"score": 2}\n]\n'


class Called(NamedTuple):
    """What a call came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document."""
        return json.loads(self.out)


def call(*argv: str | Path, stdin: bytes | None = b"", encoding: str = "utf-8") -> Called:
    """Run one command."""
    out, err = (TextIOWrapper(BytesIO(), encoding=encoding, newline="\n") for _ in range(2))
    reader = None if stdin is None else BytesIO(stdin)
    code = run([str(arg) for arg in argv], reader, out, err)
    texts = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, BytesIO)
        texts.append(stream.buffer.getvalue().decode(encoding))
    return Called(code, *texts)


def wrote(folder: Path, name: str, content: str | bytes) -> Path:
    """The path of a new file with that content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
