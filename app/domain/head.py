"""The branches that a pull request was or will be asked for, as decisions leave them (PROTOCOL §6).

A call without an answer may still open a request, as long as its head is there. Who attests that it
never will has the head moved to a new name; who abandons has it removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.decision import UNRESOLVED, Decided, Decision, answered_for, was_abandoned
from app.domain.identity import Fence


@dataclass(frozen=True, slots=True)
class HeadMove:
    """A branch and where it goes, if it still is where it was last seen; None: absent."""

    branch: str
    expected: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Heads:
    """Every branch that a call of this activity may have named, and the one for the next call."""

    given_up: tuple[str, ...]  #: nothing may be opened for them any more
    current: str | None  #: None: no call follows
    answered_for: Fence  #: calls up to this fence have a person's word for an answer

    @property
    def names(self) -> tuple[str, ...]:
        return self.given_up if self.current is None else (*self.given_up, self.current)


def heads_of(head: str, decided: Sequence[Decided]) -> Heads:
    """The n-th attested absence leads to the n-th new name, whichever claim comes to it (G01)."""
    attested = [
        one for one in decided
        if one.code == UNRESOLVED and one.decision is Decision.ATTEST_ABSENCE
    ]  # fmt: skip
    names = (head, *(f"{head}-{number}" for number in range(2, len(attested) + 2)))
    vouched = answered_for(decided, UNRESOLVED)
    if was_abandoned(decided, UNRESOLVED):
        return Heads(names, None, vouched)
    return Heads(names[:-1], names[-1], vouched)


def moves(heads: Heads, tips: Mapping[str, str], sha: str, *, stop: bool) -> list[HeadMove]:
    """What is left to do so that nothing is opened for what was given up; all of it at once.

    The old name goes and the new one comes in one step: whoever is late with it finds the old one
    gone, and cannot bring anything back. A branch that is elsewhere than `sha` is left as it is.
    """
    gone = [HeadMove(name, sha, None) for name in heads.given_up if tips.get(name) == sha]
    new = heads.current
    if not heads.given_up or new is None or stop or new in tips:
        return gone
    return [*gone, HeadMove(new, None, sha)]


def astray(heads: Heads, tips: Mapping[str, str], sha: str) -> str | None:
    """A branch that was given up and is neither gone nor as published: somebody else's commits."""
    return next((name for name in heads.given_up if tips.get(name, sha) != sha), None)
