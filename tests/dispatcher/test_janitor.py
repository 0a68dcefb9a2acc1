"""The janitor: what has outlived its retention goes by itself, and keeps nobody waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from fixtures.database import Database
from fixtures.refs import MONTH, Shore, a_shore
from fixtures.stack import Stack
from sqlalchemy import func, select

from app.dispatcher import janitor
from app.dispatcher.janitor import Janitor
from app.domain.hint import Hint
from app.domain.operation import Mark, ref_of
from app.events import Event, Moment, subscribers
from app.repository import refs
from app.store.schema import webhook_deliveries
from app.transitions.add_repository import add_repository
from app.transitions.change import LOCAL
from app.transitions.hint import hint


@pytest.fixture
def shore(database: Database, tmp_path: Path) -> Iterator[Shore]:
    """A repository at GitHub; the others are at the local forge."""
    with a_shore(database, tmp_path, "github") as one:
        yield one


@contextmanager
def told() -> Iterator[list[Event]]:
    """Every moment of this process."""
    found: list[Event] = []
    subscribers.append(found.append)
    yield found
    subscribers.remove(found.append)


def of(shore: Shore, retention: timedelta | None = MONTH) -> Janitor:
    return Janitor(shore.store, shore.home, shore.hub, retention, threading.Event())


@pytest.mark.contract("O06")
def test_a_round_prunes_and_another_process_has_nothing_left_to_do(shore: Shore) -> None:
    """It holds no state: who comes next reads the remotes and the rows anew."""
    shore.ended()
    young = shore.ended(timedelta(days=1))

    assert (of(shore).turn(), of(shore).turn()) == (1, 0)
    assert shore.at_remote() == {young.ref: young.tip}


def test_a_remote_in_trouble_keeps_no_other_from_its_turn(shore: Shore) -> None:
    """It is said with its name, and the turn does not fail: the pace stays what it is."""
    add_repository(
        shore.store, shore.world, LOCAL, "a-gone", f"{shore.github.url}/acme/gone.git", "github"
    )
    shore.ended()

    with told() as moments:
        assert of(shore).turn() == 1

    (trouble,) = (one for one in moments if one.moment is Moment.TROUBLE)
    assert trouble.facts["repository"] == "a-gone"


def test_an_alarm_is_said_once(shore: Shore) -> None:
    """An hour later it is no news; `fencepost refs prune --dry-run` goes on showing it."""
    one = shore.ended()
    shore.mark(one, Mark.GUARDED)
    same = of(shore)

    with told() as moments:
        assert (same.turn(), same.turn()) == (0, 0)

    (alarm,) = (each for each in moments if each.moment is Moment.REF_ALARMING)
    assert (alarm.facts["ref"], alarm.facts["code"]) == (one.ref, "not_final")


def test_a_refusal_is_trouble_and_not_the_end_of_the_round(shore: Shore) -> None:
    """GitHub's words reach the log."""
    one = shore.ended()
    shore.github.door.add_rule("acme/widgets", "refs/fencepost/*", ["deletion"])

    with told() as moments:
        assert of(shore).turn() == 0

    (trouble,) = (each for each in moments if each.moment is Moment.TROUBLE)
    assert trouble.facts["code"] == "push_refused"
    assert "Cannot delete this protected ref" in str(trouble.facts["what"])
    assert shore.at_remote() == {one.ref: one.tip}


def test_without_a_retention_no_ref_goes_and_old_hints_do(shore: Shore) -> None:
    """FENCEPOST_REFS_RETENTION=0 switches pruning off, and nothing else."""
    one = shore.ended()
    for name in ("old", "new"):
        hint(shore.store, Hint(name, "ping", None, ()))
    with shore.database.as_superuser() as session:
        session.execute(
            "update fencepost.webhook_deliveries set received_at = received_at - interval '5 days'"
            " where delivery_id = 'old'"
        )

    assert of(shore, None).turn() == 1

    assert shore.at_remote() == {one.ref: one.tip}
    with shore.store.begin() as tx:
        assert tx.execute(select(func.count()).select_from(webhook_deliveries)).scalar_one() == 1


def test_a_stop_ends_a_round_before_the_next_push(shore: Shore) -> None:
    """A dispatcher that is told to end does not wait for a long round."""
    shore.ended()
    stop = threading.Event()
    stop.set()

    assert Janitor(shore.store, shore.home, shore.hub, MONTH, stop).turn() == 0

    assert len(shore.at_remote()) == 1


@pytest.mark.contract("O06")
def test_a_dispatcher_prunes_beside_its_work_and_may_die_in_mid_round(stack: Stack) -> None:
    """Killed right after a push, and started again: verify is clean, and the request stands."""
    seen = stack.seen(stack.dispatch("echo 'y = 2' >> a.py"))
    stack.build()
    stack.until(lambda: seen.is_over)
    stack.throw_away()
    branch, ref = seen.head, ref_of(seen.request.operation)
    assert refs.tips(seen.mirror.git_dir, ref)
    with stack.database.as_superuser() as session:
        session.execute("set session_replication_role = replica")
        for table, column in (("ends", "ended_at"), ("settlements", "settled_at")):
            session.execute(
                f"update fencepost.{table} set {column} = {column} - interval '31 days'"
            )

    pruning = stack.start_dispatcher(stops_at=Moment.REFS_PRUNED)
    stack.until(lambda: pruning.is_stopped)
    pruning.kill()
    stack.start_dispatcher()
    again = stack.seen(stack.dispatch("echo 'z = 3' >> a.py"))
    stack.start_worker()
    stack.until(lambda: again.is_over)

    assert (seen.outcome, seen.head, len(seen.requests)) == ("done", branch, 2)
    assert refs.tips(seen.mirror.git_dir, ref) == {}
    assert again.chain == ["started under fence 1", "result under fence 1"]
    assert stack.violations() == []


def test_its_pace_is_slow() -> None:
    """It is no part of anybody's work: a round an hour, and the first one later than the start."""
    assert (janitor.EVERY, janitor.FIRST) == (3600, 10)
