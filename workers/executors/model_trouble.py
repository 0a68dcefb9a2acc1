"""What an answer of a model's API means, whatever vendor's it is (T09)."""

from __future__ import annotations

from workers.executors.base import Problem

_CODES = {401: "model_unauthorized", 403: "model_unauthorized", 429: "model_limited"}


def of_status(status: int, detail: str) -> Problem:
    """The problem behind an HTTP status that is no success."""
    if status >= 500 or status == 408:
        return Problem("model_unavailable", detail)
    return Problem(_CODES.get(status, "model_refused"), detail)
