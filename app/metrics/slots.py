"""The slots of one worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class Slots(Collector):
    """How many a worker has, and how many of them wait for work."""

    def __init__(self, slots: int, busy: Callable[[], int]) -> None:
        self._slots, self._busy = slots, busy

    def collect(self) -> Iterable[Metric]:
        """Both numbers, now."""
        free = max(0, self._slots - self._busy())
        yield GaugeMetricFamily("fencepost_slots", "Slots of this worker", self._slots)
        yield GaugeMetricFamily("fencepost_slots_free", "Slots that wait for work", free)
