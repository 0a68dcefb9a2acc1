"""When work is tried again by itself: a new claim of the same activity, or a person (T09)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from app.domain.failure import FailureClass
from app.domain.identity import ActivityKey
from app.domain.work_order import RetryRule

_DAY = timedelta(days=1)  #: the database takes no longer pause


@dataclass(frozen=True, slots=True)
class Policy:
    """How often a failure of one class is followed by another claim, and after which pauses."""

    attempts: int  #: automatic ones in a row
    first: timedelta  #: pause; each next one is twice as long
    longest: timedelta


#: What is retried by itself; no other class is. After so many tries a person is asked.
POLICY: Mapping[FailureClass, Policy] = {
    FailureClass.TRANSIENT: Policy(9, timedelta(seconds=1), timedelta(minutes=5)),
    FailureClass.CAPACITY: Policy(9, timedelta(seconds=2), timedelta(minutes=10)),
    FailureClass.LOST_WORKER: Policy(9, timedelta(milliseconds=200), timedelta(minutes=1)),
}


def retry_after(
    failure: FailureClass, tries: int, rules: Mapping[str, RetryRule], key: ActivityKey
) -> timedelta | None:
    """The pause before the next claim; None: no other follows by itself.

    `tries`: the automatic ones that this class has had. `rules`: how the work order tightens the
    policy. Exponential with jitter, which is a function of activity and try, so that activities
    that failed together do not return together, and one of them is always treated alike.
    """
    policy = tightened(failure, rules)
    if policy is None or tries >= policy.attempts:
        return None
    return pause_after(policy.first, policy.longest, tries, key)


def pause_after(first: timedelta, longest: timedelta, tries: int, key: ActivityKey) -> timedelta:
    """A pause that is twice as long after each try, up to the longest, with that jitter."""
    pause = min(first * (1 << min(tries, 30)), longest)
    return min(pause * (1 + _jitter(key, tries) / 4), _DAY)


def tightened(failure: FailureClass, rules: Mapping[str, RetryRule]) -> Policy | None:
    """The policy of a class under a work order, which may only lower tries and lengthen pauses."""
    policy = POLICY.get(failure)
    rule = rules.get(failure)
    if policy is None or rule is None:
        return policy
    first = min(max(policy.first, rule.backoff or policy.first), _DAY)
    return Policy(min(policy.attempts, rule.attempts), first, max(first, policy.longest))


def _jitter(key: ActivityKey, tries: int) -> float:
    """A share from 0 up to 1."""
    name = f"{key.world}/{key.kind}/{key.activity}/{tries}"
    return int.from_bytes(sha256(name.encode()).digest()[:4], "big") / 2**32
