"""Answering Prometheus: a small server in a thread of each process that is told to."""

from __future__ import annotations

from importlib.metadata import version

import prometheus_client
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import InfoMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from app.config import Address
from app.domain.errors import SetupError
from app.events import Moment, emit, subscribers
from app.metrics.counters import Counters


class MetricsUnavailable(SetupError):
    """The address for metrics cannot be listened at."""

    code = "metrics_unavailable"
    hint = "correct FENCEPOST_METRICS; port 0 is any free one"


class Named(Collector):
    """What this process is."""

    def __init__(self, role: str) -> None:
        self._facts = {"role": role, "version": version("fencepost")}

    def collect(self) -> list[Metric]:
        """One sample, always 1."""
        return [InfoMetricFamily("fencepost_process", "This process", self._facts)]


def serve(address: Address | None, role: str, *collectors: Collector) -> None:
    """Count this process's moments from now on and answer scrapes; without an address, nothing.

    What is answered names kinds, causes and codes, and never an id or a secret.
    """
    if address is None:
        return
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # untyped there
    registry = CollectorRegistry()
    counters = Counters(role)
    ProcessCollector(registry=registry)
    for collector in (Named(role), counters, *collectors):
        registry.register(collector)
    try:
        server, _ = prometheus_client.start_http_server(address.port, address.host, registry)
    except OSError as fault:
        raise MetricsUnavailable(f"metrics cannot be served at {address}: {fault}") from fault
    subscribers.append(counters.hear)
    emit(Moment.METRICS_SERVED, address=str(Address(address.host, server.server_port)))
