"""The control plane's road without worker processes: dispatch, project, record, stage, settle."""

from __future__ import annotations

import hashlib

import pytest
from fixtures.road import (
    carry_out,
    count,
    ended,
    entities_with,
    newest_edges,
    newest_facts,
    operation_of,
    steps_of,
    task_entity,
)
from fixtures.world import (
    BASE,
    Attempt,
    a_claim,
    a_dispatched_attempt,
    a_result,
    a_world,
    activity_of,
    author_observation,
    catch_up,
    column_of,
    observe,
    pull_request_observation,
)
from sqlalchemy import select

from app.domain.board import AttemptOutcome, Column, StepState
from app.domain.digest import Json
from app.domain.identity import ActivityKey
from app.domain.result import Outcome
from app.domain.world import Relation
from app.kinds import pull_request
from app.kinds.ending import ending
from app.store import results
from app.store.engine import Store
from app.store.schema import dead_letters, settlements
from app.transitions.cancel import cancel
from app.transitions.change import DISPATCHER, LOCAL, Command, changing
from app.transitions.retry import retry


@pytest.mark.contract("Q01", "A01", "A02", "A06", "L9", "L10", "O10")
def test_attempt_walks_the_road_to_its_pull_request(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """Green work becomes a candidate, the candidate a pull request, and the task is for review."""
    assert column_of(store, attempt) is Column.IN_PROGRESS

    carry_out(store, worker_store, attempt, author_observation())
    assert steps_of(store, attempt) == ["succeeded", "dispatched"]
    assert ended(store, attempt) is None

    carry_out(store, worker_store, attempt, pull_request_observation(), pull_request.NAME)
    assert steps_of(store, attempt) == ["succeeded", "succeeded"]
    assert ended(store, attempt) == AttemptOutcome.DONE
    assert column_of(store, attempt) is Column.REVIEW
    assert count(store, settlements) == 2


@pytest.mark.contract("L9", "A09", "O05")
@pytest.mark.parametrize(
    ("outcome", "column", "step"),
    [
        (Outcome.UNCHANGED, Column.DONE, StepState.SUCCEEDED),
        (Outcome.FAILED, Column.IN_PROGRESS, StepState.FAILED),
        (Outcome.CANCELED, Column.READY, StepState.CANCELED),
        (Outcome.DEAD, Column.IN_PROGRESS, StepState.FAILED),
        (Outcome.ABANDONED, Column.READY, StepState.CANCELED),
    ],
)
def test_every_other_ending_takes_the_same_road(
    store: Store, worker_store: Store, attempt: Attempt,
    outcome: Outcome, column: Column, step: StepState,
) -> None:  # fmt: skip
    """It is recorded, staged, observed and settled, has no candidate, and ends the attempt."""
    carry_out(store, worker_store, attempt, author_observation(outcome))

    components = [fact.component for fact in newest_facts(store, attempt.world)]
    assert "Candidate" not in components
    assert components.count("AgentExecution") == 1
    assert count(store, settlements) == 1
    assert ended(store, attempt) == outcome
    assert column_of(store, attempt) is column
    below = StepState.SKIPPED if outcome is Outcome.UNCHANGED else StepState.BLOCKED
    assert steps_of(store, attempt) == [step, below]


@pytest.mark.contract("L9", "Q04")
def test_dead_work_is_a_recorded_result_and_a_dead_letter(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """What was started too often ends by the road, too, and is listed once among the dead."""
    carry_out(store, worker_store, attempt, ending(Outcome.DEAD, "poison", "five starts"))

    assert ended(store, attempt) == AttemptOutcome.DEAD
    with store.begin() as tx:
        assert tx.execute(select(dead_letters.c.activity_id)).scalars().all() == [
            activity_of(store, attempt).activity
        ]


@pytest.mark.contract("Q08", "L9")
def test_cancelled_work_that_nobody_claimed_ends_by_the_road(
    store: Store, attempt: Attempt
) -> None:
    """The control plane records the end under a fence of its own, and the rest is as always."""
    cancel(store, attempt.world, LOCAL, attempt.id, "no longer wanted")
    observe(store, attempt.world)

    assert ended(store, attempt) == AttemptOutcome.CANCELED
    assert column_of(store, attempt) is Column.READY
    assert count(store, settlements) == 1


@pytest.mark.contract("A01")
def test_dispatch_id_counts_the_dispatches_of_the_task(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """The id is the SHA-256 of entity and sequence, and the sequence counts from one."""
    carry_out(store, worker_store, attempt, author_observation(Outcome.FAILED))
    again = Attempt(
        attempt.world,
        attempt.task,
        retry(store, attempt.world, LOCAL, attempt.task, BASE, "the mirror is warm now"),
    )
    catch_up(store, attempt.world)

    entity = task_entity(store, attempt)
    for number, one in ((1, attempt), (2, again)):
        expected = hashlib.sha256(f"{entity}:{number}".encode()).hexdigest()
        assert activity_of(store, one).activity == expected


@pytest.mark.contract("A09")
def test_author_observation_has_the_names_of_the_seed(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """One sandbox, one execution, one edge for each product, one candidate."""
    carry_out(store, worker_store, attempt, author_observation())
    task = task_entity(store, attempt)
    one = {
        fact.component: fact.entity
        for fact in newest_facts(store, attempt.world)
        if fact.entity != task
    }

    assert sorted(fact.component for fact in newest_facts(store, attempt.world)) == [
        "AgentExecution", "Candidate", "Commit", "CompleteAuthorActivityObservation", "Friction",
        "PullRequestDispatch", "Sandbox", "Validation",
    ]  # fmt: skip
    execution = one["AgentExecution"]
    assert newest_edges(store, attempt.world) == {
        Relation(one["Sandbox"], "PartOfMission", task),
        Relation(execution, "Executes", task),
        Relation(execution, "RunsIn", one["Sandbox"]),
        Relation(one["Validation"], "ProducedBy", execution),
        Relation(one["Commit"], "ProducedBy", execution),
        Relation(one["Friction"], "ProducedBy", execution),
        Relation(one["Candidate"], "CandidateFor", task),
        Relation(one["Candidate"], "AuthoredBy", execution),
    }


@pytest.mark.contract("A09")
def test_candidate_supersedes_the_one_before(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """The next attempt's candidate names the earlier one of its task."""
    carry_out(store, worker_store, attempt, author_observation())
    (first,) = entities_with(store, attempt.world, "Candidate")
    carry_out(
        store, worker_store, attempt, pull_request_observation(Outcome.FAILED), pull_request.NAME
    )
    again = retry(store, attempt.world, LOCAL, attempt.task, BASE, "the forge is back")
    catch_up(store, attempt.world)

    carry_out(
        store, worker_store, Attempt(attempt.world, attempt.task, again), author_observation()
    )

    (second,) = entities_with(store, attempt.world, "Candidate")
    assert Relation(second, "Supersedes", first) in newest_edges(store, attempt.world)


@pytest.mark.contract("M14")
def test_worlds_with_one_dispatch_id_are_independent(store: Store, worker_store: Store) -> None:
    """Two worlds derive the same id: claims, operations, results and settlements stay apart."""
    here, there = (a_dispatched_attempt(store, a_world(store)) for _ in range(2))
    for one in (here, there):
        catch_up(store, one.world)
    mine, yours = activity_of(store, here), activity_of(store, there)
    assert mine.activity == yours.activity

    carry_out(store, worker_store, here, author_observation(Outcome.UNCHANGED))

    assert ended(store, here) == AttemptOutcome.UNCHANGED
    assert ended(store, there) is None
    with store.begin() as tx:
        assert results.find(tx, yours) is None
    assert operation_of(store, here) != operation_of(store, there)
    carry_out(store, worker_store, there, author_observation(Outcome.FAILED))
    assert ended(store, there) == AttemptOutcome.FAILED


@pytest.mark.contract("M15")
def test_kinds_with_one_id_are_independent(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """The kind is part of the key: the same id under two kinds is two activities."""
    theirs = activity_of(store, attempt)
    mine = ActivityKey(theirs.world, pull_request.NAME, theirs.activity)
    with (
        store.begin() as tx,
        changing(tx, attempt.world, Command("observe", DISPATCHER, {})) as change,
    ):
        value: dict[str, Json] = {"dispatch_id": theirs.activity, "attempt": attempt.id}
        change.world.put(change.world.spawn(), pull_request.DISPATCH, 1, value)
    catch_up(store, attempt.world)

    held, other = (a_claim(store, worker_store, key) for key in (theirs, mine))
    a_result(worker_store, held, author_observation())

    assert (held.fence, other.fence) == (1, 1)
    with store.begin() as tx:
        assert results.find(tx, mine) is None
        assert results.find(tx, theirs) is not None
