"""Executors by the texts that name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.executors import PLAIN, ExecutorFailed, ExecutorOutputInvalid
from signoff.executors.chat import ChatExecutor
from signoff.executors.choosing import ExecutorSettings, executor_of
from signoff.executors.function import FunctionExecutor
from signoff.executors.program import ProgramExecutor
from signoff.executors.reply import read_reply


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("call:signoff.executors:echo", FunctionExecutor, "call:signoff.executors:echo"),
        ("cmd:/bin/echo 'a b'", ProgramExecutor, "cmd:echo"),
        ("openai:http://127.0.0.1:1/v1#some/model#2", ChatExecutor, "openai:some/model#2"),
    ],
)
def test_three_kinds(text: str, kind: type, name: str) -> None:
    """What others read names no folder, argument or address."""
    made = executor_of(text)

    assert kind is type(made)
    assert name == made.name
    made.close()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must begin with call:, cmd: or openai:"),
        ("call", "must begin with"),
        ("python agent.py", "must begin with"),
        ("http://host#m", "must begin with"),
        ("call:", "package.module:name"),
        ("call:module.function", "package.module:name"),
        ("cmd:", "must name a program"),
        ("openai:https://host/v1", "openai:URL#MODEL"),
        ("openai:https://host/v1#", "openai:URL#MODEL"),
        ("openai:http://host.example/v1#m", "https"),
    ],
)
def test_texts_that_name_none_are_refused(text: str, told: str) -> None:
    with pytest.raises(ExecutorFailed) as refused:
        executor_of(text)

    assert told in str(refused.value)


def test_reply_of_more_than_a_mebibyte_is_not_even_read() -> None:
    data = b'{"output":"' + b"x" * (2**20 - 13) + b'"}'

    assert 2**20 == len(data)
    assert "x" * (2**20 - 13) == read_reply("any", data, PLAIN).output
    with pytest.raises(ExecutorOutputInvalid, match="more than 1048576 bytes"):
        read_reply("any", data + b" ", PLAIN)


def test_variable_of_a_program_must_have_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_KEY", raising=False)
    with pytest.raises(ExecutorFailed, match="AGENT_KEY"):
        executor_of("cmd:true", ExecutorSettings(env=("AGENT_KEY",)))


def test_folder_is_where_modules_and_files_are_looked_for(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(request): return {'output': 7}\n")
    (tmp_path / "mine.sh").write_text("#!/bin/sh\necho '{\"output\": 8}'\n")
    (tmp_path / "mine.sh").chmod(0o755)
    settings = ExecutorSettings(folder=tmp_path)
    found = []
    for text in ("call:mine:f", "cmd:./mine.sh"):
        made = executor_of(text, settings)
        made.prepare()
        found.append(made.run({}, 60.0).output)
        made.close()

    assert [7, 8] == found
