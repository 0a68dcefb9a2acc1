"""Deciding a gate: the person's part of a workflow."""

from __future__ import annotations

from app.domain.board import StepEnded, StepState
from app.domain.digest import Json, text
from app.domain.errors import NoOpenGate, ReasonMissing
from app.domain.event import EventType
from app.domain.identity import WorldId
from app.domain.result import Outcome
from app.store import attempts
from app.store.engine import Store
from app.store.listening import wake
from app.transitions.advance import advance
from app.transitions.change import Change, Command
from app.transitions.perform import perform


def decide(
    store: Store, world: WorldId, actor: str, attempt: str, gate: str, reason: str,
    *, approved: bool, key: str | None = None,
) -> None:  # fmt: skip
    """Let the workflow go on past its gate, or end the attempt as failed there (O12).

    A gate that is not open, for whatever reason, is NoOpenGate; so is a second decision. A reason
    is asked for.
    """

    def act(change: Change) -> dict[str, Json]:
        if not reason.strip():
            raise ReasonMissing("a decision has a reason")
        attempts.get(change.tx, world, attempt)
        decision = "approved" if approved else "rejected"
        if not attempts.decide_gate(change.tx, world, attempt, gate, decision, actor, reason):
            raise NoOpenGate(f"attempt {attempt} has no open gate {gate}")
        state, outcome = (
            (StepState.SUCCEEDED, Outcome.GREEN) if approved else (StepState.FAILED, Outcome.FAILED)
        )
        change.tell(
            attempt, EventType.HUMAN, step=gate, state=decision, actor=actor, reason=text(reason)
        )
        change.decide(StepEnded(attempt, gate, state, outcome))
        advance(change, attempt)
        wake(change.tx)
        return {}

    request: dict[str, Json] = {"attempt": attempt, "gate": gate, "approved": approved}
    perform(store, world, Command("decide", actor, request, reason, key), act)
