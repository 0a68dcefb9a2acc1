"""Limits and pauses of queues: decisions of the control plane, the newest of which holds (Q02)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import and_, func, insert, select
from sqlalchemy.dialects.postgresql import distinct_on

from app.domain.board import StepState
from app.domain.bounds import NOT_AT_WORK
from app.domain.identity import Kind, WorldId
from app.domain.window import Bounds, Load, window
from app.kinds.registry import KINDS
from app.store.engine import Tx
from app.store.schema import claims, limits, principals, steps, unknowns


class What(StrEnum):
    """What a decision is about."""

    RUNNING = "running"  #: how many activities of a queue, or of all, may be out or run
    WINDOW = "window"  #: how many messages a queue may hold in Redis
    WAITING = "waiting"  #: how much work may wait in a world, or in every world
    PAUSE = "pause"  #: whether a queue lets nothing out


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decided what, when, and why."""

    what: What
    queue: Kind | None  #: None: all together
    world: WorldId | None  #: None: every world
    value: int | None  #: None: no limit, the usual window, no pause
    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The decisions that hold."""

    decisions: Mapping[tuple[What, Kind | None, WorldId | None], Decision]

    def running(self, queue: Kind | None) -> int | None:
        """How many activities may run at once, of a queue or of all; None: no limit.

        Nothing decided: as few as the kind is content with.
        """
        if queue is not None and (What.RUNNING, queue, None) not in self.decisions:
            return KINDS[queue].few
        return self._value(What.RUNNING, queue)

    def window(self, queue: Kind) -> int | None:
        """The window of a queue; None: the usual one."""
        return self._value(What.WINDOW, queue)

    def is_any_on_running(self, queues: Iterable[Kind]) -> bool:
        """Whether anybody has to count what runs, to know what these may send."""
        return any(self.running(one) is not None for one in (None, *queues))

    def left(self, loads: Mapping[Kind, Load]) -> int | None:
        """How many more activities all queues together may let run; None: no limit."""
        most = self.running(None)
        under_way = sum(load.out + load.running for load in loads.values())
        return None if most is None else most - under_way

    def bounds(self, queue: Kind, slots: int, left: int | None) -> Bounds:
        """What a queue may have under way, where so many slots live."""
        size = window(slots, self.window(queue))
        return Bounds(size, self.running(queue), left, self.pause(queue) is not None)

    def pause(self, queue: Kind) -> Decision | None:
        """Who paused a queue, if it is paused."""
        found = self.decisions.get((What.PAUSE, queue, None))
        return found if found is not None and found.value is not None else None

    def _value(self, what: What, queue: Kind | None, world: WorldId | None = None) -> int | None:
        found = self.decisions.get((what, queue, world))
        return None if found is None else found.value


def current(tx: Tx) -> Limits:
    """The decisions that hold now."""
    newest = select(func.max(limits.c.limit_id)).group_by(
        limits.c.what, limits.c.queue, limits.c.world_id
    )
    rows = tx.execute(
        select(limits, principals.c.name)
        .join(principals, principals.c.principal_id == limits.c.set_by)
        .where(limits.c.limit_id.in_(newest))
    )
    found = [
        Decision(
            What(row.what), None if row.queue is None else Kind(row.queue),
            None if row.world_id is None else WorldId(row.world_id),
            row.value, row.name, row.set_at, row.reason,
        )
        for row in rows
    ]  # fmt: skip
    return Limits({(one.what, one.queue, one.world): one for one in found})


def most_waiting(tx: Tx, world: WorldId) -> int | None:
    """How much work may wait in a world, by the decisions that hold now; None: no limit."""
    rows = tx.execute(
        select(limits.c.world_id, limits.c.value).ext(distinct_on(limits.c.world_id))
        .where(limits.c.what == What.WAITING, limits.c.queue.is_(None))
        .where(limits.c.world_id.is_(None) | (limits.c.world_id == world))
        .order_by(limits.c.world_id, limits.c.limit_id.desc())
    )  # fmt: skip
    found = {row.world_id: row.value for row in rows}
    own = found.get(world)
    return found.get(None) if own is None else own


def decide(
    tx: Tx, what: What, value: int | None, actor: str, reason: str,
    *, queue: Kind | None = None, world: WorldId | None = None,
) -> None:  # fmt: skip
    """Append a decision; earlier ones stay as they are, and hold no longer."""
    tx.execute(
        insert(limits).values(
            what=what, value=value, set_by=actor, reason=reason, queue=queue, world_id=world
        )
    )


def waiting_work(tx: Tx, world: WorldId) -> int:
    """How many steps of a world were dispatched or wait for a place, and are at no worker.

    What is held for a person is not counted: no worker could take it. What watches is not either.
    """
    of_world = steps.c.world_id == world
    dispatched = and_(
        steps.c.state == StepState.DISPATCHED, *(steps.c.kind != one for one in NOT_AT_WORK)
    )
    queries = (
        select(func.count()).select_from(steps).where(of_world, dispatched),
        select(func.count()).select_from(steps).where(of_world, steps.c.waits_for.is_not(None)),
        select(-func.count()).select_from(claims)
        .where(claims.c.world_id == world, claims.c.ended.is_(None)),
        select(-func.count()).select_from(unknowns)
        .where(unknowns.c.world_id == world, unknowns.c.decided_at.is_(None)),
    )  # fmt: skip
    return max(0, sum(tx.execute(query).scalar_one() for query in queries))
