"""The statements that run all the time read what they need, whatever else there ever was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from fixtures.database import Database, copied
from sqlalchemy import event

from app.domain.bounds import Bound
from app.domain.identity import ActivityId, ActivityKey, EntityId, Kind, WorldId
from app.kinds import author, command
from app.store import (
    activities,
    attempts,
    batches,
    board,
    bounds,
    claims,
    deliveries,
    limits,
    outbox,
    receipts,
    results,
)
from app.store.bounds import Place
from app.store.cards import Cards
from app.store.engine import Store, Tx, open_store
from app.store.worlds import StoredSnapshot
from app.transitions.take_turns import take_turns

SIZE = 100_000
MOST = 5_000  #: rows that one part of a plan may read

#: A world in which 100,000 attempts are over, and a few of each sort are not.
_FILLING = f"""
set session_replication_role = replica;
insert into fencepost.worlds (world_id, name) values ('w_plans', 'plans');
insert into fencepost.repositories values ('w_plans', 'r', 'r', '/r', 'local', 1);
insert into fencepost.work_orders (world_id, work_order_id, repository_id, title, bytes, digest,
    state, author, second_person, entity_id, tick)
  values ('w_plans', 'o', 'r', 't', '{{}}', sha256('{{}}'), 'draft', 'local', false, 1, 1);
insert into fencepost.tasks (world_id, task_id, work_order_id, entity_id, board_column, title, tick)
  select 'w_plans', 't' || n, 'o', n, 'done', 't', 1 from generate_series(1, {SIZE}) n;
insert into fencepost.attempts (world_id, attempt_id, task_id, number, retry, workflow,
    workflow_digest, actor, tick, ended_at, outcome)
  select 'w_plans', 'a' || n, 't' || n, 1, 0, '{{}}', sha256('{{}}'), 'local', 1,
    now() - interval '1 h', 'done' from generate_series(1, {SIZE}) n;
insert into fencepost.steps (world_id, attempt_id, name, position, kind, activity_id, state,
    waits_for, waits_at, waits_since)
  select 'w_plans', 'a' || n, 'author', 1, 'missions.author', 'x' || n,
    case when n <= 20 then 'dispatched' when n <= 40 then 'pending' else 'succeeded' end,
    case when n between 21 and 40 then 'merge' end, case when n between 21 and 40 then 'r main' end,
    case when n between 21 and 40 then now() end from generate_series(1, {SIZE}) n;
insert into fencepost.writers (world_id, attempt_id, repository_id, base, bound, tick, request,
    left_tick, left_because)
  select 'w_plans', 'a' || n, 'r', 'main', 1, 1, n, case when n > 20 then 1 end,
    case when n > 20 then 'merged' end from generate_series(1, {SIZE}) n;
insert into fencepost.activities (world_id, kind, activity_id, attempt_id, request, request_digest,
    tick, lease, most_starts, fence, stop)
  select 'w_plans', 'missions.author', 'x' || n, 'a' || n, '{{}}', sha256('{{}}'), 1, '15 s', 5,
    case when n % 1000 = 3 then 0 else 1 end, case when n % 1000 = 3 then 'cancel' end
  from generate_series(1, {SIZE}) n;
insert into fencepost.claims (world_id, kind, activity_id, fence, token_hash, worker, delivery,
    lease_until, ended, end_cause)
  select 'w_plans', 'missions.author', 'x' || n, 1, sha256('t'), 'w', 1,
    now() + case when n <= 10 then interval '-1 s' else interval '1 h' end,
    case when n > 20 then now() end,
    case when n > 100 then 'recorded' when n > 20 then 'expired' end
  from generate_series(1, {SIZE}) n;
insert into fencepost.deliveries (world_id, kind, activity_id, number, cause, not_before, deadline,
    published_at, claimed_fence)
  select 'w_plans', 'missions.author', 'x' || n, 1, 'first', now() - interval '1 h', now(),
    now() - interval '1 h', 1 from generate_series(1, {SIZE}) n;
