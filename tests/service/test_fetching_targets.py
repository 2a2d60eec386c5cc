"""Acceptance row 13: nobody makes this server connect to where its operator did not allow it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import pytest

from signoff.service.fetching import MAX_REFERENCES
from tests.servers import Server, answering, message
from tests.service.fetches import (
    DATA,
    LOOPBACK,
    Trap,
    Watch,
    allowed,
    at,
    fetch,
    one,
    reference,
)

OK = message(DATA)
NO_ADDRESS = "the host has no address that may be connected to"
PUBLIC = "198.41.0.4"
INNER = (
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),
    *("100.64.0.1", "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192"),
    *("224.0.0.1", "255.255.255.255", "::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2001:0:7f00:1::1", "fe80::1"),
    *("fd00:ec2::254", "fc00::1", "fec0::1", "ff02::1", "::127.0.0.1"),
)
LOOPBACK_SPELLINGS = (
    *("127.0.0.1", "localhost", "LOCALHOST", "2130706433", "017700000001", "0x7f000001"),
    *("0x7F.0.0.1", "0177.0.0.1", "127.1", "127.0.1", "0x7f.1", "00000177.1", "127.255.255.255"),
    *("0", "0.0.0.0", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
    *("[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[::]", "[::127.0.0.1]", "[::7f00:1]"),
)


def found_by(addresses: Sequence[str]) -> Any:
    """A look-up with these answers."""

    def resolve(_: str, port: int) -> list[Any]:
        return [
            (socket.AF_INET6, (one, port, 0, 0)) if ":" in one else (socket.AF_INET, (one, port))
            for one in addresses
        ]

    return resolve


def numbered(answers: Sequence[Sequence[str]]) -> Any:
    """A look-up in which the host ``nINDEX.example`` leads to the answers of that index."""

    def resolve(host: str, port: int) -> Any:
        return found_by(answers[int(host[1:].partition(".")[0])])(host, port)

    return resolve


def refused(uris: Sequence[str], **how: Any) -> dict[str, str]:
    """Those that were not refused for their address, with what came of them; none is connected to."""
    with Watch.on() as connected:
        found = fetch(*map(reference, uris), **how)

    assert [] == connected
    assert {"evidence_unreachable"} == set(found.causes)
    return {
        uri: got.detail
        for uri, got in zip(uris, found.found, strict=True)
        if got.detail != NO_ADDRESS
    }


# -- spellings --


@pytest.mark.parametrize("uri", ["http://{}:{}/", "https://{}:{}/"])
def test_loopback_is_not_connected_to_however_it_is_spelled(uri: str) -> None:
    """Acceptance row 13, with the host allowed in that very spelling."""
    with Trap() as trap:
        uris = [uri.format(host, trap.port) for host in LOOPBACK_SPELLINGS]
        hosts = [f"http://{host}:{trap.port}" for host in LOOPBACK_SPELLINGS]

        assert {} == refused(uris, hosts=hosts, networks=())
        assert 0 == trap.count()


def test_loopback_is_not_any_host_however_it_is_spelled() -> None:
    """Acceptance row 13: ``*`` leads to public addresses alone, whatever else is allowed."""
    uris = [f"https://{host}/" for host in LOOPBACK_SPELLINGS]

    assert {} == refused(uris, hosts=["*", "a.example"], networks=LOOPBACK)


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "127.1", "0x7f.0.0.1", "0177.1"])
def test_the_trap_would_have_noticed(host: str) -> None:
    with Trap() as trap, Watch.on() as connected:
        uri = f"http://{host}:{trap.port}/"
        found = one(uri, hosts=[uri[:-1]], networks=LOOPBACK, timeout_s=0.2)

        assert found.cause is not None
        assert 1 == trap.count()
    assert [("127.0.0.1", trap.port)] == connected


@pytest.mark.parametrize(
    "uri",
    [
        *("https://１２７.0.0.1/", "https://127。0。0。1/", "https://①②⑦.0.0.1/"),
        *("https://ｌｏｃａｌｈｏｓｔ/", "https://%31%32%37.0.0.1/", "https://127.0.0.1./"),
        *("https://localhost./", "https://[::1%25lo]/", "https://[fe80::1%25eth0]/"),
        *(
            "https://a.example@127.0.0.1/",
            "https://127.0.0.1#@a.example/",
            "https://u:p@a.example/",
        ),
        *(
            "https://a.example\\@127.0.0.1/",
            "https:127.0.0.1",
            "//127.0.0.1/",
            "https:///127.0.0.1",
        ),
        *("file:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "ftp://127.0.0.1/", "dict://x"),
        *("artifact:x", "iroh:x", "ipfs://x", "inline:x", "data:,x", "", "x", "ldap://127.0.0.1/"),
        *("https://a.example/\r\nHost: b", "https://a.example:22/", "https://a.example:80/"),
        *("http://a.example/", "http://a.example:443/", "http://127.0.0.1/"),
    ],
)
def test_url_that_is_not_allowed_leads_nowhere(uri: str) -> None:
    """Acceptance row 13: full-width digits, user information, other ports, other schemes."""
    asked = []

    def resolve(host: str, port: int) -> list[Any]:
        asked.append((host, port))
        return [(socket.AF_INET, ("127.0.0.1", port))]

    with Watch.on() as connected:
        found = one(uri, hosts=["*"], networks=LOOPBACK, resolve=resolve)

    assert "evidence_unreachable" == (found.cause and found.cause.value)
    assert [] == connected
    assert set(asked) <= {("127.0.0.1", 443)}  # what stands before a fragment


# -- what names lead to --


@pytest.mark.parametrize("hosts", [["*"], [f"n{index}.example" for index in range(len(INNER))]])
def test_name_that_leads_inside_is_not_connected_to(hosts: list[str]) -> None:
    """Acceptance row 13: names whose only address is not public."""
    uris = [f"https://n{index}.example/" for index in range(len(INNER))]
    resolve = numbered([[address] for address in INNER])

    assert {} == refused(uris, hosts=hosts, networks=(), resolve=resolve)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_address_itself_is_not_connected_to(scheme: str) -> None:
    """Acceptance row 13: the address in the URL, and allowed as such."""
    named = [f"[{address}]" if ":" in address else address for address in INNER]
    uris = [f"{scheme}://{host}/latest/meta-data/" for host in named]
    hosts = [f"http://{host}" for host in named]

    assert {} == refused(uris, hosts=[*hosts, "*"], networks=())


@pytest.mark.parametrize("is_first", [True, False])
def test_one_inner_address_spoils_all(is_first: bool) -> None:
    """Acceptance row 13: names that resolve to a mix."""
    answers = [[inner, PUBLIC] if is_first else [PUBLIC, "2001:500:2::c", inner] for inner in INNER]
    uris = [f"https://n{index}.example/" for index in range(len(INNER))]

    assert {} == refused(uris, hosts=["*"], networks=(), resolve=numbered(answers))


def test_inner_address_after_many_public_ones_spoils_all() -> None:
    many = [f"198.41.{number}.4" for number in range(100)]
    with Watch.on() as connected:
        found = one("https://a.example/", hosts=["*"], resolve=found_by([*many, "127.0.0.1"]))

    assert NO_ADDRESS == found.detail
    assert [] == connected


def test_networks_are_for_named_hosts_alone() -> None:
    """Acceptance row 13: ``*`` is every *public* host, whatever a named one may reach."""
    with Trap() as trap, Watch.on() as connected:
        found = one(
            "https://b.example/",
            hosts=["*", f"http://a.example:{trap.port}"],
            networks=LOOPBACK,
            resolve=found_by(["127.0.0.1"]),
        )

    assert NO_ADDRESS == found.detail
    assert [] == connected


@pytest.mark.parametrize("found", [[], [(socket.AF_UNIX, "/x")], [(socket.AF_INET, ("x", 443))]])
def test_no_address_is_none_to_connect_to(found: list[Any]) -> None:
    assert NO_ADDRESS == one("https://a.example/", hosts=["*"], resolve=lambda *_: found).detail


@pytest.mark.parametrize("error", [OSError("x"), socket.gaierror(-2, "x"), UnicodeError("x")])
def test_name_that_leads_nowhere_is_not_told_from_one_that_leads_inside(error: Exception) -> None:
    def resolve(*_: object) -> list[Any]:
        raise error

    assert NO_ADDRESS == one("https://a.example/", hosts=["*"], resolve=resolve).detail


def test_name_is_looked_up_once() -> None:
    """Acceptance row 13: rebinding; the second answer is never asked for."""
    answers = [["127.0.0.1"], ["127.0.0.2"]]

    def resolve(host: str, port: int) -> Any:
        return found_by(answers.pop(0))(host, port)

    with Server(answering(OK)) as server, Watch.on() as connected:
        found = one(
            at(server, host="a.example"),
            hosts=allowed(server, host="a.example"),
            networks=["127.0.0.1"],
            resolve=resolve,
        )

    assert DATA == found.data
    assert [["127.0.0.2"]] == answers
    assert [("127.0.0.1", server.port)] == connected
    assert f"Host: a.example:{server.port}" in server.requests[0].head


def test_peer_is_the_address_that_was_chosen() -> None:
    """Acceptance row 13: the system takes 0.0.0.0 for loopback, and says so once connected."""
    with Server(answering(OK)) as server:
        found = one(
            at(server, host="a.example"),
            hosts=allowed(server, host="a.example"),
            networks=["0.0.0.0"],
            resolve=found_by(["0.0.0.0"]),
        )

    assert "is connected to another address than was asked for" == found.detail
    assert [] == server.requests


def test_next_address_is_tried_where_one_is_closed() -> None:
    with Trap() as closed:
        port = closed.port
    with Server(answering(OK)) as server:
        found = one(
            at(server, host="a.example"),
            hosts=allowed(server, host="a.example"),
            resolve=lambda *_: [
                (socket.AF_INET, ("127.0.0.1", port)),
                (socket.AF_INET, ("127.0.0.1", server.port)),
            ],
        )

    assert DATA == found.data


def test_few_addresses_of_a_name_are_tried() -> None:
    with Trap() as closed:
        port = closed.port
    with Watch.on() as connected:
        found = one(
            f"http://a.example:{port}/",
            hosts=[f"http://a.example:{port}"],
            resolve=found_by([f"127.0.0.{number}" for number in range(1, 101)]),
        )

    assert "connection refused" == found.detail
    assert 8 == len(connected)


# -- being sent elsewhere --


@pytest.mark.parametrize(
    ("status", "header"),
    [
        *((status, "Location") for status in (201, 300, 301, 302, 303, 305, 307, 308, 401, 404)),
        *((200, header) for header in ("Location", "Refresh", "Content-Location", "Alt-Svc")),
    ],
)
def test_redirect_is_not_followed(status: int, header: str) -> None:
    """Acceptance row 13: redirects from an allowed host to a private and to a public address."""
    with Trap() as trap:
        for target in (f"http://127.0.0.1:{trap.port}/", f"https://{PUBLIC}/", "/elsewhere"):
            answer = message("", status=f"{status} x", headers=f"{header}: {target}\r\n")
            with Server(answering(answer)) as server, Watch.on() as connected:
                hosts = [*allowed(server), f"http://127.0.0.1:{trap.port}", f"https://{PUBLIC}"]
                found = one(at(server), hosts=hosts)

            assert found.cause is not None
            assert [("127.0.0.1", server.port)] == connected
            assert 1 == len(server.requests)
        assert 0 == trap.count()


def test_proxy_variables_are_not_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Acceptance row 13: proxy variables set."""
    with Trap() as trap:
        for name in ("http_proxy", "https_proxy", "all_proxy", "socks_proxy"):
            for spelled in (name, name.upper()):
                monkeypatch.setenv(spelled, f"http://127.0.0.1:{trap.port}")
        with Server(answering(OK)) as server, Watch.on() as connected:
            found = fetch(
                reference(at(server)),
                reference(at(server, tls=True)),
                hosts=allowed(server),
                timeout_s=1.0,
            )

        assert ["ok", "evidence_timed_out"] == found.causes  # TLS with a server that has none
        assert {("127.0.0.1", server.port)} == set(connected)
        assert 0 == trap.count()


def test_nothing_is_sent_along_from_one_to_the_next(tmp_path: Any, monkeypatch: Any) -> None:
    """No cookie, no credential of a ``.netrc``, no referrer."""
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login u password p\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    answer = message(DATA, headers="Set-Cookie: a=b; Path=/\r\nWWW-Authenticate: Basic\r\n")
    with Server(answering(answer)) as server:
        for path in ("/1", "/2"):
            one(at(server, path), hosts=allowed(server))

    names = {line.split(":")[0] for got in server.requests for line in got.head.split("\r\n")[1:]}

    assert {"Host", "Accept-Encoding", "User-Agent"} == names
    assert 2 == server.connections


def test_connection_is_for_one_reference() -> None:
    """What one host left in its connection is never taken for the answer of another."""
    with Server(answering(OK + message(b"more"))) as server:
        refs = [reference(at(server, f"/{number}")) for number in range(MAX_REFERENCES)]
        found = fetch(*refs, hosts=allowed(server))

    assert {"ok"} == set(found.causes)
    assert MAX_REFERENCES == server.connections
