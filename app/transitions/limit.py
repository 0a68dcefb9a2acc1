"""Limiting what may run, what Redis may hold, and what may wait."""

from __future__ import annotations

from app.domain.errors import BadInput, NotFound, ReasonMissing
from app.domain.identity import Kind, WorldId
from app.events import Moment, emit
from app.kinds.registry import KINDS
from app.store import limits, outbox
from app.store.engine import Store
from app.store.limits import What
from app.store.listening import wake

#: What a limit may be at most, and a window.
MOST, MOST_IN_WINDOW = 1_000_000_000, 100_000


def limit(
    store: Store, what: What, value: int | None, actor: str, reason: str,
    *, queue: Kind | None = None, world: WorldId | None = None,
) -> None:  # fmt: skip
    """Decide a limit anew; None lifts it. It holds at once, in every process.

    What is out or runs already stays. Without a queue a limit on what runs is one on all queues
    together; without a world a limit on what waits is one on each. A number that cannot be meant
    is BadInput, a queue that is none NotFound.
    """
    check_reason(reason)
    if queue is not None:
        check_queue(queue)
    most = MOST_IN_WINDOW if what is What.WINDOW else MOST
    if value is not None and not 1 <= value <= most:
        raise BadInput(
            f"{what}: a number from 1 to {most}, not {value}",
            hint="to let nothing new begin: `fencepost queues pause`",
        )
    with store.begin() as tx:
        outbox.lock(tx)
        limits.decide(tx, what, value, actor, reason, queue=queue, world=world)
        wake(tx)
    facts: dict[str, str | int] = {"queue": queue or "all"}
    if world is not None:
        facts["world"] = world
    said = "none" if value is None else value
    emit(Moment.LIMITED, what=what, value=said, by=actor, **facts)


def check_queue(queue: Kind) -> None:
    """Refuse a queue that there is not."""
    if queue not in KINDS:
        raise NotFound(f"there is no queue {queue}", hint=f"there are: {', '.join(KINDS)}")


def check_reason(reason: str) -> None:
    """Refuse a decision without a reason."""
    if not reason.strip():
        raise ReasonMissing("a decision about queues is kept with its reason", hint="give --reason")
