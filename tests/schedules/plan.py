"""What a seed does to one run beyond the forge's own faults: its workers, and its operator.

The faults of the forge and the deeds of people come from `doubles.github.schedule`, of the same
seed. Nothing here depends on the machine, or on what ran before.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.decision import Decision
from app.events import Moment

#: Decisions that the operator of one run takes; then it stays in the inbox.
MOST_DECISIONS = 4
_NOWHERE = 999  #: no request has this number


class Fate(StrEnum):
    """What becomes of a worker at a moment of its claim."""

    KILLED = "killed"  #: it does nothing any more
    FROZEN = "frozen"  #: its lease runs out, another claim takes over, and it comes back late
    CANCELED = "canceled"  #: a cancel of the attempt is committed, and it goes on


class Back(StrEnum):
    """When a frozen worker comes back."""

    RACING = "racing"  #: while the next claim decides
    HELD = "held"  #: once a person is asked, before the decision
    DECIDED = "decided"  #: after a decision, before the claim that follows
    LAST = "last"  #: when nothing is left to do


@dataclass(frozen=True, slots=True)
class Interruption:
    """A worker's fate at the nth time that a claim of the request comes to a moment."""

    moment: Moment
    nth: int
    fate: Fate
    back: Back = Back.LAST


@dataclass(frozen=True, slots=True)
class Plan:
    """One seed's interruptions; the operator decides by a die of its own."""

    seed: int
    interruptions: tuple[Interruption, ...]

    @property
    def operator(self) -> Operator:
        """Who decides what is held in this run."""
        return Operator(random.Random(f"operator of {self.seed}"))


class Operator:
    """Takes any decision that the protocol allows, wise or not."""

    def __init__(self, die: random.Random) -> None:
        self._die = die
        self._left = MOST_DECISIONS

    @property
    def is_silent(self) -> bool:
        """Whether every decision was taken."""
        return self._left == 0

    def decide(
        self, allowed: Mapping[Decision, str], numbers: Sequence[int]
    ) -> tuple[Decision, int | None] | None:
        """A decision, and the request that it adopts; None: it is left in the inbox."""
        if not self._left:
            return None
        self._left -= 1
        weights = {Decision.LOOK_AGAIN: 2, Decision.ABANDON: 1}
        choices = list(allowed)
        (one,) = self._die.choices(choices, [weights.get(each, 3) for each in choices])
        if one is not Decision.ADOPT:
            return one, None
        is_mistaken = not numbers or self._die.random() < 0.1
        return one, _NOWHERE if is_mistaken else self._die.choice(list(numbers))


def plan(seed: int) -> Plan:
    """None, one or two interruptions, most of them around the one call."""
    die = random.Random(f"plan of {seed}")
    moments = (Moment.CALLED, Moment.OPENED, Moment.DECIDED, Moment.HEAD_MOVED)
    made = []
    for _ in range(die.choices((0, 1, 2), (35, 45, 20))[0]):
        (moment,) = die.choices(moments, (45, 30, 15, 10))
        (fate,) = die.choices(list(Fate), (35, 45, 20))
        made.append(Interruption(moment, die.choice((1, 1, 1, 2)), fate, die.choice(list(Back))))
    return Plan(seed, tuple(made))
