"""`forge.pull_request`: look, adopt or create once, record (PROTOCOL §6)."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from app.domain.digest import Json, canonical, digest, text
from app.domain.errors import ForgeRefused, ForgeUncertain, RequestExists
from app.domain.pull_request import (
    Adopt,
    AskPerson,
    Create,
    EndCanceled,
    ForgeRequest,
    KeepLooking,
    Lineage,
    permit,
)
from app.domain.result import Observation, Outcome
from app.events import Moment, emit
from app.kinds.ending import ending
from app.kinds.request import PullRequestRequest, pull_request_request
from app.store import activities, evidence
from app.store.evidence import EffectCall
from app.transitions.answer import answer
from app.transitions.bind import bind
from app.transitions.call import call
from app.transitions.hold import hold
from app.transitions.record import record
from app.transitions.release import release
from workers.forges import FORGES
from workers.forges.base import Forge, Place, RequestDraft
from workers.keeper import boot_time
from workers.worker import Run

_LOOK_EVERY = timedelta(milliseconds=500)


def publish(run: Run) -> None:
    """Bind, look, and do what the table permits, until there is an ending."""
    request = pull_request_request(run.activity.request)
    forge = FORGES[request.forge](Place(run.worker.mirrors, request.repository))
    bind(run.store, run.claim, request.operation)
    lineage = Lineage(request.operation, request.head_sha, request.base)
    looked_since, unanswered = boot_time(), False
    made: ForgeRequest | None = None
    while True:
        found = [made] if made else forge.find(request.head)
        calls, stopped = _calls(run)
        unresolved = unanswered or any(one.outcome is None for one in calls)
        permission = permit(
            found, lineage, unresolved=unresolved, stop=stopped,
            window_passed=boot_time() - looked_since > forge.settle_window.total_seconds(),
        )  # fmt: skip
        emit(Moment.DECIDED, **run.claim.facts(), permission=type(permission).__name__)
        match permission:
            case Adopt(request=known):
                return _adopt(run, known, calls)
            case Create():
                answered = _create(run, request, forge)
                if isinstance(answered, Observation):
                    record(run.store, run.claim, answered)
                    return None
                # refused or uncertain: what is there must show itself; no second call either way
                made, looked_since, unanswered = answered, boot_time(), True
            case KeepLooking():
                if run.held.leave.wait(_LOOK_EVERY.total_seconds()):
                    return _leave(run)
            case AskPerson(trouble, reason):
                return hold(run.store, run.claim, trouble, reason)
            case EndCanceled():
                record(run.store, run.claim, _ending_of(run))
                return None
            case _:
                assert_never(permission)


def _leave(run: Run) -> None:
    if not run.held.is_lost:
        release(run.store, run.claim, "left to the next claim", timedelta(0))


def _calls(run: Run) -> tuple[list[EffectCall], bool]:
    with run.store.begin() as tx:
        calls = evidence.calls_of(tx, run.claim.key)
        stopped = activities.get(tx, run.claim.key).stop is not None
    return calls, stopped


def _create(
    run: Run, request: PullRequestRequest, forge: Forge
) -> ForgeRequest | Observation | None:
    """One call under one row: what it made, how it failed for good, or None: look again.

    What it made is judged like any other: its head may have moved before the forge took it.
    """
    draft = RequestDraft(request.title, request.body, request.head, request.base, request.operation)
    sent = canonical(
        {
            "title": draft.title, "head": draft.head, "base": draft.base,
            "body_digest": digest(draft.marked_body.encode()),
        }
    )  # fmt: skip
    row = call(run.store, run.claim, "create_pull_request", sent)
    try:
        made = forge.create(draft)
    except RequestExists as fault:
        answer(run.store, run.claim, row, "refused", _evidence(fault.message))
        return None
    except ForgeRefused as fault:
        answer(run.store, run.claim, row, "failed", _evidence(fault.message))
        return ending(Outcome.FAILED, fault.code, fault.message)
    except ForgeUncertain:
        return None  # the call stays unresolved: look, and never send another
    emit(Moment.OPENED, **run.claim.facts(), number=made.number)
    answer(run.store, run.claim, row, "created", canonical(_shown(made)))
    return made


def _adopt(run: Run, known: ForgeRequest, calls: list[EffectCall]) -> None:
    for one in calls:
        if one.outcome is None:
            answer(run.store, run.claim, one, "adopted", canonical(_shown(known)))
    record(run.store, run.claim, _observation(known))


def _observation(request: ForgeRequest) -> Observation:
    value: dict[str, Json] = {
        "v": 1, "outcome": Outcome.GREEN, "pull_request": _shown(request), "frictions": [],
    }  # fmt: skip
    return Observation(Outcome.GREEN, canonical(value))


def _shown(request: ForgeRequest) -> dict[str, Json]:
    """What identifies the request; its state changes later and is no part of it."""
    return {
        "number": request.number,
        "url": text(request.url),
        "head": text(request.head),
        "head_sha": request.head_sha,
        "base": text(request.base),
    }


def _evidence(message: str) -> bytes:
    return canonical({"message": text(message)[:4000]})


def _ending_of(run: Run) -> Observation:
    with run.store.begin() as tx:
        stop = activities.get(tx, run.claim.key).stop
    if stop == "close_only":
        return ending(Outcome.DEAD, "poison", "no call is left, and there is no answer")
    outcome = Outcome.ABANDONED if stop == "abandon" else Outcome.CANCELED
    return ending(outcome, outcome.value, "asked for before any call")
