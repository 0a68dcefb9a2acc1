"""`forge.checks`: one claim is one look; between looks nobody holds a slot (O10, O12).

A look changes nothing, so it needs no row before it, and what ends it costs no try.
"""

from __future__ import annotations

from datetime import timedelta

from app.domain.checks import (
    WAITING,
    Conclusion,
    Sighting,
    Watch,
    conclude,
    kept,
    next_look,
    out_of_time,
    pending,
)
from app.domain.digest import Json, text
from app.domain.errors import RemoteUnreadable
from app.domain.event import EventType
from app.domain.pull_request import ForgeLimited
from app.domain.recovery import Stop
from app.domain.result import Observation, Outcome
from app.events import Moment, emit
from app.kinds.ending import ending, observation_of
from app.kinds.request import ChecksRequest, checks_request
from app.store import activities, claims
from app.transitions.record import record
from app.transitions.release import release
from workers.forges import FORGES
from workers.giving_back import give_back
from workers.worker import Run


def watch(run: Run) -> None:
    """Look once: record what concluded, else hand the slot back until the next look.

    After a stop there is no look. A forge that does not answer, or sends us away, is waited for
    like checks that go on; the step's own timeout bounds all of it, by the database's clock.
    """
    if run.activity.stop is not None:
        return _record(run, _ended(run.activity.stop))
    request = checks_request(run.activity.request)
    forge = FORGES[request.forge](run.worker.place(request.repository, request.url))
    how = Watch(request.head_sha, request.timeout, forge.checks_grace)
    try:
        seen = forge.sight(request.number, request.head_sha)
    except ForgeLimited as fault:
        waited, _ = _since_admission(run)
        over = out_of_time(how, waited, fault.message)
        return give_back(run, fault) if over is None else _record(run, _observed(request, over))
    except RemoteUnreadable as fault:
        waited, looks = _since_admission(run)
        over = out_of_time(how, waited, fault.message)
        return _go_on(run, how, over, Look(request, None, fault.message, waited, looks))
    waited, looks = _since_admission(run)
    said = conclude(how, seen, waited)
    return _go_on(run, how, said, Look(request, seen, pending(seen), waited, looks))


class Look:
    """What one look came to."""

    def __init__(
        self, request: ChecksRequest, seen: Sighting | None, told: str, waited: timedelta,
        looks: int,
    ) -> None:  # fmt: skip
        self.request, self.seen, self.told = request, seen, told
        self.waited, self.looks = waited, looks


def _go_on(run: Run, how: Watch, said: Conclusion | None, look: Look) -> None:
    with run.store.ask() as tx:
        stop = activities.get(tx, run.claim.key).stop
    if stop is not None:  # it was asked for while we looked
        return _record(run, _ended(stop))
    name = "Wait" if said is None else "Conclude"
    emit(Moment.DECIDED, **run.claim.facts(), permission=name)
    if said is not None:
        return _record(run, _observed(look.request, said, look.seen))
    asked = timedelta(0) if look.seen is None else look.seen.pause
    pause = next_look(how, run.claim.key, look.looks, look.waited, asked)
    return release(run.store, run.claim, f"{WAITING}: {look.told}", pause)


def _since_admission(run: Run) -> tuple[timedelta, int]:
    """For how long it has waited, and how many looks there were; read after the look."""
    with run.store.begin() as tx:
        return activities.age(tx, run.claim.key), claims.looks(tx, run.claim.key)


def _observed(
    request: ChecksRequest, said: Conclusion, seen: Sighting | None = None
) -> Observation:
    """What is recorded: every check, the head that was seen, and what is wrong."""
    checks = [] if seen is None else seen.checks
    frictions: list[Json] = []
    if said.outcome is Outcome.FAILED:
        frictions = [{"code": said.code, "detail": text(said.detail)[:2000]}]
    value: dict[str, Json] = {
        "v": 1,
        "outcome": said.outcome,
        "watch": {
            "request": request.number,
            "head_sha": request.head_sha,
            "seen_head": None if seen is None else text(seen.head_sha),
            "state": None if seen is None else seen.request,
            "count": len(checks),
            "note": said.note,
        },
        "checks": kept(checks),
        "frictions": frictions,
    }
    return observation_of(said.outcome, value)


def _ended(stop: Stop) -> Observation:
    if stop is Stop.CANCEL:
        return ending(Outcome.CANCELED, "canceled", "a cancel was asked for")
    if stop is Stop.ABANDON:
        return ending(Outcome.ABANDONED, "abandoned", "a person abandoned it")
    return ending(Outcome.DEAD, "poison", "no look is left")


def _record(run: Run, observation: Observation) -> None:
    run.journal.tell(EventType.COMPLETION, outcome=observation.outcome)
    record(run.store, run.claim, observation)
