"""One check of `fencepost doctor`: what was looked at, how it stands, and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.cli.failing import ADVICE, OTHERWISE
from app.domain.errors import FencepostError


class Verdict(StrEnum):
    """How a check ends; only a fault keeps Fencepost from working."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Check:
    """What one look found."""

    name: str
    verdict: Verdict
    says: str
    code: str | None = None  #: stable, for programs; None with OK
    then: str | None = None  #: what mends it; None with OK


def ok(name: str, says: str) -> Check:
    """Nothing to mend."""
    return Check(name, Verdict.OK, says)


def warning(name: str, code: str, says: str, then: str) -> Check:
    """It works, but somebody should know."""
    return Check(name, Verdict.WARNING, says, code, then)


def fault(name: str, code: str, says: str, then: str) -> Check:
    """It does not work until this is mended."""
    return Check(name, Verdict.FAULT, says, code, then)


def of_error(name: str, error: FencepostError) -> Check:
    """A refusal that any command would have met here."""
    then = error.advice or ADVICE.get(error.code, OTHERWISE)
    return fault(name, error.code, error.message, then)


def tried(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """What a look found; a look that is refused, or cannot look, is a fault of its own."""
    try:
        yield from look()
    except FencepostError as error:
        yield of_error(name, error)
    except OSError as error:
        yield fault(name, "host_failed", f"it cannot be looked at: {error}",
                    "run it as the user that FENCEPOST_HOME belongs to")  # fmt: skip
