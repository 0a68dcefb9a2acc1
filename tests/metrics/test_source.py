"""A scrape asks seldom, and never waits for long."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from fixtures.waiting import until

from app.domain.errors import RedisUnreachable
from app.metrics.source import Source


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Opened at the end, so that nobody waits at it for ever."""
    gate = threading.Event()
    yield gate
    gate.set()


def test_many_scrapes_are_one_question() -> None:
    """Whoever scrapes how often, the source is asked once while its answer is fresh."""
    asked = []
    source = Source(lambda: asked.append(1) or len(asked), fresh=60)

    answers = []
    threads = [threading.Thread(target=lambda: answers.append(source.value())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [1] * 8


def test_a_source_that_hangs_is_not_waited_for(gate: threading.Event) -> None:
    """After the patience there is no answer; the one question goes on, for later scrapes."""
    asked = []

    def ask() -> str:
        asked.append(1)
        gate.wait()
        return "late"

    source = Source(ask, fresh=60, patience=0.05)

    hung = [source.value(), source.value()]
    gate.set()
    until(lambda: source.value() == "late")

    assert (hung, len(asked)) == ([None, None], 1)


def test_a_source_that_is_down_has_no_old_answer() -> None:
    """What was true before is not told once the source stopped answering."""
    answers: Iterator[int] = iter([7])

    def ask() -> int:
        for one in answers:
            return one
        raise RedisUnreachable("gone")

    source = Source(ask, fresh=0)

    assert source.value() == 7
    until(lambda: source.value() is None)
