"""An executor for demonstrations, which says what it was asked."""

from __future__ import annotations

from typing import Any

__all__ = ["echo"]


def echo(request: dict[str, Any]) -> dict[str, Any]:
    """The answer is the profile and the prompt, with ``::`` between them."""
    inputs = request.get("inputs")
    prompt = inputs.get("prompt", "") if isinstance(inputs, dict) else ""
    return {"output": {"answer": f"{request.get('profile', '')}::{prompt}"}}
