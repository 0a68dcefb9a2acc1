"""Deciding what is held as unknown: a person's word, and another claim that acts on it."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.decision import (
    AlreadyDecided,
    Decided,
    Decision,
    NoOpenUnknown,
    Proof,
    check,
)
from app.domain.digest import Json, text
from app.domain.errors import ReasonMissing
from app.domain.event import EventType
from app.domain.identity import ActivityKey, DeliveryNumber, Fence, Kind
from app.domain.recovery import Stop
from app.events import Moment, emit
from app.kinds import pull_request
from app.kinds.request import step_of
from app.store import activities, unknowns
from app.store.deliveries import Cause
from app.store.engine import Store, Tx
from app.store.listening import wake
from app.store.unknowns import Held
from app.transitions.change import Change, Command
from app.transitions.deliver import deliver_within
from app.transitions.perform import perform


@dataclass(frozen=True, slots=True)
class Word:
    """What a person says of one unknown, and why."""

    decision: Decision
    reason: str
    adopts: int | None = None  #: the number of the request, with `adopt`


def proof_of(kind: Kind) -> Proof:
    """How the effects of a kind are proven."""
    return Proof.CALLS if kind == pull_request.NAME else Proof.REF


def resolve(
    store: Store, actor: str, key: ActivityKey, fence: Fence, word: Word, *,
    idempotency: str | None = None,
) -> None:  # fmt: skip
    """Decide an unknown, once, and let another claim follow; what it finds outranks the decision.

    Refused, with nothing changed: NoOpenUnknown, AlreadyDecided (of two at once, one is first),
    DecisionNotAllowed, ReasonMissing, and BadInput for a request named with any decision but
    `adopt`. The receipt says who, why and what; so does the row.
    """
    sent: list[DeliveryNumber] = []

    def act(change: Change) -> dict[str, Json]:
        tx = change.tx
        activity = activities.lock(tx, key)  # lock first, look, then change
        held = allowed_within(tx, key, fence, word)
        one = Decided(fence, held.code, word.decision, word.adopts)
        unknowns.decide(tx, key, one, actor, text(word.reason), change.world.tick)
        if word.decision is Decision.ABANDON:
            activities.set_stop(tx, key, Stop.ABANDON)
        if (number := deliver_within(tx, key, Cause.DECIDED)) is not None:
            sent.append(number)
        change.tell(
            activity.attempt, EventType.HUMAN, step=step_of(activity.request),
            state=word.decision, actor=actor, reason=text(word.reason), code=held.code,
        )  # fmt: skip
        wake(tx)
        return {"attempt": activity.attempt, "code": held.code}

    request: dict[str, Json] = {
        "kind": key.kind, "activity": key.activity, "fence": fence, "decision": word.decision,
        "adopts": word.adopts,
    }  # fmt: skip
    command = Command("resolve", actor, request, word.reason, idempotency)
    perform(store, key.world, command, act)
    if sent:  # not where the key was used for this before
        emit(Moment.RESOLVED, **key.facts(), fence=fence, decision=word.decision)
        emit(Moment.REPLACED, **key.facts(), delivery=sent[0], cause=Cause.DECIDED)


def allowed_within(tx: Tx, key: ActivityKey, fence: Fence, word: Word) -> Held:
    """The unknown as it stands, if it may be decided so."""
    if not word.reason.strip():
        raise ReasonMissing("a decision has a reason")
    held = unknowns.get(tx, key, fence)
    if held is None:
        raise NoOpenUnknown(f"claim {fence} of {key} was not held for a person")
    if held.decision is not None:
        raise AlreadyDecided(
            f"{held.decided_by} has decided claim {fence} of {key} already: {held.decision}"
        )
    check(proof_of(key.kind), held.code, word.decision, word.adopts)
    return held
