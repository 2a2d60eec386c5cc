"""Embedders: functions, real servers and a model in a folder; nothing they say is believed."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import Any, ClassVar

import msgspec
import pytest

from signoff.embedder import (
    EndpointEmbedder,
    SentenceTransformerEmbedder,
    Vector,
    embed,
    require_library,
)
from signoff.errors import BadAnswer, NoAnswer, NotGiven, NotInstalled
from tests.embedding_server import (
    Asked,
    Server,
    data_of,
    embedded,
    nobody,
    rightly,
    saying,
    send,
    serving,
    silence,
)

TEXTS = ["a small cafe", "a quiet bar", "a small cafe"]
KEY = "sk-hidden-0123456789"


def endpoint(server: Server | str, **fields: Any) -> EndpointEmbedder:
    url = server if isinstance(server, str) else server.url
    given: dict[str, Any] = {"url": url, "model": "tiny", "timeout_s": 5.0}
    return EndpointEmbedder(**given | fields)


# -- functions --


def test_function_gives_one_vector_for_each_text() -> None:
    assert [(1.0, 2.0), (3.0, 4.5)] == embed(lambda texts: [[1, 2], (3, 4.5)], ["a", "b"])


def test_function_gets_all_texts_at_once_in_a_list_of_its_own() -> None:
    got: list[list[str]] = []

    def remembering(texts: list[str]) -> list[list[float]]:
        got.append(texts[:])
        texts.clear()
        return [[1.0]] * 3

    given = TEXTS[:]

    assert [(1.0,)] * 3 == embed(remembering, given)
    assert [TEXTS] == got
    assert TEXTS == given


class Foreign:
    """An array as numpy has it, as far as it matters."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tolist(self) -> Any:
        return self.value


@pytest.mark.parametrize(
    "answer", [Foreign([[1.0, 2.0]]), [Foreign([1.0, 2.0])], [[Foreign(1.0), Foreign(2)]]]
)
def test_arrays_of_other_libraries_are_understood(answer: Any) -> None:
    assert [(1.0, 2.0)] == embed(lambda texts: answer, ["a"])


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        [[1.0], [1.0], [1.0]],
        {"a": [1.0], "b": [1.0]},
        "ab",
        iter([[1.0], [1.0]]),
        [[1.0], None],
        [[1.0], []],
        [[], []],
        [[1.0], [1.0, 2.0]],
        [[1.0], ["1"]],
        [[1.0], [True]],
        [[1.0], [None]],
        [[1.0], [math.nan]],
        [[1.0], [math.inf]],
        [[1.0], [10**400]],
        [[1.0], [[1.0]]],
        [[1.0], "a"],
        [[1.0], [1j]],
        [[1.0] * 65_537] * 2,
    ],
)
def test_nonsense_is_refused(answer: Any) -> None:
    with pytest.raises(BadAnswer, match=r"^the embedder gave "):
        embed(lambda texts: answer, ["a", "b"])


def test_longest_vector_is_taken() -> None:
    assert 65_536 == len(embed(lambda texts: [[1.0] * 65_536], ["a"])[0])


def test_function_that_hangs_is_left_behind() -> None:
    released, ended = threading.Event(), threading.Event()

    class Hanging:
        timeout_s = 0.02

        def __call__(self, texts: list[str]) -> None:
            released.wait(30)
            ended.set()

    begin = monotonic()
    with pytest.raises(NoAnswer) as caught:
        embed(Hanging(), ["a"])

    assert caught.value.late
    assert monotonic() - begin < 5
    assert not ended.is_set()
    released.set()
    assert ended.wait(30)


@pytest.mark.parametrize(
    ("raised", "late"),
    [
        (TimeoutError("slow"), True),
        (ConnectionRefusedError("down"), False),
        (ConnectionResetError("cut"), False),
        (NoAnswer("down"), False),
        (NoAnswer("slow", late=True), True),
    ],
)
def test_function_can_say_that_nobody_answered(raised: Exception, late: bool) -> None:
    def failing(texts: list[str]) -> None:
        raise raised

    with pytest.raises(NoAnswer) as caught:
        embed(failing, ["a"])

    assert late is caught.value.late


