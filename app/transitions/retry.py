"""Retrying a task whose latest attempt failed."""

from __future__ import annotations

from app.domain.digest import Json, text
from app.domain.identity import WorldId
from app.domain.task import Standing, check_retry, check_runnable
from app.events import Moment, emit
from app.kinds.reading import string
from app.store.engine import Store
from app.transitions.change import Change, Command
from app.transitions.dispatch import Base, append
from app.transitions.perform import perform


def retry(
    store: Store, world: WorldId, actor: str, task_id: str, base: Base, reason: str,
    *, attempt: str | None = None, key: str | None = None,
) -> str:  # fmt: skip
    """Append another attempt of the same task and return its id; the failure stays (T03, T04).

    Refused is whatever may not be dispatched (T01, T02), an attempt that is active, a latest
    attempt that did not fail, a recovery reason under ten characters, and what is beyond the work
    order's budget: BudgetExhausted (T11). `attempt`: the failed one that is meant; another one than
    the latest is NotLatestAttempt.
    """
    why = text(reason).strip()

    def check(standing: Standing) -> None:
        check_runnable(standing)
        check_retry(standing, why, attempt)

    def act(change: Change) -> dict[str, Json]:
        return append(change, actor, task_id, base, why, check)

    request: dict[str, Json] = {"task": task_id, "base": base.branch}
    if attempt is not None:
        request["of"] = attempt
    answer = perform(store, world, Command("retry", actor, request, why, key), act)
    attempt_id = string(answer, "attempt")
    emit(Moment.DISPATCHED, world=world, task=task_id, attempt=attempt_id)
    return attempt_id
