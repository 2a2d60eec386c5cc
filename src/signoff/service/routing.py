"""Which route answers a path: those without parameters at once, the others by segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from signoff.service.message import (
    NO_PARAMS,
    Handler,
    Problem,
    Request,
    Response,
    Route,
    StreamHandler,
)

__all__ = ["BoundRoute", "Router", "unknown"]

Methods = dict[str, "BoundRoute"]
Params = Mapping[str, str]


class BoundRoute:
    """
    A route with the limits of its server.

    Attributes:
        label: The path of the route, for logs and metrics.
    """

    __slots__ = ("handler", "label", "max_body", "media_types", "method", "stream", "token")

    def __init__(self, route: Route, max_body: int) -> None:
        self.method = route.method
        self.label = route.path
        self.handler: Handler = route.handler or _unanswered
        self.stream: StreamHandler | None = route.stream
        self.token = route.token
        self.media_types: tuple[str, ...] | None = route.types if route.json else None
        self.max_body = max_body if route.max_body is None else route.max_body


class Router:
    """
    Every route of a server.

    Raises:
        ValueError: Two routes answer one method and path, or a route has nobody to answer it.
    """

    def __init__(self, routes: Iterable[Route], *, max_body: int) -> None:
        self._exact: dict[str, Methods] = {}
        self._patterns: dict[tuple[str | None, ...], tuple[tuple[str, ...], Methods]] = {}
        for route in routes:
            if route.handler is None and route.stream is None:
                raise ValueError(f"{route.method} {route.path}: nobody answers it")
            methods = self._methods(route.path)
            if route.method in methods:
                raise ValueError(f"{route.method} {route.path}: answered by two routes")
            methods[route.method] = BoundRoute(route, max_body)
        for methods in (*self._exact.values(), *(found for _, found in self._patterns.values())):
            if "GET" in methods:
                methods.setdefault("HEAD", methods["GET"])

    def routes(self) -> Iterator[BoundRoute]:
        """Every route, once."""
        for methods in (*self._exact.values(), *(found for _, found in self._patterns.values())):
            yield from (route for method, route in methods.items() if method == route.method)

    def find(self, method: str, path: str) -> tuple[BoundRoute, Params]:
        """
        The route of a request, and what stands in the parameters of its path.

        Raises:
            Problem: No route has this path (404), or none this method (405).
        """
        methods, params = self._exact.get(path), NO_PARAMS
        if methods is None:
            methods, params = self._matched(path)
        route = methods.get(method)
        if route is None:
            allowed = ", ".join(sorted(methods))
            raise Problem(
                405,
                "method_not_allowed",
                f"this path is answered for {allowed}",
                headers=(("Allow", allowed),),
            )
        return route, params

    def _matched(self, path: str) -> tuple[Methods, Params]:
        segments = path.split("/")
        for pattern, (names, methods) in self._patterns.items():
            if len(pattern) == len(segments) and all(
                (found != "" if wanted is None else found == wanted)
                for wanted, found in zip(pattern, segments, strict=True)
            ):
                values = [
                    found for wanted, found in zip(pattern, segments, strict=True) if wanted is None
                ]
                return methods, dict(zip(names, values, strict=True))
        raise Problem(404, "not_found", "nothing is served at this path")

    def _methods(self, path: str) -> Methods:
        if "{" not in path:
            return self._exact.setdefault(path, {})
        segments = path.split("/")
        pattern = tuple(None if segment.startswith("{") else segment for segment in segments)
        names = tuple(segment[1:-1] for segment in segments if segment.startswith("{"))
        kept_names, methods = self._patterns.setdefault(pattern, (names, {}))
        if kept_names != names:
            raise ValueError(f"{path}: its parameters have other names than before")
        return methods


def _unanswered(_: Request) -> Response:
    raise ValueError("a stream is not answered by a handler")


def unknown(path: str) -> str:
    """The label of what reached no route; what was meant for a verdict can be told apart."""
    return "-/verify" if path.endswith("/verify") else "-"
