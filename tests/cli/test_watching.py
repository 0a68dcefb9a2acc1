"""Watching an attempt when the database goes away."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from app.cli import watching
from app.cli.follow import News
from app.cli.interrupt import Interrupts
from app.cli.order import Dispatched
from app.domain.errors import DatabaseUnreachable
from app.domain.identity import WorldId
from app.repository.mirror import Mirror
from app.store.engine import open_store
from app.store.views.attempt import AttemptSeen
from app.transitions.dispatch import Base


class Heard:
    """Whoever is told, and remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def show(self, seen: AttemptSeen, news: list[News]) -> None:
        """Nothing is seen without a database."""

    def say(self, line: str, **facts: object) -> None:
        """Remember it."""
        self.lines.append(line)

    def close(self) -> None:
        """Nothing to do."""


def test_a_lost_database_is_said_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However often it is tried, it is one line; at the end stand the attempt and what goes on."""
    monkeypatch.setattr(watching, "_ASK_AGAIN", 0.01)
    monkeypatch.setattr(watching, "_PATIENCE", 0.5)
    new = Dispatched(WorldId("w"), "a_lost", Base("main", "0" * 40), Mirror(tmp_path))
    heard = Heard()

    with closing(open_store("postgresql://x@127.0.0.1:1/x", name="test-lost")) as nowhere:
        watch = watching.Watch(nowhere, tmp_path, new, None, None, heard, Interrupts())
        with pytest.raises(DatabaseUnreachable) as given_up:
            watching.to_the_end(watch, as_json=False)

    assert [line.partition(";")[0] for line in heard.lines] == ["the database does not answer"]
    assert "attempt a_lost" in given_up.value.message
    assert "resumes with the next `fencepost up`" in given_up.value.advice