insert into fencepost.deliveries (world_id, kind, activity_id, number, cause, not_before, deadline,
    published_at)
  select 'w_plans', 'missions.author', 'x' || n, 2, 'first', now() - interval '1 h', now(),
    case when n > 120 then now() - interval '1 min' end from generate_series(101, 140) n;
insert into fencepost.payloads (world_id, kind, activity_id, fence, digest, bytes)
  values ('w_plans', 'missions.author', 'x1', 1, sha256('{{}}'), '{{}}');
insert into fencepost.results (world_id, kind, activity_id, fence, digest, outcome, recorded_at)
  select 'w_plans', 'missions.author', 'x' || n, 1, sha256('{{}}'), 'green',
    now() - interval '1 h' - n * interval '1 s' from generate_series(141, {SIZE}) n;
insert into fencepost.staged_batches (world_id, kind, activity_id, result_digest, bytes, digest,
    consumed_tick)
  select 'w_plans', 'missions.author', 'x' || n, sha256('{{}}'), '{{}}', sha256('{{}}'),
    case when n > 160 then 1 end from generate_series(151, {SIZE}) n;
insert into fencepost.ends (world_id, kind, activity_id, fence, outcome, staged_at)
  select 'w_plans', 'missions.author', 'x' || n, 1, 'green', case when n > 150 then now() end
  from generate_series(141, {SIZE}) n;
insert into fencepost.settlements (world_id, kind, activity_id, result_digest, tick, marker_digest)
  select 'w_plans', 'missions.author', 'x' || n, sha256('{{}}'), 1, sha256('{{}}')
  from generate_series(161, {SIZE}) n;
insert into fencepost.receipts (world_id, tick, verb, actor, bytes, digest, previous)
  select 'w_plans', n, 'observe', 'dispatcher', '{{}}', sha256('{{}}'),
    case when n > 1 then sha256('{{}}') end from generate_series(1, {SIZE}) n;
insert into fencepost.facts (world_id, entity_id, component, version, tick, value, digest)
  select 'w_plans', n, 'TaskDispatch', 1, n, '{{}}', sha256('{{}}')
  from generate_series(1, {SIZE}) n;
insert into fencepost.relations (world_id, source, relation, target, tick)
  select 'w_plans', n, 'Executes', n, n from generate_series(1, {SIZE}) n;
update fencepost.worlds set tick = {SIZE}, receipt_digest = sha256('{{}}')
 where world_id = 'w_plans';
