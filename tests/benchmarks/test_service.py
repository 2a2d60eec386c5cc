"""Servers under load: what is sent, what is counted, and what is made of it.  No times here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import bench
from benchmarks.row import Failed, Row, Unavailable
from benchmarks.service import building
from benchmarks.service.load import Load, LoadPair
from benchmarks.service.questions import SIZES, first, rotating, sized, spoilt
from benchmarks.service.servers import Server, cores_for, free_port, generator
from benchmarks.service.verify import against, bare, ours, schemas
from benchmarks.timing import Effort
from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import canonical

SHORT = Effort(load_rounds=2, load_s=0.1)
python = partial(generator, native=False)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with closing(ours(1, cores_for(1)[0], tmp_path)) as started:
        yield started


@pytest.mark.parametrize("size", SIZES)
def test_body_has_its_size_and_its_output_is_the_one_referred_to(size: str) -> None:
    body = sized(size)
    candidate = json.loads(body)["candidate"]
    output = canonical(candidate["output"])

    assert SIZES[size] == len(body)
    assert digest_of(output) == candidate["output_ref"]["digest"]
    assert len(output) == candidate["output_ref"]["size_bytes"]


def test_first_request_passes_and_the_spoilt_ones_do_not(server: Server) -> None:
    verdicts = [server.ask("/verify", body) for body in (first()[0], sized("1k"), *spoilt("1k"))]

    assert [200] * 4 == [status for status, _ in verdicts]
    assert [True, True, False, False] == [json.loads(reply)["passed"] for _, reply in verdicts]
    assert first()[1] == json.loads(verdicts[0][1])["verifier_result_hash"]


def test_schemas_in_rotation_all_differ() -> None:
    assert 50 == len({json.dumps(json.loads(body)["output_schema"]) for body in rotating(50)})


def test_requests_are_counted_and_all_differ(server: Server, tmp_path: Path) -> None:
    (tmp_path / "bodies").write_bytes(sized("1k") + b"\n")
    source = python()
    loads = [source.run(server, tmp_path / "bodies", 4, cores_for(1)[1], 0.1) for _ in range(2)]

    assert 0 == sum(load.errors for load in loads)
    assert all(load.requests >= 4 for load in loads)
    assert all(0 < load.p50_s <= load.p99_s <= load.seconds for load in loads)


def test_answer_that_is_no_pass_is_an_error(server: Server, tmp_path: Path) -> None:
    (tmp_path / "bodies").write_bytes(spoilt("1k")[0] + b"\n")
    load = python().run(server, tmp_path / "bodies", 2, cores_for(1)[1], 0.1)

    assert 0 == load.requests
    assert load.errors >= 2


def test_bare_server_is_timed_with_the_same_load() -> None:
    if not all(map(find_spec, ("uvicorn", "uvloop", "httptools"))):
        pytest.skip("uvicorn, uvloop or httptools is not installed")
    with closing(against(bare, size="1k", workers=1, load=python)) as pair:
        mine, theirs = pair.answers()
        measured = pair.measure(SHORT)

    assert theirs == mine
    assert first()[1] == mine[0]
    assert measured.rounds == SHORT.load_rounds
    assert "requests/s" in measured.note
    assert "p50 " in measured.note


def test_many_schemas_are_timed_against_one() -> None:
    with closing(schemas(load=python)) as pair:
        mine, theirs = pair.answers()
        measured = pair.measure(SHORT)

    assert theirs == mine
    assert measured.ratio > 0


def test_ratios_are_those_of_each_round() -> None:
    fast = Load(requests=100, errors=0, seconds=1.0, cpu_s=0.5, p50_s=0.001, p99_s=0.002)
    slow = Load(requests=50, errors=0, seconds=2.0, cpu_s=0.5, p50_s=0.004, p99_s=0.008)
    pair = LoadPair(ours=lambda _: slow, peer=lambda _: fast, answers=lambda: ((), ()))
    measured = pair.measure(SHORT)

    assert (4.0, 2.0) == (measured.ratio, measured.cpu_ratio)
    assert (
        "25 / 100 requests/s, 100 / 200 a second of processor time; "
        "p50 4.0 / 1.0 ms, p99 8.0 / 2.0 ms, the aim is below 50" == measured.note
    )


def test_side_that_answers_wrongly_is_not_timed(capsys: pytest.CaptureFixture[str]) -> None:
    good = Load(requests=10, errors=0, seconds=1.0, cpu_s=0.1)
    bad = Load(requests=9, errors=1, seconds=1.0, cpu_s=0.1)
    pair = LoadPair(ours=lambda _: good, peer=lambda _: bad, answers=lambda: ((), ()))
    with pytest.raises(Failed, match="the peer did not answer 2 requests as it should"):
        pair.measure(SHORT)

    with pytest.MonkeyPatch.context() as patch:
        row = Row(name="odd", ours="a", peer="b", prepare=lambda: pair)
        patch.setattr(bench, "ROWS", {"odd": row})
        assert 1 == bench.main(["odd", "--quick", "--seconds", "0"])
    assert "the peer did not answer 3 requests" in capsys.readouterr().out


def test_server_that_does_not_start_is_no_peer() -> None:
    with pytest.raises(Unavailable, match="exited with 1"):
        Server(["false"], free_port(), cores_for(1)[0])


def test_row_whose_tool_is_absent_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(Unavailable, match="there is no cargo"):
        building.built_by_cargo("axum", "verifier")
    with pytest.raises(Unavailable, match="there is no npm"):
        building.installed_by_npm("node")
    assert "from Python" in generator().note
