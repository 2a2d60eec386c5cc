"""Executors that are models, asked over real sockets."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from signoff.executors import (
    Executed,
    ExecutorFailed,
    ExecutorOutputInvalid,
    ExecutorTimedOut,
)
from signoff.executors.chat import ChatExecutor
from tests.embedding_server import Answering, Asked, nobody, saying, send, serving, silence

KEY = "sk-secret-0123456789"
LONG_S = 30.0


def said(text: Any) -> dict[str, Any]:
    """A reply as such endpoints give it."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def asked(answering: Answering, **more: Any) -> tuple[Executed, list[Asked]]:
    with serving(answering) as server:
        made = ChatExecutor(f"{server.url}/v1", "small", **more)
        made.prepare()
        return made.run({"inputs": {"prompt": "why"}}, LONG_S), server.asked


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ('{"answer": 1.5}', {"answer": 1.5}),
        ('\n {"a": []} \n', {"a": []}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1}\n```\n', {"a": 1}),
        ('Here it is:\n\n```json\n{"a": "``` no fence"}\n```\nDone.', {"a": "``` no fence"}),
        ("just words", {"answer": "just words"}),
        ("[1, 2]", {"answer": "[1, 2]"}),
        ('{"a": 1} and more', {"answer": '{"a": 1} and more'}),
        ('{"a": 1, "a": 2}', {"answer": '{"a": 1, "a": 2}'}),
        ('```\n{"a": 1}\n```\n```\n{"a": 2}\n```', None),
        ("```\nno json\n```", None),
    ],
)
def test_text_becomes_an_output(text: str, output: Any) -> None:
    found, _ = asked(saying(said(text)))

    assert ({"answer": text} if output is None else output) == found.output


def test_question_has_the_model_the_key_and_what_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHAT_KEY", KEY)
    told = ({"role": "user", "content": "sing"},)
    _, (request,) = asked(saying(said("la")), key_env="CHAT_KEY", messages=lambda _: told)

    assert "/v1/chat/completions" == request.path
    assert f"Bearer {KEY}" == request.headers["authorization"]
    assert {"model": "small", "messages": [*told], "stream": False} == request.body


def test_without_a_key_none_is_sent() -> None:
    _, (request,) = asked(saying(said("la")))

    assert "authorization" not in request.headers
    assert '{"inputs":{"prompt":"why"}}' in json.dumps(request.body).replace('\\"', '"')


def test_exchange_is_the_evidence_and_holds_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_KEY", KEY)
    found, (request,) = asked(saying(said("la")), key_env="CHAT_KEY")
    (item,) = found.evidence
    exchange = json.loads(item.data)

    assert "application/json" == item.mime
    assert request.body == exchange["request"]
    assert said("la") == exchange["reply"]
    assert KEY.encode() not in item.data


@pytest.mark.parametrize("told", [f"key {KEY}", "key \\u0073k-secret-0123456789"])
def test_reply_that_repeats_the_key_is_refused(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_KEY", KEY)
    body = json.dumps(said("TEXT")).replace("TEXT", told).encode()
    with pytest.raises(ExecutorOutputInvalid, match="repeats the key") as refused:
        asked(saying(body), key_env="CHAT_KEY")

    assert KEY not in str(refused.value)


def test_what_repeats_the_key_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_KEY", KEY)
    with pytest.raises(ExecutorOutputInvalid, match="repeats the key"):
        asked(saying(f"no JSON with {KEY}".encode()), key_env="CHAT_KEY")


@pytest.mark.parametrize(
    ("reply", "at"),
    [
        ([], "/choices/0/message/content"),
        ({"choices": []}, "/choices/0/message/content"),
        (said(None), "must be string, got null"),
        (said([{"type": "text"}]), "must be string, got array"),
        (said("  \n"), "is blank"),
        (b"{", "no JSON"),
        (b"", "no JSON"),
    ],
)
def test_replies_without_a_text_are_refused(reply: Any, at: str) -> None:
    with pytest.raises(ExecutorOutputInvalid) as refused:
        asked(saying(reply))

    assert at in str(refused.value)


@pytest.mark.parametrize("status", [201, 301, 307, 401, 404, 429, 500, 503])
def test_other_statuses_are_failures_and_redirects_are_not_followed(status: int) -> None:
    with serving(saying(said("elsewhere"))) as elsewhere:
        answering = saying(b"{}", status, Location=f"{elsewhere.url}/v1/chat/completions")
        with pytest.raises(ExecutorFailed, match=f"status {status}"):
            asked(answering)

        assert [] == elsewhere.asked


def test_reply_beyond_a_mebibyte_is_refused() -> None:
    with pytest.raises(ExecutorFailed, match="larger than 1048576 bytes"):
        asked(saying(said("x" * 2**20)))


def test_silent_server_is_late() -> None:
    with silence() as url:
        made = ChatExecutor(url, "small")
        with pytest.raises(ExecutorTimedOut, match=r"timed out after 0\.2 s"):
            made.run({}, 0.2)


def test_dripping_server_is_late() -> None:
    def drips(handler: BaseHTTPRequestHandler, _: Asked) -> None:
        send(handler, b"", Content_Length="1000")
        for _number in range(1000):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            if handler.connection.recv(1) == b"":
                return

    with serving(drips) as server, pytest.raises(ExecutorTimedOut):
        ChatExecutor(server.url, "small").run({}, 0.5)


def test_nobody_there_is_a_failure() -> None:
    with pytest.raises(ExecutorFailed, match="cannot be asked"):
        ChatExecutor(nobody(), "small").run({}, LONG_S)


def test_key_that_is_not_there_is_found_out_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHAT_KEY", raising=False)
    made = ChatExecutor("https://api.example", "small", key_env="CHAT_KEY")
    with pytest.raises(ExecutorFailed, match="CHAT_KEY has no value"):
        made.prepare()

    monkeypatch.setenv("CHAT_KEY", "two\nlines")
    with pytest.raises(ExecutorFailed, match="cannot be sent") as failed:
        made.prepare()

    assert "lines" not in str(failed.value)


@pytest.mark.parametrize(
    ("url", "model", "key_env", "told"),
    [
        ("http://api.example/v1", "m", "", "must be https"),
        ("https://u:p@api.example/v1", "m", "", "must not hold a user"),
        ("https://api.example/v1?key=1", "m", "", "must not have a query"),
        ("ftp://api.example", "m", "", "https://HOST"),
        ("https://api.example/v1", " ", "", "openai:URL#MODEL"),
        ("https://api.example/v1", "m", "sk-0123", "environment variable"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(
    url: str, model: str, key_env: str, told: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(told)) as refused:
        ChatExecutor(url, model, key_env=key_env)

    assert "sk-0123" not in str(refused.value)
