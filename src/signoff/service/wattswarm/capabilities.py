"""``GET /capabilities``: what this runtime does and who it is; a promise, and never computed."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from signoff.dialects.wattswarm.evidence import trimmed
from signoff.service.message import Request, Response, Route

__all__ = ["PROFILES", "TASK_TYPES", "Capabilities", "capabilities_route"]

PROFILES = ("default",)
TASK_TYPES = ("swarm",)


class Capabilities(Struct, frozen=True, kw_only=True):
    """
    What a kernel is told.

    Args:
        task_types: Types of tasks that are worked on.
        profiles: Profiles that may be asked for; a kernel asks for no other.
        provider_family: Under which reputation is counted.
        model_id: Likewise.

    Raises:
        ValueError: One of the last two is blank, so that a kernel would reject every result.
    """

    task_types: tuple[str, ...] = TASK_TYPES
    profiles: tuple[str, ...] = PROFILES
    provider_family: str = "swarm-runtime"
    model_id: str = "swarm-model-v1"

    def __post_init__(self) -> None:
        for name in ("provider_family", "model_id"):
            if not trimmed(getattr(self, name)):
                raise ValueError(f"{name} is blank, and a kernel would reject every result")

    @property
    def producer(self) -> str:
        """Who made what is proposed, as references say it."""
        return f"{self.provider_family}/{self.model_id}"


def capabilities_route(capabilities: Capabilities) -> tuple[Route, ...]:
    """What tells capabilities."""
    response = Response(200, msgspec.json.encode(capabilities))

    def tell(_: Request) -> Response:
        return response

    return (Route(method="GET", path="/capabilities", handler=tell),)
