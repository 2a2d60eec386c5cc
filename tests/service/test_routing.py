"""Which route answers, and what is said where none does."""

from __future__ import annotations

import pytest

from signoff.service.message import BodyReader, Problem, ReplyWriter, Request, Response, Route
from signoff.service.routing import Router, unknown


def answer(_: Request) -> Response:
    return Response(200)


async def stream(_: Request, __: BodyReader, ___: ReplyWriter) -> None:
    return


def router(*paths: str) -> Router:
    routes = (path.split(" ") for path in paths)
    return Router(
        (Route(method=method, path=path, handler=answer) for method, path in routes), max_body=10
    )


def found(routes: Router, method: str, path: str) -> tuple[str, dict[str, str]]:
    route, params = routes.find(method, path)
    return route.label, dict(params)


def test_exact_path_comes_before_a_pattern() -> None:
    routes = router("GET /a/{x}", "GET /a/b", "GET /{x}/b")

    assert ("/a/b", {}) == found(routes, "GET", "/a/b")
    assert ("/a/{x}", {"x": "c"}) == found(routes, "GET", "/a/c")
    assert ("/{x}/b", {"x": "c"}) == found(routes, "GET", "/c/b")


def test_exact_path_is_not_answered_by_a_pattern_of_another_method() -> None:
    with pytest.raises(Problem) as caught:
        router("GET /a/b", "POST /a/{x}").find("POST", "/a/b")

    assert (405, (("Allow", "GET, HEAD"),)) == (caught.value.status, caught.value.headers)


@pytest.mark.parametrize("path", ["", "/", "/a", "/a/", "/a//b", "/a/b/", "a/b", "/a/b/c", "/A/b"])
def test_other_paths_are_404(path: str) -> None:
    with pytest.raises(Problem) as caught:
        router("GET /a/{x}").find("GET", path)

    assert 404 == caught.value.status


def test_get_answers_head_unless_somebody_else_does() -> None:
    routes = Router(
        (
            Route(method="HEAD", path="/a", handler=answer, max_body=1),
            Route(method="GET", path="/a", handler=answer, max_body=2),
            Route(method="GET", path="/b", handler=answer, max_body=3),
        ),
        max_body=10,
    )

    assert 1 == routes.find("HEAD", "/a")[0].max_body
    assert 3 == routes.find("HEAD", "/b")[0].max_body


def test_limit_of_the_server_holds_where_a_route_has_none() -> None:
    assert 10 == router("POST /a").find("POST", "/a")[0].max_body


def test_two_routes_for_one_path_are_refused() -> None:
    with pytest.raises(ValueError, match="GET /a: answered by two routes"):
        router("GET /a", "POST /a", "GET /a")
    with pytest.raises(ValueError, match=r"GET /a/\{y\}: answered by two routes"):
        Router(
            (
                Route(method="GET", path="/a/{y}", handler=answer),
                Route(method="GET", path="/a/{y}", handler=answer),
            ),
            max_body=1,
        )
    with pytest.raises(ValueError, match=r"/a/\{y\}: its parameters have other names than before"):
        router("GET /a/{x}", "POST /a/{y}")


def test_route_without_anybody_is_refused() -> None:
    with pytest.raises(ValueError, match="POST /a: nobody answers it"):
        Router((Route(method="POST", path="/a"),), max_body=1)
    Router((Route(method="POST", path="/a", stream=stream),), max_body=1)


def test_what_reached_no_route_has_few_labels() -> None:
    assert {"-", "-/verify"} == {unknown(path) for path in ("/a", "/b/verify", "", "/verify")}