insert into fencepost.projector_cursors values ('w_plans', 'activities', {SIZE - 1});
"""

WORLD = WorldId("w_plans")
KEY = ActivityKey(WORLD, author.NAME, ActivityId("x77777"))
PLACE = Place(Bound.MERGE, "r main")

HOT: dict[str, Callable[[Tx], object]] = {
    "claims.expired": claims.expired,
    "claims.fruitless": lambda tx: claims.fruitless(tx, KEY),
    "deliveries.undelivered": deliveries.undelivered,
    "deliveries.past_deadline": lambda tx: deliveries.past_deadline(tx, author.NAME),
    "deliveries.published_unclaimed": lambda tx: deliveries.published_unclaimed(
        tx, author.NAME, timedelta(seconds=5)
    ),
    "outbox.next_in_turn": lambda tx: tx.execute(
        outbox.next_in_turn(), {"queue": author.NAME, "room": 64}
    ).all(),
    "outbox.loads": lambda tx: outbox.loads(tx, {}),
    "outbox.queues_in_turn": outbox.queues_in_turn,
    "outbox.recall": outbox.recall,
    "limits.current": limits.current,
    "limits.waiting_work": lambda tx: limits.waiting_work(tx, WORLD),
    "activities.get": lambda tx: activities.get(tx, KEY),
    "activities.of_attempt": lambda tx: activities.of_attempt(tx, WORLD, "a77777"),
    "activities.asked_to_end": lambda tx: activities.asked_to_end(
        tx, WORLD, ["a77777"], "CancelRequest"
    ),
    "activities.canceled_untouched": activities.canceled_untouched,
    "activities.is_waiting": lambda tx: activities.is_waiting(tx, KEY),
    "board.laid": lambda tx: board.laid(tx, WORLD, "t77777"),
    "cards.read": lambda tx: Cards(tx, WORLD, 1).read(["a77777", "a77778"]),
    "worlds.snapshot": lambda tx: StoredSnapshot(tx, WORLD, SIZE).read([EntityId(77_777)]),
    "attempts.latest": lambda tx: attempts.latest(tx, WORLD, "t77777"),
    "attempts.step_rows": lambda tx: attempts.step_rows(tx, WORLD, "a77777"),
    "batches.unstaged": batches.unstaged,
    "results.find": lambda tx: results.find(tx, KEY),
    "batches.worlds_with_batches": batches.worlds_with_batches,
    "batches.waiting_batches": lambda tx: batches.waiting_batches(tx, WORLD),
    "results.find_all": lambda tx: results.find_all(tx, [KEY]),
    "receipts.behind": lambda tx: receipts.behind(tx, "activities"),
    "receipts.facts_of": lambda tx: receipts.facts_of(tx, WORLD, range(77_777, 77_877)),
    "receipts.listed": lambda tx: receipts.listed(tx, WORLD, [77_777, 77_778]),
    "bounds.places": lambda tx: bounds.places(tx, WORLD),
    "bounds.first": lambda tx: bounds.first(tx, WORLD, PLACE),
    "bounds.awaited": bounds.awaited,
}


@pytest.fixture(scope="module")
def crowded(wheel_template: Database) -> Iterator[Store]:
    """A database with a long past, its statistics as autovacuum leaves them."""
    with copied(wheel_template) as database:
        with database.connect(database.superuser_url, autocommit=True) as session:
            session.execute(_FILLING)
            session.execute("vacuum analyze")
        with closing(open_store(database.app_url, name="test-plans")) as store:
            yield store


@pytest.mark.parametrize("name", HOT)
def test_a_hot_statement_reads_no_more_than_it_needs(crowded: Store, name: str) -> None:
    """No part of its plan reads thousands of rows while 100,000 old ones lie in every table."""
    with crowded.begin() as tx:
        plans = explained(tx, HOT[name])

    wide = [line for plan in plans for line in too_wide(plan)]
    assert plans
    assert wide == [], "\n".join(json.dumps(plan, indent=1) for plan in plans)[:8000]


def test_the_relay_takes_its_batch_from_a_long_past(crowded: Store) -> None:
    """What waits is found and taken, with all that is over beside it."""
    taken = take_turns(crowded, {Kind(author.NAME): 0, Kind(command.NAME): 0}, slots=8)

    assert len(taken) == 20


def explained(tx: Tx, ask: Callable[[Tx], object]) -> list[dict[str, Any]]:
    """The plan of every statement that a store function sends, as it was carried out."""
    sent: list[tuple[str, Any]] = []

    def hear(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:
        sent.append((statement, parameters))

    event.listen(tx, "before_cursor_execute", hear)
    with tx.begin_nested():
        ask(tx)
    event.remove(tx, "before_cursor_execute", hear)
    plans = []
    cursor = tx.connection.cursor()
    for statement, parameters in sent:
        if statement.lstrip().lower().startswith(("select", "with", "update")):
            cursor.execute(f"explain (analyze, format json) {statement}", parameters)
            plans.append(cursor.fetchone()[0][0]["Plan"])
    tx.rollback()
    return plans


def too_wide(plan: dict[str, Any]) -> list[str]:
    """The parts of a plan that read more rows of a table than they should."""
    found = []
    if "Relation Name" in plan:
        kept, loops = plan["Actual Rows"], plan["Actual Loops"]
        read = (kept + plan.get("Rows Removed by Filter", 0)) * loops
        if read > MOST:
            found.append(f"{plan['Node Type']} of {plan['Relation Name']}: {read:.0f} rows")
    for part in plan.get("Plans", []):
        found += too_wide(part)
    return found
