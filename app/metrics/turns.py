"""How the turns of the dispatcher's loop go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from prometheus_client import Counter, Metric, Summary
from prometheus_client.registry import Collector

from app.domain.errors import FencepostError


class Turns(Collector):
    """Counts turns, what they did, how long they took and how they failed."""

    def __init__(self) -> None:
        labels = ["turn"]
        self._seconds = Summary(
            "fencepost_turn_seconds", "Turns of the loop, and how long they took",
            labels, registry=None,
        )  # fmt: skip
        self._work = Counter("fencepost_turn_work", "How much the turns did", labels, registry=None)
        self._failures = Counter(
            "fencepost_turn_failures", "Turns that failed, by code",
            [*labels, "code"], registry=None,
        )  # fmt: skip

    def counted(self, name: str, step: Callable[[], int]) -> Callable[[], int]:
        """The same step, counted; its answer and its errors stay what they are."""
        seconds, work = self._seconds.labels(name), self._work.labels(name)

        def take() -> int:
            began = time.perf_counter()
            try:
                done = step()
            except FencepostError as fault:
                self._failures.labels(name, fault.code).inc()
                raise
            finally:
                seconds.observe(time.perf_counter() - began)
            work.inc(done)
            return done

        return take

    def collect(self) -> Iterable[Metric]:
        """Every number as it stands."""
        for metric in (self._seconds, self._work, self._failures):
            yield from metric.collect()
