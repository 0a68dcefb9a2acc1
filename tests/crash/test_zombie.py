"""A worker that was taken for dead comes back, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.events import Moment
from app.kinds import author
from workers.workspace.presence import carrying

Published = Callable[[Seen], None]
AUTHOR = f"kind={author.NAME}"


@pytest.mark.contract("M12", "L2", "L4")
@pytest.mark.parametrize(
    ("moment", "runs"),
    [
        pytest.param(Moment.COMMITTED, 2),
        pytest.param(Moment.PUSHED, 1, marks=pytest.mark.long),
        pytest.param(Moment.MARKED, 1, marks=pytest.mark.long),
    ],
)
def test_a_zombie_that_returns_after_its_successor_changes_nothing(
    stack: Stack, work: tuple[str, str], published_once: Published, moment: Moment, runs: int
) -> None:
    """Frozen past its lease, then woken: its push and its rows are refused, and it says so."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    zombie = stack.start_worker(f"{moment} {AUTHOR}")
    stack.until(lambda: zombie.is_stopped and (stack.count("author") or runs == 1))
    stack.start_worker()
    stack.until(lambda: seen.is_over)
    chain, rows = seen.chain, rows_of(stack, seen, fence=1)

    zombie.go_on()

    stack.until(lambda: zombie.says(f"claim.lost {facts_of(seen)} fence=1"))
    published_once(seen)
    assert (seen.chain, rows_of(stack, seen, fence=1)) == (chain, rows)
    assert stack.count("author") == runs


@pytest.mark.contract("M12", "E06")
def test_a_successor_ends_the_program_of_a_frozen_worker_before_its_own(
    stack: Stack, waiting: str, published_once: Published
) -> None:
    """One program at a time; the zombie that returns in mid-run publishes nothing."""
    seen = stack.seen(stack.dispatch(waiting))
    stack.start_dispatcher()
    zombie = stack.start_worker()
    stack.until(lambda: stack.count("author") == 1)

    zombie.stop()
    stack.start_worker()
    stack.until(lambda: stack.count("author") == 2)
    assert carrying({"FENCEPOST_FENCE": "1", "FENCEPOST_ATTEMPT": seen.attempt.id}) == []
    zombie.go_on()
    stack.until(lambda: zombie.says(f"claim.lost {facts_of(seen)} fence=1"))
    (stack.outside / "go").touch()

    published_once(seen)
    assert stack.count("author") == 2
    assert seen.chain[1:] == ["guarded under fence 2", "result under fence 2"]


def rows_of(stack: Stack, seen: Seen, fence: int) -> list[object]:
    """Everything that a claim has written, and how it stands."""
    key = (stack.world, seen.key().kind, seen.key().activity, fence)
    with stack.database.as_superuser() as session:
        return [
            session.execute(
                f"select t.* from fencepost.{table} t"
                " where (world_id, kind, activity_id, fence) = (%s, %s, %s, %s)",
                key,
            ).fetchall()
            for table in ("claims", "bindings", "starts", "events", "payloads", "results")
        ]


def facts_of(seen: Seen) -> str:
    key = seen.key()
    return f"world={key.world} kind={key.kind} activity={key.activity}"