@pytest.mark.parametrize("raised", [ValueError("x"), FileNotFoundError("x"), KeyError("x")])
def test_whatever_else_a_function_raises_is_raised(raised: Exception) -> None:
    def failing(texts: list[str]) -> None:
        raise raised

    with pytest.raises(type(raised)) as caught:
        embed(failing, ["a"])

    assert raised is caught.value


def test_function_that_leaves_the_program_leaves_it_where_somebody_waits() -> None:
    def leaving(texts: list[str]) -> None:
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        embed(leaving, ["a"])


def test_function_that_ends_its_thread_gave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: told.set())

    def interrupting(texts: list[str]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(BadAnswer, match="ended its thread"):
        embed(interrupting, ["a"])

    assert told.wait(30)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, 601, True, "1"])
def test_deadline_that_is_none_is_refused(seconds: Any) -> None:
    def function(texts: list[str]) -> list[list[float]]:
        return [[1.0]]

    function.timeout_s = seconds  # type: ignore[attr-defined]  # functions carry attributes

    with pytest.raises(ValueError, match="timeout_s must be"):
        embed(function, ["a"])


# -- servers --


def test_server_embeds_all_texts_in_one_request() -> None:
    with serving() as server:
        got = embed(endpoint(server), TEXTS)

    assert [tuple(vector) for vector in embedded(TEXTS)] == got
    (asked,) = server.asked
    assert "/v1/embeddings" == asked.path
    assert {"model": "tiny", "input": TEXTS, "encoding_format": "float"} == asked.body
    assert "application/json" == asked.headers["content-type"]
    assert "authorization" not in asked.headers


def test_vectors_stand_in_the_order_of_their_texts_whatever_the_server_s() -> None:
    assert [0, 1, 2] == [entry["index"] for entry in data_of([[1], [2], [3]])[::-1]]
    reply = {"data": data_of([[1.0], [2.0], [3.0]])}
    with serving(saying(reply)) as server:
        assert [(1.0,), (2.0,), (3.0,)] == embed(endpoint(server), TEXTS)


def test_slash_at_the_end_of_the_url_does_not_matter() -> None:
    with serving() as server:
        embed(endpoint(f"{server.url}/proxy/"), ["a"])

    assert ["/proxy/v1/embeddings"] == [asked.path for asked in server.asked]


