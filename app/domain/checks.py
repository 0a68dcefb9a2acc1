"""Checks at a forge: what is seen of one commit, and when that is the last word (O10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from app.domain.digest import Json, text
from app.domain.identity import ActivityKey
from app.domain.pull_request import RequestState
from app.domain.result import Outcome
from app.domain.retry import pause_after

#: How a release says that a look was made and nothing had concluded; it is no failed try.
WAITING = "waiting"

#: How long a step watches, where its work order does not say.
TIMEOUT = timedelta(hours=2)
#: Between two looks: the first pause, and the longest.
FIRST, LONGEST = timedelta(seconds=5), timedelta(seconds=60)

#: How a check concludes well.
GOOD = ("success", "neutral", "skipped")
_MOST_NAMED = 5
_MOST_KEPT = 200
_LONGEST_TEXT = 500


class Source(StrEnum):
    """What a check is at its forge."""

    STATUS = "status"
    CHECK_RUN = "check_run"
    SUITE = "suite"


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a commit, as the forge shows it."""

    name: str
    source: Source
    state: str
    conclusion: str | None  #: None: it goes on
    url: str

    @property
    def is_over(self) -> bool:
        return self.conclusion is not None

    @property
    def is_bad(self) -> bool:
        """Whether it has concluded, and in no way that is known to be good."""
        return self.is_over and self.conclusion not in GOOD

    def value(self) -> dict[str, Json]:
        """The canonical form."""
        return {
            "name": text(self.name)[:_LONGEST_TEXT], "source": self.source,
            "state": text(self.state)[:_LONGEST_TEXT],
            "conclusion": self.conclusion and text(self.conclusion)[:_LONGEST_TEXT],
            "url": text(self.url)[:_LONGEST_TEXT],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sighting:
    """One look at a request and at the checks of a commit."""

    request: RequestState
    head_sha: str  #: of the request, now
    checks: Sequence[Check] = ()
    pause: timedelta = timedelta(0)  #: no look sooner than after this, as the forge asks


@dataclass(frozen=True, slots=True)
class Watch:
    """How a step watches."""

    sha: str  #: the one commit whose checks count
    timeout: timedelta  #: since the admission
    grace: timedelta  #: within it checks may still appear


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The last word: green, or failed with a code of its own."""

    outcome: Outcome
    code: str = ""
    detail: str = ""
    note: str | None = None


def conclude(watch: Watch, seen: Sighting, waited: timedelta) -> Conclusion | None:
    """What follows from a look; None: nothing has concluded, and there is time to look again.

    One bad check is enough to fail. Green is said once the grace is over, for a check that comes a
    moment later would be missed before.
    """
    if seen.request is RequestState.CLOSED:
        return _failed("request_closed", "the request was closed, and is not merged")
    if seen.head_sha != watch.sha:
        return _failed(
            "request_head_replaced", f"the request's head is {seen.head_sha}, not {watch.sha}"
        )
    bad = [check for check in seen.checks if check.is_bad]
    if bad:
        told = ", ".join(f"{check.name}: {check.conclusion}" for check in bad[:_MOST_NAMED])
        return _failed("forge_check_failed", f"{told}{_and_more(bad)}")
    going = [check for check in seen.checks if not check.is_over]
    if not going and waited >= min(watch.grace, watch.timeout):
        return Conclusion(Outcome.GREEN, note=None if seen.checks else "the commit has no checks")
    return out_of_time(watch, waited, pending(seen))


def out_of_time(watch: Watch, waited: timedelta, what: str) -> Conclusion | None:
    """The failure of a step whose time is over, with what it waited for; else None."""
    if waited < watch.timeout:
        return None
    return _failed("checks_timed_out", f"after {watch.timeout.total_seconds():g} s: {what}")


def pending(seen: Sighting) -> str:
    """What is waited for, in words."""
    going = [check for check in seen.checks if not check.is_over]
    if not going:
        return f"{len(seen.checks)} checks have passed, and others may still appear"
    named = ", ".join(check.name for check in going[:_MOST_NAMED])
    return f"{len(going)} of {len(seen.checks)} checks go on: {named}{_and_more(going)}"


def kept(checks: Sequence[Check]) -> list[Json]:
    """The checks that are recorded: all of them, or of very many the worst."""
    ordered = sorted(
        checks, key=lambda one: (not one.is_bad, one.is_over, one.source, one.name, one.url)
    )
    return [check.value() for check in ordered[:_MOST_KEPT]]


def next_look(
    watch: Watch, key: ActivityKey, looks: int, waited: timedelta, asked: timedelta = timedelta(0)
) -> timedelta:
    """The pause before the next look: longer after each, and no shorter than the forge asks.

    A look comes when the grace is over, and when the timeout is.
    """
    pause = pause_after(FIRST, LONGEST, looks, key)
    ends = [end - waited for end in (watch.grace, watch.timeout) if end > waited]
    return max(min([pause, *ends]), asked, timedelta(milliseconds=200))


def _failed(code: str, detail: str) -> Conclusion:
    return Conclusion(Outcome.FAILED, code, detail)


def _and_more(those: Sequence[Check]) -> str:
    return f" and {len(those) - _MOST_NAMED} more" if len(those) > _MOST_NAMED else ""
