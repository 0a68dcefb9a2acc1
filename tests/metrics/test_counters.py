"""Counters of one process: what they count, and what they refuse to name."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
from fixtures.scraping import Scraped
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from app import config, events
from app.cli.logins import Logins
from app.cli.stack import roles_of
from app.config import Address, SettingUnfit
from app.events import Event, Moment
from app.kinds import author
from app.metrics.counters import Counters
from app.metrics.serving import MetricsUnavailable, serve
from app.metrics.turns import Turns


def test_a_kind_that_a_message_invents_makes_no_series() -> None:
    """Messages are anybody's: a million kinds in Redis are one line of a scrape."""
    counters = Counters("worker")
    for number in range(1000):
        refusal = {"kind": f"junk.{number}", "verdict": "unknown_identity"}
        counters.hear(Event(Moment.VERDICT, {**refusal, "world": "w", "activity": "a"}))

    counted = _told(counters).by("fencepost_claims_refused_total", "kind", "verdict")

    assert counted == {("other", "unknown_identity"): 1000}


def test_a_beat_counts_each_lease() -> None:
    """One renewal is for many claims, and each counts."""
    counters = Counters("worker")

    counters.hear(Event(Moment.RENEWED, {"renewed": 3, "lost": 1}))
    counters.hear(Event(Moment.RENEWED, {"renewed": 2, "lost": 0}))

    assert _told(counters).value("fencepost_claims_renewed_total") == 5


def test_what_never_happened_is_zero() -> None:
    """A series is there before its first time, so that the first time is an increase."""
    told = _told(Counters("dispatcher"))

    assert told.value("fencepost_deliveries_replaced_total", kind=author.NAME, cause="wiped") == 0


def test_a_failing_turn_is_counted_and_fails() -> None:
    """Counting changes neither the answer nor the error of a step."""
    turns = Turns()

    def fail() -> int:
        raise SettingUnfit("no")

    assert turns.counted("good", lambda: 3)() == 3
    with pytest.raises(SettingUnfit):
        turns.counted("bad", fail)()

    told = _told(turns)
    assert told.by("fencepost_turn_work_total", "turn") == {("good",): 3}
    assert told.by("fencepost_turn_failures_total", "turn", "code") == {("bad", "setting_unfit"): 1}
    assert told.by("fencepost_turn_seconds_count", "turn") == {("good",): 1, ("bad",): 1}


def test_an_address_in_use_is_refused() -> None:
    """A process that cannot answer where it was told to says so, and counts nothing."""
    heard = list(events.subscribers)
    taken = socket.create_server(("127.0.0.1", 0))
    with closing(taken), pytest.raises(MetricsUnavailable):
        serve(Address("127.0.0.1", taken.getsockname()[1]), "worker")

    assert events.subscribers == heard


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("9464", "127.0.0.1:9464"), (":9464", "127.0.0.1:9464"), ("0.0.0.0:1", "0.0.0.0:1"),
        ("[::1]:9464", "[::1]:9464"), ("metrics.internal:0", "metrics.internal:0"),
    ],
)  # fmt: skip
def test_a_port_alone_is_of_this_machine(given: str, address: str) -> None:
    """Nobody else can look, unless a host is named."""
    assert str(config.read({"FENCEPOST_METRICS": given}).metrics) == address


@pytest.mark.parametrize("given", ["host", "host:", "1:x", "::1:9464", "h:65536", "-1"])
def test_an_address_without_a_port_is_refused(given: str) -> None:
    """What cannot be listened at is said when the settings are read."""
    with pytest.raises(SettingUnfit):
        config.read({"FENCEPOST_METRICS": given})


@pytest.mark.parametrize(
    ("given", "each"),
    [("", ["", ""]), ("0", ["127.0.0.1:0"] * 2), ("[::1]:70", ["[::1]:70", "[::1]:71"])],
)
def test_the_processes_of_a_stack_share_no_port(given: str, each: list[str]) -> None:
    """`fencepost up` gives its dispatcher the port that was named, its worker the next one."""
    settings = config.read({"FENCEPOST_METRICS": given})

    roles = roles_of(settings, Logins("app", "worker", "redis"), 2)

    assert [role.environment["FENCEPOST_METRICS"] for role in roles] == each


def _told(collector: Counters | Turns) -> Scraped:
    registry = CollectorRegistry()
    registry.register(collector)
    text = generate_latest(registry).decode()
    return Scraped({one.name: one for one in text_string_to_metric_families(text)})
