"""The outbox: whose deliveries are sent next, and what became of sending them (Q01, Q02).

A delivery is *out* while a message of it may be in Redis and nobody has claimed it. Between being
taken and being confirmed it is *being sent*: whoever took it may have died. Whoever changes many
deliveries at once locks the outbox first, after which windows and turns are exact.

What is asked all the time is built once: building such a statement takes longer than its answer.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    ARRAY,
    BindParameter,
    Integer,
    Interval,
    Select,
    Text,
    Update,
    bindparam,
    case,
    cast,
    func,
    null,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.sql import ColumnElement, FromClause

from app.domain.delivery import Delivery
from app.domain.identity import ActivityId, ActivityKey, DeliveryNumber, Kind, WorldId
from app.domain.window import Load
from app.kinds.registry import KINDS
from app.store import clock
from app.store.engine import Tx
from app.store.schema import activities, claims, deliveries, turns

#: Longer than sending a batch takes, and than Redis may hang in the middle of it.
SENDING = timedelta(seconds=10)

_IS_OPEN = deliveries.c.claimed_fence.is_(None) & deliveries.c.replaced_at.is_(None)
_IS_OUT = deliveries.c.published_at.is_not(None) & _IS_OPEN


def lock(tx: Tx) -> None:
    """Hold every other sender off until the transaction ends; nothing is locked before it."""
    tx.execute(text("select pg_advisory_xact_lock(hashtext('fencepost outbox'))"))


def loads(tx: Tx, depths: Mapping[Kind, int], *, running: bool = True) -> dict[Kind, Load]:
    """What each queue has under way; what runs is counted only where somebody asks for it."""
    out = {row[0]: row[1] for row in tx.execute(_out())}
    run = {row[0]: row[1] for row in tx.execute(_running())} if running else {}
    return {kind: Load(out.get(kind, 0), run.get(kind, 0), depths.get(kind, 0)) for kind in KINDS}


def queues_in_turn(tx: Tx) -> list[Kind]:
    """The queues in which something waits; the one whose last turn is the longest ago first."""
    return [Kind(row[0]) for row in tx.execute(_queues_in_turn(), {"kinds": list(KINDS)})]


def take(tx: Tx, kind: Kind, room: int, life: timedelta) -> list[Delivery]:
    """The next deliveries of a queue, each from now on being sent; the outbox is locked.

    Worlds take turns: one delivery each, the world first whose last turn is the longest ago. Of a
    world the most urgent that is due comes first. The time to claim begins anew: `life`.
    """
    rows = tx.execute(_take(), {"queue": kind, "room": room, "life": life}).all()
    taken = [
        Delivery(
            ActivityKey(WorldId(row.world_id), kind, ActivityId(row.activity_id)),
            DeliveryNumber(row.number), row.attempt_id,
        )
        for row in sorted(rows, key=lambda row: int(row.place))
    ]  # fmt: skip
    _had_their_turn(tx, kind, taken)
    return taken


def confirm(tx: Tx, sent: Sequence[Delivery]) -> None:
    """Say that these were sent; the outbox is locked."""
    if sent:
        tx.execute(update(deliveries).where(_among(sent)).values(sending_until=null()))


def give_back(tx: Tx, unsent: Sequence[Delivery]) -> None:
    """Let these wait again, though a message may be there; the outbox is locked."""
    if unsent:
        tx.execute(update(deliveries).where(_among(unsent)).values(_WAITS_AGAIN))


def recall(tx: Tx) -> int:
    """Let wait again what a sender has taken and never confirmed; the outbox is locked."""
    done = tx.execute(
        update(deliveries)
        .where(deliveries.c.published_at <= _now() - SENDING, _IS_OPEN)
        .where(deliveries.c.sending_until <= clock.now())
        .values(_WAITS_AGAIN)
    )
    return done.rowcount


def take_back(tx: Tx, kind: Kind) -> int:
    """Let wait again whatever of a queue is out; the outbox is locked."""
    done = tx.execute(update(deliveries).where(deliveries.c.kind == kind, _IS_OUT)
                      .values(_WAITS_AGAIN))  # fmt: skip
    return done.rowcount


#: Nothing is out any more, unless it was claimed meanwhile.
_WAITS_AGAIN: dict[str, Any] = {
    "published_at": case((_IS_OPEN, null()), else_=deliveries.c.published_at),
    "sending_until": null(),
}


@functools.cache
def _out() -> Select[Any]:
    return select(deliveries.c.kind, func.count()).where(_IS_OUT).group_by(deliveries.c.kind)


@functools.cache
def _running() -> Select[Any]:
    is_open = claims.c.ended.is_(None)
    return select(claims.c.kind, func.count()).where(is_open).group_by(claims.c.kind)


@functools.cache
def _queues_in_turn() -> Select[Any]:
    named: BindParameter[Any] = bindparam("kinds", type_=ARRAY(Text))
    kinds = func.unnest(cast(named, ARRAY(Text))).table_valued("kind").render_derived()
    last = select(func.max(turns.c.turn)).where(turns.c.kind == kinds.c.kind).scalar_subquery()
    waits = select(1).where(_waits(kinds.c.kind)).exists()
    return select(kinds.c.kind).where(waits).order_by(func.coalesce(last, 0), kinds.c.kind)


@functools.cache
def _take() -> Update:
    chosen = next_in_turn().subquery("chosen")
    life: BindParameter[Any] = bindparam("life", type_=Interval)
    return (
        update(deliveries)
        .where(_same(deliveries, chosen), deliveries.c.number == chosen.c.number)
        .where(_same(deliveries, activities), deliveries.c.published_at.is_(None), _IS_OPEN)
        .values(
            published_at=clock.now(), sending_until=clock.now() + SENDING,
            deadline=func.greatest(deliveries.c.deadline, clock.now() + life),
        )
        .returning(
            chosen.c.place, deliveries.c.world_id, deliveries.c.activity_id, deliveries.c.number,
            activities.c.attempt_id,
        )
    )  # fmt: skip


def next_in_turn() -> Select[Any]:
    """Keys and places of the next to send, in turns of one each; every world gets a like share.

    Asked with a `queue` and the `room` in it.

    A lane is a world's deliveries of one priority. Lanes are found by skipping from one to the
    next, and of each no more is read than a share: a backlog of any length costs nothing.
    """
    kind: BindParameter[Any] = bindparam("queue", type_=Text)
    room: BindParameter[Any] = bindparam("room", type_=Integer)
    lanes = _lanes(kind)
    share = func.greatest(1, room // func.count(lanes.c.world_id.distinct()))
    each = select(share).select_from(lanes).scalar_subquery()
    due = (
        select(deliveries.c.activity_id, deliveries.c.number, deliveries.c.not_before)
        .where(_waits(kind), deliveries.c.world_id == lanes.c.world_id)
        .where(deliveries.c.priority == lanes.c.priority, deliveries.c.not_before <= _now())
        .order_by(deliveries.c.not_before).limit(each).lateral("due")
    )  # fmt: skip
    of_world = func.row_number().over(
        partition_by=lanes.c.world_id, order_by=(lanes.c.priority, due.c.not_before)
    )
    found = (
        select(
            lanes.c.world_id, due.c.activity_id, due.c.number, of_world.label("rank"),
            func.coalesce(turns.c.turn, 0).label("turn"),
        )
        .select_from(lanes).join(due, text("true"))
        .outerjoin(turns, (turns.c.world_id == lanes.c.world_id) & (turns.c.kind == kind))
        .subquery("found")
    )  # fmt: skip
    # a lane that was cut short lets nothing less urgent pass
    order = (found.c.rank, found.c.turn, found.c.world_id)
    return select(
        found.c.world_id, cast(kind, Text).label("kind"),
        found.c.activity_id, found.c.number, func.row_number().over(order_by=order).label("place"),
    ).where(found.c.rank <= each).order_by(*order).limit(room)  # fmt: skip


def _lanes(kind: ColumnElement[Any]) -> FromClause:
    """World and priority of everything that waits in a queue, by one look each."""
    lane = (deliveries.c.world_id, deliveries.c.priority)
    first = select(*lane).where(_waits(kind)).order_by(*lane).limit(1)
    lanes = select(*first.subquery().c).cte("lanes", recursive=True)
    following = (
        select(*lane).where(_waits(kind), tuple_(*lane) > tuple_(*lanes.c))
        .order_by(*lane).limit(1).lateral("following")
    )  # fmt: skip
    return lanes.union_all(select(*following.c).select_from(lanes).join(following, text("true")))


def _waits(kind: ColumnElement[Any]) -> ColumnElement[bool]:
    return (deliveries.c.kind == kind) & deliveries.c.published_at.is_(None) & _IS_OPEN


def _now() -> ColumnElement[Any]:
    """The wall clock, read once a statement: an index can be asked for what is due."""
    return select(clock.now()).scalar_subquery()


def _had_their_turn(tx: Tx, kind: Kind, taken: Sequence[Delivery]) -> None:
    """Put the worlds of these behind all others, in the order of their last deliveries."""
    last = {one.key.world: place for place, one in enumerate(taken)}
    if last:
        rows = [{"world_id": world, "kind": kind} for world in sorted(last, key=last.__getitem__)]
        had = upsert(turns).values(rows)
        tx.execute(
            had.on_conflict_do_update(
                index_elements=[turns.c.world_id, turns.c.kind], set_={"turn": had.excluded.turn}
            )
        )


def _among(those: Sequence[Delivery]) -> ColumnElement[bool]:
    key = (deliveries.c.world_id, deliveries.c.kind, deliveries.c.activity_id, deliveries.c.number)
    rows = [(one.key.world, one.key.kind, one.key.activity, one.number) for one in those]
    return tuple_(*key).in_(rows)


def _same(one: FromClause, other: FromClause) -> ColumnElement[bool]:
    return (
        (one.c.world_id == other.c.world_id)
        & (one.c.kind == other.c.kind)
        & (one.c.activity_id == other.c.activity_id)
    )
