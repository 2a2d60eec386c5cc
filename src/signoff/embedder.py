"""
Where texts become vectors: a function, a service, or a model in a local folder.

An embedder is any callable from a list of texts to one vector for each, in their
order.  ``embed`` asks one under a deadline and believes nothing that it says:
as many vectors as texts, all of one length, of finite numbers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from signoff.canonical import canonical_bytes
from signoff.errors import BadAnswer, JSONError, NoAnswer, NotGiven, NotInstalled
from signoff.jsonvalue import JSON, is_number, json_type
from signoff.remote_service import Service, can_be_sent, variable
from signoff.strictjson import Limits, loads

__all__ = [
    "TIMEOUT_S",
    "Embedder",
    "EndpointEmbedder",
    "SentenceTransformerEmbedder",
    "Vector",
    "embed",
    "require_library",
]

Vector: TypeAlias = tuple[float, ...]

TIMEOUT_S: Final = 30.0
MAX_TIMEOUT_S: Final = 600.0
MAX_REPLY_BYTES: Final = 2**26
MAX_DIMENSIONS: Final = 65_536
ROUTE: Final = "/v1/embeddings"


class Embedder(Protocol):
    """From texts to vectors; ``timeout_s`` on it sets its deadline, which is 30 s otherwise."""

    def __call__(self, texts: list[str], /) -> Any:
        """One vector for each text: lists, tuples, or arrays that have ``tolist``."""
        ...


class EndpointEmbedder(Struct, frozen=True, kw_only=True, dict=True):
    """
    A server that answers ``POST <url>/v1/embeddings`` as OpenAI's does.

    Args:
        url: Of the server, up to ``/v1/embeddings``: https, or http on this machine.
        model: The model's name there.
        key: ``env:NAME``, the variable that holds the key; ``""`` when none is needed.
        timeout_s: Seconds from looking up the server's name to the last byte.
        allow_http: Lets the URL be plain http beyond this machine.
        max_bytes: Largest reply.

    Raises:
        ValueError: A field is not what it must be; says which, without its value.
    """

    url: str
    model: str
    key: str = ""
    timeout_s: float = TIMEOUT_S
    allow_http: bool = False
    max_bytes: int = MAX_REPLY_BYTES

    def __post_init__(self) -> None:
        if "?" in self.url:
            raise ValueError("url must not have a query")
        if self.key and not variable(self.key):
            raise ValueError('key must be "env:" and the name of a variable')
        if not self.model:
            raise ValueError("model must be non-empty string")
        if not 1 <= self.max_bytes <= MAX_REPLY_BYTES:
            raise ValueError(f"max_bytes must be integer, 1 to {MAX_REPLY_BYTES}")
        _ = self._service  # refuses the other fields

    def __call__(self, texts: list[str], /) -> list[list[float]]:
        """
        The vectors of texts, which are sent in one request.

        Raises:
            NoAnswer: Nobody answered in time, or only with a status from 500 up.
            BadAnswer: Another status than 200, or no list of embeddings.
            NotGiven: The variable of the key has no value, or one that cannot be sent.
            NotInstalled: h11 is absent.
        """
        body: JSON = {"model": self.model, "input": [*texts], "encoding_format": "float"}
        try:
            reply = self._service.client.post(
                canonical_bytes(body),
                self._headers(),
                timeout_s=self.timeout_s,
                max_bytes=self.max_bytes,
            )
            return _in_order(loads(reply, limits=Limits(max_bytes=self.max_bytes)))
        except JSONError as exc:
            raise BadAnswer(f"the embedder's answer is not JSON: {exc}") from None
        except BadAnswer as exc:
            raise BadAnswer(f"the embedder answered badly: {exc}") from None

    @cached_property
    def _service(self) -> Service:
        url = self.url.rstrip("/") + ROUTE
        return Service(url=url, timeout_s=self.timeout_s, allow_http=self.allow_http)

    def _headers(self) -> list[tuple[str, str]]:
        named = variable(self.key)
        if not named:
            return []
        value = os.environ.get(named, "").strip()
        if not value:
            raise NotGiven(f"the environment variable {named} has no value")
        if not can_be_sent(value):
            raise NotGiven(f"the value of the environment variable {named} cannot be sent")
        return [("Authorization", f"Bearer {value}")]


class SentenceTransformerEmbedder(Struct, frozen=True, kw_only=True, dict=True):
    """
    A sentence-transformers model in a local folder; nothing is downloaded.

    The model is loaded when the first texts come, on the CPU, and kept.

    Args:
        folder: Where the model was saved.
        timeout_s: Seconds for the texts of one output, loading included.
    """

    folder: Path
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        self.__dict__["_loading"] = threading.Lock()

    def __call__(self, texts: list[str], /) -> Any:
        """
        The vectors of texts.

        Raises:
            NotGiven: There is no such folder.
            NotInstalled: sentence-transformers is absent.
        """
        with self.__dict__["_loading"]:
            model = self._model
        return model.encode(texts, convert_to_numpy=True, show_progress_bar=False).tolist()

    @cached_property
    def _model(self) -> Any:
        # A name that is no folder would be looked for on the network.
        folder = Path(self.folder).absolute()
        if not folder.is_dir():
            raise NotGiven(f"there is no folder {folder.name} with a model")
        os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
        try:
            from sentence_transformers import SentenceTransformer  # the extra "embeddings"
        except ImportError as exc:
            raise NotInstalled("an embedder", "sentence-transformers", "embeddings") from exc
        return SentenceTransformer(
            str(folder), device="cpu", local_files_only=True, trust_remote_code=False
        )


def require_library(embedder: object, what: str) -> None:
    """
    Make sure that the library of an embedder is there, without loading it.

    Raises:
        NotInstalled: It is not; names ``what`` needs it.
    """
    if isinstance(embedder, EndpointEmbedder) and find_spec("h11") is None:
        raise NotInstalled(what, "h11", "http")
    if isinstance(embedder, SentenceTransformerEmbedder) and not find_spec("sentence_transformers"):
        raise NotInstalled(what, "sentence-transformers", "embeddings")


def embed(embedder: Callable[[list[str]], Any], texts: list[str]) -> list[Vector]:
    """
    One vector for each text.

    Args:
        embedder: What is asked, once; a ``timeout_s`` on it is its deadline.
        texts: At least one.

    Raises:
        NoAnswer: It could not be reached, or was late; a ``ConnectionError`` and a
            ``TimeoutError`` of a function say so too.
        BadAnswer: It gave anything but one vector for each text.
    """
    try:
        if isinstance(embedder, EndpointEmbedder):
            answer: Any = embedder(texts)  # its deadline ends the connection too
        else:
            answer = _within(_seconds(embedder), lambda: embedder([*texts]))
    except TimeoutError as exc:
        raise NoAnswer("too late", late=True) from exc
    except ConnectionError as exc:
        raise NoAnswer("cannot be reached") from exc
    return _proven(answer, len(texts))


def _seconds(embedder: object) -> float:
    seconds = getattr(embedder, "timeout_s", TIMEOUT_S)
    if not is_number(seconds) or not 0 < seconds <= MAX_TIMEOUT_S:
        raise ValueError(f"timeout_s must be number of seconds, up to {MAX_TIMEOUT_S:g}")
    return seconds


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """What the work gives in time; it cannot be stopped, so work that hangs is left behind."""
    answers: list[Any] = []
    problems: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            answers.append(work())
        except (Exception, SystemExit) as exc:  # noqa: BLE001  raised again by who waits for it
            problems.append(exc)
        finally:
            ended.set()

    threading.Thread(target=run, name="signoff-embedder", daemon=True).start()
    if not ended.wait(seconds):
        raise NoAnswer("too late", late=True)
    if problems:
        raise problems[0]
    if not answers:
        raise BadAnswer("the embedder ended its thread without an answer")
    return answers[0]


def _in_order(reply: JSON) -> list[Any]:
    """The embeddings of a reply, in the order of their texts."""
    entries = reply.get("data") if type(reply) is dict else None
    if type(entries) is not list:
        raise BadAnswer(f"data must be array, got {_type_in(reply, 'data')}")
    placed: dict[int, JSON] = {}
    for entry in entries:
        index = entry.get("index") if type(entry) is dict else None
        if type(entry) is not dict or type(index) is not int or "embedding" not in entry:
            raise BadAnswer("data must hold objects with index and embedding")
        placed[index] = entry["embedding"]
    if placed.keys() != {*range(len(entries))}:
        raise BadAnswer("data must have each index once")
    return [placed[index] for index in range(len(entries))]


def _type_in(reply: JSON, name: str) -> str:
    return json_type(reply[name]) if type(reply) is dict and name in reply else "nothing"


def _proven(answer: Any, count: int) -> list[Vector]:
    """The answer as vectors, if it is one for each of ``count`` texts."""
    entries = _plain(answer)
    if type(entries) not in {list, tuple} or len(entries) != count:
        got = len(entries) if type(entries) in {list, tuple} else type(answer).__name__
        raise BadAnswer(f"the embedder gave {got}, expected {count} vectors")
    vectors = [_vector(_plain(entry)) for entry in entries]
    lengths = {*map(len, vectors)}
    if len(lengths) > 1:
        raise BadAnswer(f"the embedder gave vectors of {min(lengths)} and {max(lengths)} numbers")
    return vectors


def _vector(entry: Any) -> Vector:
    if type(entry) not in {list, tuple} or not 1 <= len(entry) <= MAX_DIMENSIONS:
        raise BadAnswer(f"the embedder gave a vector that is not 1 to {MAX_DIMENSIONS} numbers")
    numbers = [*map(_plain, entry)]
    try:
        vector = tuple(float(one) for one in numbers if is_number(one))
    except OverflowError:
        vector = ()
    if len(vector) != len(numbers) or not all(map(isfinite, vector)):
        raise BadAnswer("the embedder gave a vector with what is no finite number")
    return vector


def _plain(value: Any) -> Any:
    """Lists and numbers where numpy or another library has its own."""
    tolist = getattr(value, "tolist", None)
    return value if tolist is None else tolist()
