"""When a task may have an attempt, as rules over what was read under the world's lock."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from app.domain import errors
from app.domain.board import DISPATCHABLE, AttemptOutcome, Column, WorkOrderState

#: Ends of an attempt after which a retry makes sense (T03).
FAILED = frozenset({AttemptOutcome.FAILED, AttemptOutcome.DEAD})

SHORTEST_REASON = 10  #: characters of a recovery reason, after trimming

_NOT_FROM: Mapping[Column, type[errors.WrongState]] = {
    Column.INBOX: errors.TaskInInbox,
    Column.REVIEW: errors.TaskInReview,
    Column.DONE: errors.TaskDone,
    Column.CANCELED: errors.TaskCanceled,
}


@dataclass(frozen=True, slots=True)
class Latest:
    """A task's newest attempt."""

    id: str
    outcome: AttemptOutcome | None  #: none while it is active


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a task before another attempt of it is appended."""

    task: str
    column: Column
    work_order: str
    order_state: WorkOrderState
    may_run: bool  #: what the work order says now is what was approved, and that stands
    canonical_child: str | None
    latest: Latest | None
    like_ready: Set[Column] = frozenset()


def check_runnable(standing: Standing, work_order: str | None = None) -> None:
    """Refuse a task that may have no attempt now, each with a code of its own (T01, T02, T05).

    `work_order`: the one that the caller believes the task belongs to.
    """
    task = standing.task
    if work_order is not None and work_order != standing.work_order:
        raise errors.TaskOfAnotherWorkOrder(f"task {task} does not belong to {work_order}")
    if (child := standing.canonical_child) is not None:
        raise errors.NotCanonicalChild(
            f"task {task} has a canonical child, {child}", hint=f"name {child} instead"
        )
    if not standing.may_run:
        raise errors.NotApproved(f"work order {standing.work_order} is {standing.order_state}")
    if standing.column not in DISPATCHABLE and standing.column not in standing.like_ready:
        raise _NOT_FROM[standing.column](f"task {task} hangs in {standing.column}")
    if standing.latest is not None and standing.latest.outcome is None:
        raise errors.ActiveAttempt(f"task {task} has an active attempt, {standing.latest.id}")


def check_first(standing: Standing) -> None:
    """Refuse a dispatch of a task that was attempted before: PriorAttempt (T03)."""
    if (latest := standing.latest) is None:
        return
    raise errors.PriorAttempt(
        f"attempt {latest.id} of task {standing.task} ended as {latest.outcome}",
        hint=f"`fencepost tasks retry {standing.task} --reason WHY`"
        if latest.outcome in FAILED
        else errors.DidNotFail.hint,
    )


def check_retry(standing: Standing, reason: str, attempt: str | None = None) -> None:
    """Refuse a retry without a failure to recover from, or without a reason for it (T03).

    A canceled or abandoned attempt did not fail: a person ended it, so going on after all is new
    work, a canonical child. `attempt`: the one that the caller believes to be the latest.
    """
    if len(reason.strip()) < SHORTEST_REASON:
        raise errors.NoRecoveryReason(
            f"a recovery reason has at least {SHORTEST_REASON} characters, not {reason.strip()!r}"
        )
    if (latest := standing.latest) is None:
        raise errors.NothingToRetry(f"task {standing.task} has no attempt yet")
    if attempt is not None and attempt != latest.id:
        raise errors.NotLatestAttempt(
            f"{attempt} is not the latest attempt of task {standing.task}, {latest.id} is"
        )
    if latest.outcome not in FAILED:
        raise errors.DidNotFail(
            f"attempt {latest.id} of task {standing.task} ended as {latest.outcome}"
        )