def test_many_threads_share_an_embedder() -> None:
    found: list[list[Vector]] = []
    with serving() as server:
        embedder = endpoint(server)
        threads = [
            threading.Thread(target=lambda: found.append(embed(embedder, TEXTS))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert [[tuple(vector) for vector in embedded(TEXTS)]] * 8 == found


def test_key_is_read_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        embedder = endpoint(server, key="env:EMBEDDING_KEY")
        monkeypatch.setenv("EMBEDDING_KEY", KEY)
        embed(embedder, ["a"])
        monkeypatch.setenv("EMBEDDING_KEY", f"{KEY}-new\n")
        embed(embedder, ["a"])

    assert [f"Bearer {KEY}", f"Bearer {KEY}-new"] == [
        asked.headers["authorization"] for asked in server.asked
    ]


@pytest.mark.parametrize("value", ["", " ", f"{KEY}\r\nX-Other: 1", f"{KEY}é", f"{KEY}\0"])
def test_key_that_is_none_is_not_sent_and_not_told(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    with serving() as server:
        # The real environment holds no NUL, a test's may.
        monkeypatch.setattr(os, "environ", os.environ | {"EMBEDDING_KEY": value})
        with pytest.raises(NotGiven, match="EMBEDDING_KEY") as caught:
            embed(endpoint(server, key="env:EMBEDDING_KEY"), ["a"])

    assert [] == server.asked
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("status", [401, 500])
def test_key_is_never_shown(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    def echoing(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        send(handler, asked.headers["authorization"].encode(), status)

    monkeypatch.setenv("EMBEDDING_KEY", KEY)
    with serving(echoing) as server:
        embedder = endpoint(server, key="env:EMBEDDING_KEY")
        with pytest.raises((BadAnswer, NoAnswer)) as caught:
            embed(embedder, ["a"])

    assert KEY in server.asked[0].headers["authorization"]
    problem: BaseException | None = caught.value
    while problem is not None:
        assert KEY not in f"{problem}{problem!r}"
        problem = problem.__cause__
    assert KEY not in repr(embedder)
    assert KEY.encode() not in msgspec.json.encode(embedder)


def test_nothing_of_the_environment_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password hidden\n", "utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("http_proxy", nobody())
    monkeypatch.setenv("ALL_PROXY", nobody())
    with serving() as server:
        embed(endpoint(server), ["a"])

    assert "authorization" not in server.asked[0].headers


def test_nobody_there_is_no_answer() -> None:
    with pytest.raises(NoAnswer) as caught:
        embed(endpoint(nobody()), ["a"])

    assert not caught.value.late


def test_server_that_says_nothing_is_late() -> None:
    begin = monotonic()
    with silence() as url, pytest.raises(NoAnswer) as caught:
        embed(endpoint(url, timeout_s=0.05), ["a"])

    assert caught.value.late
    assert monotonic() - begin < 5


@pytest.mark.parametrize("drop", [b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n", b" "])
def test_server_that_says_a_little_now_and_then_is_late(drop: bytes) -> None:
    over = threading.Event()

    def dripping(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        if drop == b" ":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        elif drop != b"HTTP/1.1 200 OK\r\n":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for byte in drop * 1000:
            handler.wfile.write(bytes([byte]))
            if over.wait(0.01):
                return

    begin = monotonic()
    with serving(dripping) as server:
        try:
            with pytest.raises(NoAnswer) as caught:
                embed(endpoint(server, timeout_s=0.1), ["a"])
        finally:
            over.set()

    assert caught.value.late
    assert monotonic() - begin < 5


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_server_that_is_unwell_is_no_answer(status: int) -> None:
    with serving(saying(b"{}", status)) as server, pytest.raises(NoAnswer) as caught:
        embed(endpoint(server), ["a"])

    assert not caught.value.late


def test_answer_that_breaks_off_is_no_answer() -> None:
    with (
        serving(saying(b'{"data": [', Content_Length="1000")) as server,
        pytest.raises(NoAnswer) as caught,
    ):
        embed(endpoint(server), ["a"])

    assert not caught.value.late


@pytest.mark.parametrize("status", [204, 301, 302, 307, 308, 400, 401, 403, 404, 422, 429])
def test_other_status_is_nonsense(status: int) -> None:
    with (
        serving(saying(b"", status)) as server,
        pytest.raises(BadAnswer, match=f"status {status}"),
    ):
        embed(endpoint(server), ["a"])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_not_followed(status: int) -> None:
    with serving() as other:
        away = saying(b"", status, Location=f"{other.url}/v1/embeddings")
        with serving(away) as server, pytest.raises(BadAnswer):
            embed(endpoint(server), ["a"])

    assert [] == other.asked


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"no",
        b"[]",
        b"null",
        b'{"data": null}',
        b'{"data": {"0": [1]}}',
        b'{"data": []}',
        b'{"data": [[1.0]]}',
        b'{"data": [{"embedding": [1.0]}]}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": -1, "embedding": [1.0]}]}',
        b'{"data": [{"index": true, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0.0, "embedding": [1.0]}]}',
        b'{"data": [{"index": "0", "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": "AACAPw=="}]}',
        b'{"data": [{"index": 0, "embedding": null}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": [true]}]}',
        b'{"data": [{"index": 0, "embedding": ["1"]}]}',
        b'{"data": [{"index": 0, "embedding": [NaN]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999]}]}',
        b'{"data": [], "data": [{"index": 0, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0]}]} {}',
        b'\xef\xbb\xbf{"data": [{"index": 0, "embedding": [1.0]}]}',
        b'{"error": {"message": "no such model"}}',
    ],
)
def test_wrong_reply_is_nonsense(reply: bytes) -> None:
    with serving(saying(reply)) as server, pytest.raises(BadAnswer):
        embed(endpoint(server), ["a"])


@pytest.mark.parametrize("one", [True, 1.0, "1", None, 0, 2, -1])
def test_second_vector_has_the_index_one(one: Any) -> None:
    entries = [{"index": 0, "embedding": [1.0]}, {"index": one, "embedding": [2.0]}]
    with serving(saying({"data": entries})) as server, pytest.raises(BadAnswer):
        embed(endpoint(server), ["a", "b"])


def test_vectors_of_different_lengths_are_nonsense() -> None:
    reply = {"data": data_of([[1.0], [1.0, 2.0]])}
    with serving(saying(reply)) as server, pytest.raises(BadAnswer, match="1 and 2 numbers"):
        embed(endpoint(server), ["a", "b"])


def test_no_http_is_nonsense() -> None:
    def babbling(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")

    with serving(babbling) as server, pytest.raises(BadAnswer):
        embed(endpoint(server), ["a"])


def test_packed_reply_is_nonsense() -> None:
    with (
        serving(saying({"data": data_of([[1.0]])}, Content_Encoding="gzip")) as server,
        pytest.raises(BadAnswer),
    ):
        embed(endpoint(server), ["a"])


def test_reply_is_capped_before_it_is_read() -> None:
    sent: list[int] = []
    ended = threading.Event()

    def endless(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        try:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while True:
                sent.append(handler.wfile.write(b"[" * 65_536))
        finally:
            ended.set()

    with serving(endless) as server, pytest.raises(BadAnswer, match="larger than 1000 bytes"):
        embed(endpoint(server, max_bytes=1000), ["a"])

    assert ended.wait(30)
    # What went into buffers on the way; far less than what would have been sent by now.
    assert sum(sent) < 2**26


def test_announced_size_is_capped() -> None:
    with (
        serving(saying(b"{}", Content_Length=str(2**40))) as server,
        pytest.raises(BadAnswer, match="larger than"),
    ):
        embed(endpoint(server), ["a"])


def test_reply_of_exactly_the_cap_is_read() -> None:
    reply = b'{"data": [{"index": 0, "embedding": [1.0]}]}'
    with serving(saying(reply)) as server:
        assert [(1.0,)] == embed(endpoint(server, max_bytes=len(reply)), ["a"])
        with pytest.raises(BadAnswer):
            embed(endpoint(server, max_bytes=len(reply) - 1), ["a"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"url": "http://example.com"}, "https"),
        ({"url": "http://localhost.example.com"}, "https"),
        ({"url": "http://10.0.0.1"}, "https"),
        ({"url": f"https://me:{KEY}@example.com"}, "user or password"),
        ({"url": f"https://example.com?key={KEY}"}, "query"),
        ({"url": "https://example.com#x"}, "fragment"),
        ({"url": "ftp://example.com"}, "https"),
        ({"url": "example.com"}, "https"),
        ({"url": "https://"}, "https"),
        ({"url": "https://exa mple.com"}, "ASCII"),
        ({"url": "https://example.com:99999"}, "read"),
        ({"model": ""}, "model"),
        ({"key": KEY}, "key must be"),
        ({"key": "env:"}, "key must be"),
        ({"key": f"env:{KEY}"}, "key must be"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": 601}, "timeout_s"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"max_bytes": 2**40}, "max_bytes"),
    ],
)
def test_fields_are_held_to_what_they_must_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        endpoint("https://example.com", **fields)

    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "https://example.com/a"]
)
def test_https_and_this_machine_are_fine(url: str) -> None:
    assert url == endpoint(url).url


def test_plain_http_elsewhere_is_for_the_operator_to_allow() -> None:
    assert endpoint("http://10.0.0.1", allow_http=True).allow_http


@pytest.fixture
def without_libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # None in sys.modules is how Python itself says that a module cannot be imported.
    with monkeypatch.context() as patch:
        for name in ("h11", "sentence_transformers", "signoff.exchange"):
            patch.setitem(sys.modules, name, None)
        patch.delitem(sys.modules, "signoff.exchange")
        yield


@pytest.mark.usefixtures("without_libraries")
@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (endpoint("http://127.0.0.1:1"), r"x needs h11 (install signoff[http])"),
        (
            SentenceTransformerEmbedder(folder=Path("model")),
            r"x needs sentence-transformers (install signoff[embeddings])",
        ),
    ],
)
def test_absent_library_is_named(embedder: Any, message: str) -> None:
    with pytest.raises(NotInstalled) as caught:
        require_library(embedder, "x")

    assert message == str(caught.value)
    with pytest.raises((NotInstalled, NotGiven)):
        embed(embedder, ["a"])


@pytest.mark.usefixtures("without_libraries")
def test_function_needs_no_library() -> None:
    require_library(embedded, "x")

    assert 1 == len(embed(embedded, ["a"]))


def test_nothing_is_loaded_before_it_is_used() -> None:
    script = (
        "import sys, signoff.embedder as e;"
        "e.require_library(e.EndpointEmbedder(url='http://127.0.0.1:1', model='m'), 'x');"
        "sys.exit(bool({'h11', 'ssl', 'sentence_transformers', 'torch'} & {*sys.modules}))"
    )

    assert 0 == subprocess.run([sys.executable, "-c", script], check=False).returncode


# -- a model in a folder --


def test_folder_that_is_none_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    embedder = SentenceTransformerEmbedder(folder=tmp_path / "all-MiniLM-L6-v2")

    with pytest.raises(NotGiven, match="no folder all-MiniLM-L6-v2"):
        embed(embedder, ["a"])


class Model:
    """Takes the place of the library's class; tells what it was made with."""

    made: ClassVar[list[tuple[Any, ...]]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.made.append((args, kwargs, os.environ.get("HF_HUB_OFFLINE")))

    def encode(self, texts: list[str], **kwargs: Any) -> Foreign:
        assert {"convert_to_numpy": True, "show_progress_bar": False} == kwargs
        return Foreign(embedded(texts))


def test_model_is_loaded_once_from_its_folder_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Model, "made", [])
    monkeypatch.setattr(os, "environ", os.environ | {"HF_HUB_OFFLINE": "0"})
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = Model  # type: ignore[attr-defined]  # modules carry anything
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    embedder = SentenceTransformerEmbedder(folder=Path("model"))
    threads = [threading.Thread(target=lambda: embed(embedder, TEXTS)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [tuple(vector) for vector in embedded(TEXTS)] == embed(embedder, TEXTS)
    offline = {"device": "cpu", "local_files_only": True, "trust_remote_code": False}
    assert [((str(tmp_path / "model"),), offline, "1")] == Model.made


MODEL = """
import sys
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

torch.manual_seed(7)
words = "a small quiet cafe bar with garden [UNK]".split()
vocabulary = {word: index for index, word in enumerate(words)}
tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
tokenizer.pre_tokenizer = Whitespace()
weights = torch.randn(len(words), 16)
module = StaticEmbedding(tokenizer, embedding_weights=weights.numpy())
SentenceTransformer(modules=[module], device="cpu").save(sys.argv[1])
"""

ASKED = """
import json, socket, sys
from pathlib import Path

def refuse(*args, **kwargs):
    raise AssertionError("the network was asked")

socket.socket.connect = socket.getaddrinfo = refuse
from signoff.embedder import SentenceTransformerEmbedder, embed
embedder = SentenceTransformerEmbedder(folder=Path(sys.argv[1]))
texts = ["a small cafe", "a quiet bar", "a small cafe"]
print(json.dumps([embed(embedder, texts), embed(embedder, texts[::-1])]))
"""


@pytest.mark.long
@pytest.mark.skipif(
    find_spec("sentence_transformers") is None,
    reason="sentence-transformers is not installed (signoff[embeddings])",
)
def test_local_model_embeds_without_network(tmp_path: Path) -> None:
    folder = str(tmp_path / "model")
    subprocess.run([sys.executable, "-W", "ignore", "-c", MODEL, folder], check=True)
    asked = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASKED, folder],
        check=True,
        capture_output=True,
        text=True,
    )
    there, back = msgspec.json.decode(asked.stdout)

    assert [16, 16, 16] == [len(vector) for vector in there]
    assert there[0] == there[2] != there[1]
    assert there == back[::-1]


def test_connections_are_given_back() -> None:
    with serving(rightly) as server:
        embed(endpoint(server), ["a"])
        gc.collect()  # an open socket would be a warning, and that an error
