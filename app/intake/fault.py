"""What is wrong with a work order file, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.errors import UnfitWorkOrder

MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file, counted from 1, in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that cannot be meant."""

    place: Place
    code: str  #: stable; docs/work-orders.md lists them
    message: str


class UnfitFile(UnfitWorkOrder):
    """A file with faults; they are kept, in the order of the file."""

    def __init__(self, message: str, faults: Sequence[Fault] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


def unfit(name: str, faults: Sequence[Fault]) -> UnfitFile:
    """The refusal of a file by its name; each fault is on a line of its own."""
    found = sorted(set(faults))
    lines = [
        f"{name}:{fault.place.line}:{fault.place.column}: {fault.message} ({fault.code})"
        for fault in found[:MOST_SHOWN]
    ]
    if (more := len(found) - MOST_SHOWN) > 0:
        lines.append(f"and {more} more")
    return UnfitFile("\n  ".join(["this is no work order:", *lines]), found)


class Unreadable(Exception):
    """The file cannot be read any further than this."""

    def __init__(self, line: int, column: int, code: str, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(Place(line, column), code, message)
