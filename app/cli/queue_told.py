"""Queues and their limits, told to people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing

from app.broker.redis import Broker
from app.cli.shown import plain
from app.domain.errors import RedisUnreachable
from app.kinds.registry import KINDS
from app.store.limits import Decision, What
from app.store.views.delay import Delay, Why
from app.store.views.queues import SILENT, Queues, Redis

_WORDS = {
    Why.HELD: "it is held until a person decides",
    Why.REAPER: "its next delivery is about to be made",
    Why.PAUSED: "its queue is paused",
    Why.LATER: "it rests before it looks or is tried again",
    Why.LIMIT: "a limit is reached",
    Why.FULL: "its queue's window is full",
    Why.TURN: "it is about to be sent, when its world's turn comes",
    Why.SENDING: "it is being sent",
    Why.SLOT: "its message is in Redis, and no worker has a free slot or disk for it",
}


def redis_of(url: str | None) -> Redis:
    """What Redis says of the queues; nothing where it does not answer."""
    if not url:
        return SILENT
    with closing(Broker(url, role="cli")) as broker:
        try:
            return said_by(broker)
        except RedisUnreachable:
            return SILENT


def said_by(broker: Broker) -> Redis:
    """What a Redis says of the queues; RedisUnreachable."""
    return Redis(broker.depths(list(KINDS)), broker.live_slots())


def remarks(seen: Queues) -> Iterator[str]:
    """What a table of queues has no column for."""
    for one in seen.queues:
        if one.pause is not None:
            why = plain(one.pause.reason, 200)
            yield f"{one.queue}: paused by {one.pause.by} at {one.pause.at:%FT%TZ}, because: {why}"
        if one.redis is None:
            yield f"{one.queue}: Redis does not answer"
        if one.most_running is not None:
            yield f"{one.queue}: {one.running + one.out} under way, of {one.most_running}"
        if one.missing:
            yield f"{one.queue}: {one.missing} deliveries were sent and have no message in Redis"
        if one.surplus:
            yield f"{one.queue}: {one.surplus} messages in Redis are of no delivery that is out"
    if seen.most_running is not None:
        under_way = sum(one.running + one.out for one in seen.queues)
        yield f"all queues: {under_way} under way, of {seen.most_running}"


def limit_row(one: Decision, names: Mapping[str, str]) -> tuple[object, ...]:
    """A decision as a row of a table; worlds go by their names."""
    world = None if one.world is None else plain(names.get(one.world, one.world), 60)
    of: str | None = world if one.what is What.WAITING else one.queue
    every = "every world" if one.what is What.WAITING else "all queues"
    most = "" if one.what is What.PAUSE else one.value
    return one.what, of or every, most, one.by, f"{one.at:%FT%TZ}", plain(one.reason, 60)


def why(delay: Delay) -> str:
    """Why an activity is not running, in a sentence."""
    until = f", until {delay.until:%FT%TZ}" if delay.until else ""
    detail = f" ({plain(delay.detail, 200)})" if delay.detail else ""
    return f"waits: {_WORDS[delay.why]}{until}{detail}"
