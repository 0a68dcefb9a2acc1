"""What all processes share: depths, ages, and how far Postgres and Redis differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from app.broker.redis import Broker
from app.domain.dead_letter import LetterCause
from app.kinds.registry import KINDS
from app.metrics.queues import of_queues
from app.metrics.source import Source
from app.store.engine import Store
from app.store.views.fleet import Counts, counts, dead_by_cause
from app.store.views.queues import SILENT, Queues, Redis, queues_seen


@dataclass(frozen=True, slots=True)
class Rows:
    """What Postgres knows, beside what Redis said just before."""

    queues: Queues
    counts: Counts
    dead: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Messages:
    """What Redis holds, and who is connected to it."""

    said: Redis
    workers: int


class Shared(Collector):
    """The gauges of a dispatcher; a source that does not answer in time is down, and left out."""

    def __init__(self, store: Store, broker: Broker) -> None:
        self._said = SILENT
        self._messages = Source(lambda: _messages(broker), fresh=0)
        self._rows = Source(lambda: _rows(store, self._said))

    def collect(self) -> Iterable[Metric]:
        """Every gauge whose source answers; each source is asked seldom, and not waited for."""
        messages = self._messages.value()
        self._said = messages.said if messages else SILENT
        rows = self._rows.value()
        up = _gauge("fencepost_source_up", "Whether this source answered in time", "source")
        for name, answer in (("postgres", rows), ("redis", messages)):
            up.add_metric([name], answer is not None)
        yield up
        if messages:
            yield from _of_messages(messages)
        if rows:
            yield from _of_rows(rows)


def _messages(broker: Broker) -> Messages:
    depths, slots = broker.depths(list(KINDS)), broker.live_slots()
    return Messages(Redis(depths, slots), broker.connected("worker"))


def _rows(store: Store, said: Redis) -> Rows:
    with store.begin() as tx:
        return Rows(queues_seen(tx, said), counts(tx), dead_by_cause(tx))


def _of_messages(messages: Messages) -> Iterator[Metric]:
    depth = _gauge("fencepost_queue_messages", "Messages in Redis", "queue")
    for kind, number in messages.said.depths.items():
        depth.add_metric([kind], number)
    yield depth
    yield GaugeMetricFamily(
        "fencepost_workers_connected", "Workers connected to Redis", messages.workers
    )
    yield GaugeMetricFamily(
        "fencepost_slots_connected", "Slots of all connected workers", messages.said.slots
    )


def _of_rows(rows: Rows) -> Iterator[Metric]:
    yield from of_queues(rows.queues)
    dead = _gauge("fencepost_dead_letters", "Dead letters that are open", "cause")
    for cause in sorted({*LetterCause, *rows.dead}):  # a newer release has causes of its own
        dead.add_metric([cause], rows.dead.get(cause, 0))
    yield dead
    yield GaugeMetricFamily("fencepost_attempts_active", "Active attempts", rows.counts.active)
    yield GaugeMetricFamily(
        "fencepost_activities_unknown", "Activities held for a person", rows.counts.unknown
    )


def _gauge(name: str, text: str, label: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=[label])
