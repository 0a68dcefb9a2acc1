"""A legal transition: one row of a table from which code decides and docs/states.md is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Hand(StrEnum):
    """Who may do it."""

    PERSON = "person"
    PROCESSOR = "processor"  #: a dispatch, or what follows from a result inside a tick


@dataclass(frozen=True, slots=True)
class Transition:
    """From one state to another, by which hand, and what it means."""

    before: StrEnum
    after: StrEnum
    hand: Hand
    meaning: str
