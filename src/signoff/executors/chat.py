"""An executor that is a model, behind an endpoint that answers as OpenAI's chat completions do."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from signoff.errors import BadAnswer, JSONError, NoAnswer, NotGiven, NotInstalled
from signoff.executors.failure import (
    ExecutorFailed,
    ExecutorOutputInvalid,
    ExecutorTimedOut,
)
from signoff.executors.reply import MAX_REPLY_BYTES, PLAIN, Executed, Form, Item
from signoff.jsonvalue import JSON, Missing, find, join_pointer, json_type, shown
from signoff.remote_service import MAX_TIMEOUT_S, Service, can_be_sent

__all__ = ["ChatExecutor", "Messages", "whole_request"]

Messages = Callable[[JSON], Sequence[Mapping[str, str]]]
"""From a request to what the model is told: objects with ``role`` and ``content``."""

ROUTE: Final = "/chat/completions"
CHOICE: Final = ("choices", "0", "message", "content")
RECORD: Final = "signoff/executor/exchange/v1"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FENCE: Final = re.compile(r"^ {0,3}```[^\n`]*\n(.*?)^ {0,3}```[ \t]*$", re.MULTILINE | re.DOTALL)


class ChatExecutor:
    """
    Asks a model once for each request.

    Args:
        url: Up to ``/chat/completions``: https, or http on this machine.
        model: The model's name there.
        key_env: Name of the environment variable that holds the key; ``""`` for no key.
        form: How JSON is written and read.
        messages: What the model is told.
        allow_http: Lets the URL be plain http beyond this machine.

    Raises:
        ValueError: One of them is not what it must be; says which, without a secret.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_env: str = "",
        form: Form = PLAIN,
        messages: Messages | None = None,
        allow_http: bool = False,
    ) -> None:
        if "?" in url:
            raise ValueError("the URL of an endpoint must not have a query")
        if not model.strip():
            raise ValueError("an endpoint needs a model: openai:URL#MODEL")
        if key_env and _VARIABLE.fullmatch(key_env) is None:
            raise ValueError("the key must be named by an environment variable")
        self.name = f"openai:{model}"
        self._model = model
        self._key_env = key_env
        self._form = form
        self._messages = messages or whole_request
        self._service = Service(url=url.rstrip("/") + ROUTE, allow_http=allow_http)

    def prepare(self) -> None:
        """
        Look for the key, and for what speaks HTTP; nobody is asked.

        Raises:
            ExecutorFailed: One of them is not there.
        """
        try:
            self._key()
            _ = self._service.client
        except (NotGiven, NotInstalled) as exc:
            raise ExecutorFailed(self.name, f"cannot be asked: {exc}") from exc

    def run(self, request: JSON, deadline_s: float) -> Executed:
        """
        What the model answers; the exchange is its evidence.

        Raises:
            ExecutorFailed: It could not be reached, or did not answer with status 200.
            ExecutorTimedOut: It had not answered in time.
            ExecutorOutputInvalid: Its answer holds no text.
        """
        asked: JSON = {
            "model": self._model,
            "messages": [dict(message) for message in self._messages(request)],
            "stream": False,
        }
        answer = self._asked(self._form.dumps(asked), deadline_s)
        reply = self._read(answer)
        text = self._text(reply)
        exchange: JSON = {"record": RECORD, "request": asked, "reply": reply}
        evidence = Item(
            mime="application/json", data=self._form.dumps(exchange), name="exchange.json"
        )
        return Executed(output=self._output(text), evidence=(evidence,))

    def close(self) -> None:
        """Nothing is left open that matters: each question has its own deadline."""

    def _asked(self, body: bytes, deadline_s: float) -> bytes:
        try:
            key = self._key()
            headers = [("Authorization", f"Bearer {key}")] if key else []
            answer = self._service.client.post(
                body,
                headers,
                timeout_s=min(deadline_s, MAX_TIMEOUT_S),
                max_bytes=MAX_REPLY_BYTES,
            )
        except NoAnswer as exc:
            if exc.late:
                raise ExecutorTimedOut(self.name, deadline_s) from exc
            raise ExecutorFailed(self.name, f"cannot be asked: {exc}") from exc
        except BadAnswer as exc:
            raise ExecutorFailed(self.name, f"answered badly: {exc}") from exc
        except (NotGiven, NotInstalled) as exc:
            raise ExecutorFailed(self.name, f"cannot be asked: {exc}") from exc
        if key and key.encode() in answer:
            # it would be shown to whoever sees the output or the evidence
            raise ExecutorOutputInvalid(self.name, "", "it repeats the key")
        return answer

    def _read(self, answer: bytes) -> JSON:
        try:
            reply = self._form.loads(answer)
        except JSONError as exc:
            raise ExecutorOutputInvalid(self.name, "", f"no JSON ({shown(str(exc))})") from exc
        key = self._key()
        if key and key.encode() in self._form.dumps(reply):  # spelled with escapes
            raise ExecutorOutputInvalid(self.name, "", "it repeats the key")
        return reply

    def _text(self, reply: JSON) -> str:
        """What the model said, in the first of its choices."""
        at = join_pointer("", *CHOICE)
        value = find(reply, CHOICE)
        if isinstance(value, Missing):
            raise ExecutorOutputInvalid(self.name, at, "it is missing")
        if not isinstance(value, str):
            reason = f"it must be string, got {json_type(value)}"
            raise ExecutorOutputInvalid(self.name, at, reason)
        if not value.strip():
            raise ExecutorOutputInvalid(self.name, at, "it is blank")
        return value

    def _output(self, text: str) -> JSON:
        """The object that the text is, or that stands in its only code fence; else the text."""
        fenced = _FENCE.findall(text)
        for part in (text, *(fenced if len(fenced) == 1 else ())):
            try:
                value = self._form.loads(part.strip().encode())
            except (JSONError, UnicodeEncodeError):
                continue
            if isinstance(value, dict):
                return value
        return {"answer": text}

    def _key(self) -> str:
        if not self._key_env:
            return ""
        value = os.environ.get(self._key_env, "").strip()
        if not value:
            raise NotGiven(f"the environment variable {self._key_env} has no value")
        if not can_be_sent(value):
            raise NotGiven(f"the value of the environment variable {self._key_env} cannot be sent")
        return value


def whole_request(request: JSON) -> Sequence[Mapping[str, str]]:
    """The request as it is, for want of somebody who knows what it means."""
    told = "Do the work that this request describes. Answer with one JSON object and nothing else."
    return (
        {"role": "system", "content": told},
        {"role": "user", "content": PLAIN.dumps(request).decode()},
    )
