"""The counters of one process: a subscriber of its moments."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from prometheus_client import Counter, Metric
from prometheus_client.registry import Collector

from app.events import Event
from app.kinds.registry import KINDS
from app.metrics.counted import COUNTED, Counted

#: Messages are anybody's: a kind that they invent makes no series of its own.
OTHER = "other"


class Counters(Collector):
    """Counts what its role does; `hear` is the subscriber."""

    def __init__(self, role: str) -> None:
        self._counters = {
            one.moment: (one, _counter(one)) for one in COUNTED if role in one.roles
        }  # fmt: skip

    def hear(self, event: Event) -> None:
        """Count a moment, if it is one of those that are."""
        if event.moment not in self._counters:
            return
        one, counter = self._counters[event.moment]
        amount = int(event.facts[one.amount]) if one.amount else 1
        if not one.labels:
            counter.inc(amount)
        else:
            counter.labels(*(_value(event, label) for label in one.labels)).inc(amount)

    def collect(self) -> Iterable[Metric]:
        """Every counter as it stands."""
        for _, counter in self._counters.values():
            yield from counter.collect()


def _counter(one: Counted) -> Counter:
    counter = Counter(one.name, one.help, one.labels, registry=None)
    for values in _known(one):
        counter.labels(*values)
    return counter


def _known(one: Counted) -> Iterator[tuple[str, ...]]:
    """Series that stand at zero before anything happens, so that a first time is an increase."""
    if one.labels and set(one.labels) == set(one.known):
        yield from itertools.product(*(one.known[label] for label in one.labels))


def _value(event: Event, label: str) -> str:
    value = str(event.facts.get(label, OTHER))
    return OTHER if label == "kind" and value not in KINDS else value
