"""The gauges of queues, from what the queues' own view says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from app.domain.window import Bounds, Load, QueueState, room
from app.store.views.queues import QueueLine, Queues


@dataclass(frozen=True, slots=True)
class Gauged:
    """A gauge of each queue."""

    name: str
    help: str
    value: Callable[[QueueLine], float]
    needs_redis: bool = False  #: without its answer the number means nothing


GAUGED = (
    Gauged("fencepost_queue_waiting", "Deliveries in Postgres, not sent", lambda one: one.waiting),
    Gauged("fencepost_queue_out", "Deliveries sent or being sent, and not claimed",
           lambda one: one.out),
    Gauged("fencepost_queue_running", "Live claims", lambda one: one.running),
    Gauged("fencepost_queue_oldest_age_seconds", "For how long the oldest could have been claimed",
           lambda one: one.oldest.total_seconds() if one.oldest else 0),
    Gauged("fencepost_queue_missing", "Divergence: deliveries sent a while ago without a message",
           lambda one: one.missing, needs_redis=True),
    Gauged("fencepost_queue_surplus", "Divergence: messages of no delivery that is out",
           lambda one: one.surplus, needs_redis=True),
    Gauged("fencepost_window_size", "Messages that Redis may hold",
           lambda one: one.window, needs_redis=True),
)  # fmt: skip


def of_queues(seen: Queues) -> Iterator[Metric]:
    """Every gauge of every queue."""
    for one in GAUGED:
        yield _gauge(one.name, one.help, seen, one.value, needs_redis=one.needs_redis)
    under_way = sum(line.out + line.running for line in seen.queues)
    left = None if seen.most_running is None else seen.most_running - under_way
    yield _gauge("fencepost_window_room", "Messages that may be sent now", seen,
                 lambda line: _room(line, left), needs_redis=True)  # fmt: skip
    yield _states(seen)


def _room(line: QueueLine, left: int | None) -> int:
    bounds = Bounds(line.window, line.most_running, left, line.pause is not None)
    return room(bounds, Load(line.out, line.running, line.redis or 0))


def _states(seen: Queues) -> Metric:
    states = GaugeMetricFamily(
        "fencepost_queue_state", "1 for the state that a queue is in", labels=["queue", "state"]
    )
    for line in seen.queues:
        for state in QueueState:
            states.add_metric([line.queue, state], line.state is state)
    return states


def _gauge(
    name: str, text: str, seen: Queues, value: Callable[[QueueLine], float], *, needs_redis: bool
) -> Metric:
    gauge = GaugeMetricFamily(name, text, labels=["queue"])
    for line in seen.queues:
        if line.redis is not None or not needs_redis:
            gauge.add_metric([line.queue], value(line))
    return gauge
