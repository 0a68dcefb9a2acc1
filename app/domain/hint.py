"""What a forge says has happened: a reason to look sooner, and nothing else (G07)."""

from __future__ import annotations

from dataclasses import dataclass

#: The events that are understood; whatever else comes is not heeded.
EVENTS = ("check_run", "check_suite", "status", "pull_request", "push", "ping")


@dataclass(frozen=True, slots=True)
class Hint:
    """One signed delivery of a webhook."""

    delivery: str  #: its id, the same when it is sent again
    event: str
    repository: str | None  #: address, in the one form in which it is kept; None: no known one
    shas: tuple[str, ...]  #: commits that it is about
