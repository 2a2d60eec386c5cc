"""Who may ask, and where a server may listen without asking who it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from signoff.service.message import Problem
from signoff.service.settings import CannotServe, Settings

__all__ = [
    "MIN_TOKEN",
    "Tokens",
    "check_bind",
    "is_loopback",
    "tokens_of_environment",
    "tokens_of_file",
]

MIN_TOKEN: Final = 16
MAX_FILE: Final = 65_536
_SCHEME: Final = b"bearer "


class Tokens:
    """
    The tokens that a server accepts.

    What is sent is compared by digest, with every token there is, so that the
    time says nothing about any of them, not even how long it is.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self._digests = tuple(sha256(token.encode()).digest() for token in tokens)

    def __bool__(self) -> bool:
        return bool(self._digests)

    def check(self, authorization: bytes | None) -> None:
        """
        Return if the header carries one of the tokens, or if there are none.

        Raises:
            Problem: It does not (401).
        """
        if not self._digests:
            return
        header = authorization or b""
        sent = header[len(_SCHEME) :].strip() if header[:7].lower() == _SCHEME else b""
        digest = sha256(sent).digest()
        known = [compare_digest(digest, accepted) for accepted in self._digests]
        if not (sent and any(known)):
            raise Problem(
                401,
                "unauthorized",
                "a bearer token that this server knows is needed",
                headers=(("WWW-Authenticate", "Bearer"),),
            )


def tokens_of_file(path: Path) -> tuple[str, ...]:
    """
    The tokens of a file, one a line; blank lines do not count.

    Raises:
        CannotServe: It cannot be read, holds no token, or one that is too short or not plain.
    """
    where = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as exc:
        raise CannotServe(f"{where}: cannot be read: {exc.strerror}") from exc
    if len(data) > MAX_FILE:
        raise CannotServe(f"{where}: is longer than {MAX_FILE} bytes")
    lines = data.decode("utf-8", "replace").splitlines()
    tokens = tuple(line.strip() for line in lines if line.strip())
    if not tokens:
        raise CannotServe(f"{where}: holds no token")
    for number, token in enumerate(tokens, 1):
        _check_token(token, f"{where}: token {number}")
    return tokens


def tokens_of_environment(name: str, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """
    The token in an environment variable.

    Raises:
        CannotServe: It is not set, or too short, or not plain.
    """
    token = environ.get(name, "").strip()
    if not token:
        raise CannotServe(f"the environment variable {name} holds no token")
    _check_token(token, f"the token in {name}")
    return (token,)


def check_bind(settings: Settings) -> None:
    """
    Return if the server may listen where its settings say.

    Raises:
        CannotServe: Other machines could connect and no token is asked for.
    """
    if settings.tokens or settings.insecure or is_loopback(settings.host):
        return
    raise CannotServe(
        f"{settings.host} can be reached by other machines, which needs a token"
        " (--token-file, --token-env) or --insecure"
    )


def is_loopback(host: str) -> bool:
    """Only this machine can connect; a name other than ``localhost`` may lead anywhere."""
    if host.startswith("unix:") or host == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _check_token(token: str, what: str) -> None:
    if len(token) < MIN_TOKEN:
        raise CannotServe(f"{what} has {len(token)} characters, at least {MIN_TOKEN} are needed")
    if not all("!" <= char <= "~" for char in token):
        raise CannotServe(f"{what} has a character other than visible ASCII")
