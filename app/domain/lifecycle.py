"""The life of a work order: which verb leads from which state to which; nothing else is legal."""

from __future__ import annotations

from app.domain.board import WorkOrderState
from app.domain.digest import Digest
from app.domain.errors import WrongState
from app.domain.transition import Hand, Transition

_DRAFT, _SUBMITTED = WorkOrderState.DRAFT, WorkOrderState.SUBMITTED
_APPROVED, _REJECTED = WorkOrderState.APPROVED, WorkOrderState.REJECTED
_ACTIVE = WorkOrderState.ACTIVE
_COMPLETED, _CANCELED = WorkOrderState.COMPLETED, WorkOrderState.CANCELED

#: Every legal transition; its meaning is the verb. A revision is a draft, and needs an approval.
LIFE = (
    Transition(_DRAFT, _SUBMITTED, Hand.PERSON, "submit"),
    Transition(_DRAFT, _DRAFT, Hand.PERSON, "revise"),
    Transition(_DRAFT, _CANCELED, Hand.PERSON, "cancel"),
    Transition(_SUBMITTED, _APPROVED, Hand.PERSON, "approve"),
    Transition(_SUBMITTED, _REJECTED, Hand.PERSON, "reject"),
    Transition(_SUBMITTED, _DRAFT, Hand.PERSON, "revise"),
    Transition(_SUBMITTED, _CANCELED, Hand.PERSON, "cancel"),
    Transition(_REJECTED, _DRAFT, Hand.PERSON, "revise"),
    Transition(_REJECTED, _CANCELED, Hand.PERSON, "cancel"),
    Transition(_APPROVED, _ACTIVE, Hand.PROCESSOR, "dispatch"),
    Transition(_APPROVED, _DRAFT, Hand.PERSON, "revise"),
    Transition(_APPROVED, _CANCELED, Hand.PERSON, "cancel"),
    Transition(_ACTIVE, _ACTIVE, Hand.PROCESSOR, "dispatch"),
    Transition(_ACTIVE, _DRAFT, Hand.PERSON, "revise"),
    Transition(_ACTIVE, _COMPLETED, Hand.PERSON, "complete"),
    Transition(_ACTIVE, _CANCELED, Hand.PERSON, "cancel"),
)

VERBS = tuple(dict.fromkeys(one.meaning for one in LIFE))

_LEADS_TO = {(one.before, one.meaning): WorkOrderState(one.after) for one in LIFE}


def after(work_order: str, state: WorkOrderState, verb: str) -> WorkOrderState:
    """The state that a verb leads to; WrongState, naming the verbs that would be legal."""
    if (new := _LEADS_TO.get((state, verb))) is not None:
        return new
    raise WrongState(
        f"work order {work_order} is {state}: `{verb}` makes no sense",
        hint=f"what may be done with it: {', '.join(verbs_from(state)) or 'nothing, it is over'}",
    )


def verbs_from(state: WorkOrderState) -> list[str]:
    """What may be done with a work order in this state."""
    return [verb for before, verb in _LEADS_TO if before == state]


def may_run(state: WorkOrderState, digest: Digest, approved: Digest | None) -> bool:
    """Whether its tasks may be dispatched: exactly what was approved, while that stands."""
    return (state, "dispatch") in _LEADS_TO and digest == approved
