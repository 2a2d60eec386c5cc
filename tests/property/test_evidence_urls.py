"""What a URL of evidence asks for is what every other reader of URLs takes it for."""

from __future__ import annotations

from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from signoff.service.evidence_url import Place, place_of

PIECES = (
    *(
        "a",
        "b.example",
        "127.0.0.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "0x7f",
        "xn--a",
        ":",
        ":443",
        ":80",
    ),
    *("/", "//", "?", "#", "@", "\\", "%", "%2f", "%00", ".", "..", "-", "_", "[", "]", ";", "&"),
    *("\t", "\n", "\r\n", " ", "é", "１", "。", "\u200b", "u:p@", "https://", "http://"),
)
URLS = st.builds(
    lambda scheme, pieces: scheme + "".join(pieces),
    st.sampled_from(("https://", "http://", "HTTPS://", "ftp://", "//", "")),
    st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=10),
)


def place(url: str) -> Place | None:
    try:
        return place_of(url)
    except ValueError:
        return None


class TestUrlIsReadInOneWay:
    """A URL is refused, or its host, port and target are those that another reader finds."""

    @given(URLS)
    def test_readers_agree(self, url: str) -> None:
        found = place(url)
        if found is None:
            return
        parts = urlsplit(url)
        host = parts.hostname or ""

        assert parts.username is None
        assert parts.password is None
        assert (":" in host) is (":" in found.host)
        assert ":" in host or host == found.host
        assert (parts.port or (443 if found.tls else 80)) == found.port
        assert (parts.scheme == "https") is found.tls

    @given(URLS)
    def test_nothing_but_one_line_is_sent(self, url: str) -> None:
        found = place(url)
        if found is None:
            return

        assert found.target.startswith("/")
        for text in (found.host, found.target):
            assert text.isascii()
            assert text.isprintable()
            assert " " not in text
            assert "#" not in text

    @given(URLS)
    def test_reading_again_changes_nothing(self, url: str) -> None:
        found = place(url)
        if found is None:
            return
        host = f"[{found.host}]" if ":" in found.host else found.host
        scheme = "https" if found.tls else "http"

        assert found == place(f"{scheme}://{host}:{found.port}{found.target}")
