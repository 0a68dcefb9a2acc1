"""Making an activity's next delivery."""

from __future__ import annotations

from datetime import timedelta

from app.domain.budget import budget_of
from app.domain.failure import FailureClass
from app.domain.identity import ActivityKey, DeliveryNumber
from app.domain.recovery import Stop
from app.domain.retry import retry_after
from app.events import Moment, emit
from app.kinds.registry import KINDS
from app.kinds.request import retry_rules
from app.store import activities, attempts, board, budget, claims, deliveries, hints, unknowns
from app.store.activities import Activity
from app.store.deliveries import Cause
from app.store.engine import Store, Tx

#: Claims in a row that end without a start; then a person is asked.
MOST_FRUITLESS = 10

#: What a delivery after a failed claim is made for; nobody asked for it.
_AGAIN = (Cause.LOST_WORKER, Cause.RELEASED)


def deliver(store: Store, key: ActivityKey, cause: Cause, delay: timedelta = timedelta(0)) -> bool:
    """Replace the delivery that is under way, or add one where none is; False: nothing to do.

    An activity that is held, has its result, or has a live claim gets none. One whose claims keep
    ending without a start is held instead, and so is one that has lost more workers than its work
    order allows (T09); what was stopped is only looked at and closed, and that is no retry. Once
    the work order's time is used up the next claim may only look and close (T11). What only looks
    has a time of its own; a hint that came while it looked lets it look again at once.
    """
    with store.begin() as tx:
        number = deliver_within(tx, key, cause, delay)
    if number is None:
        return False
    emit(
        Moment.REPLACED, **key.facts(), delivery=number, cause=cause,
    )  # fmt: skip
    return True


def deliver_within(
    tx: Tx, key: ActivityKey, cause: Cause, delay: timedelta = timedelta(0)
) -> DeliveryNumber | None:
    """The same inside a transaction of the caller's, who tells of it after the commit."""
    activity = activities.lock(tx, key)  # lock first, look, then change
    if not activities.is_waiting(tx, key):
        return None
    if claims.fruitless(tx, key) >= MOST_FRUITLESS:
        unknowns.open_for_control(tx, key, "claims_keep_ending", "no claim reached a start")
        return None
    only_looks, is_free = KINDS[key.kind].only_looks, activity.stop is None
    if cause in _AGAIN and is_free and not only_looks and _is_out_of_time(tx, activity):
        activities.set_stop(tx, key, Stop.CLOSE_ONLY)
    elif cause is Cause.LOST_WORKER and is_free:
        pause = _after_a_loss(tx, activity)
        if pause is None:
            why = "lost_worker: no automatic try is left"
            unknowns.open_for_control(tx, key, "claims_keep_ending", why)
            return None
        delay = max(delay, pause)
    elif only_looks and not is_free:
        delay = timedelta(0)
    elif only_looks and hints.came_meanwhile(tx, key):
        delay = min(delay, hints.PAUSE)
    deliveries.replace_open(tx, key)
    return deliveries.add(tx, key, cause, KINDS[key.kind].limits.deadline, delay)


def _is_out_of_time(tx: Tx, activity: Activity) -> bool:
    """Whether the wall time of the work order is used up, this attempt's included."""
    world = activity.key.world
    task = board.task(tx, world, str(attempts.get(tx, world, activity.attempt).task_id))
    bound = budget_of(board.work_order(tx, world, task.work_order).specification).wall_time
    return bound is not None and budget.time_spent(tx, world, task.work_order) >= bound


def _after_a_loss(tx: Tx, activity: Activity) -> timedelta | None:
    """The pause before the claim that follows a lost one; None: none follows by itself."""
    tried = claims.tries(tx, activity.key, FailureClass.LOST_WORKER) - 1  # without this loss
    rules = retry_rules(activity.request)
    return retry_after(FailureClass.LOST_WORKER, max(0, tried), rules, activity.key)
