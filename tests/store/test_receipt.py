"""Receipts are chained, and reading one again changes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import cast

import pytest
from fixtures.road import (
    carry_out,
    count,
    newest_facts,
    newest_receipt,
)
from fixtures.world import (
    Attempt,
    a_claim,
    a_result,
    activity_of,
    author_observation,
    catch_up,
)
from sqlalchemy import select

from app.domain.digest import Json, canonical, parse
from app.domain.errors import FencepostError, UnfitInput
from app.domain.result import Observation, Outcome
from app.kinds import author
from app.store import results, schema, worlds
from app.store.engine import Store
from app.store.schema import activities as activity_rows
from app.store.schema import deliveries, settlements, staged_batches
from app.transitions.admit import project
from app.transitions.change import LOCAL, Command, changing
from app.transitions.stage import stage
from app.transitions.tick import tick

FORGE = Command("forge", LOCAL, {})


@pytest.mark.contract("S04", "L10", "L7")
def test_receipts_are_chained_by_digest(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """Each receipt names the digest of the one before and of every fact that it made visible."""
    carry_out(store, worker_store, attempt, author_observation())
    with store.begin() as tx:
        rows = tx.execute(
            select(schema.receipts)
            .where(schema.receipts.c.world_id == attempt.world)
            .order_by(schema.receipts.c.tick)
        ).all()
        head = worlds.lock(tx, attempt.world)
    visible = [newest_facts(store, attempt.world, row.tick) for row in rows]

    previous = None
    for number, (row, facts) in enumerate(zip(rows, visible, strict=True), 1):
        content = cast("Mapping[str, Json]", parse(row.bytes))
        assert row.tick == content["tick"] == number
        assert row.previous == content["previous"] == previous
        assert row.digest == hashlib.sha256(row.bytes).hexdigest()
        assert sorted(cast("list[list[Json]]", content["facts"])) == sorted(
            [fact.entity, fact.component, fact.version, fact.digest] for fact in facts
        )
        previous = row.digest
    assert (head.tick, head.last) == (len(rows), previous)
    assert [row.verb for row in rows] == [
        "add_repository", "draft", "submit", "approve", "move", "dispatch", "observe",
    ]  # fmt: skip


@pytest.mark.contract("M02", "M03")
def test_projecting_again_is_a_no_op(store: Store, attempt: Attempt) -> None:
    """A receipt that is read twice admits its activity once, with one delivery."""
    last = cast("int", newest_receipt(store, attempt.world)["tick"])

    project(store, attempt.world, range(last, last + 1))

    assert count(store, deliveries) == 1
    assert count(store, activity_rows) == 1


@pytest.mark.contract("M03")
def test_admission_with_another_request_fails_closed(store: Store, attempt: Attempt) -> None:
    """A second dispatch of the same id with other content is refused, and nothing is admitted."""
    with store.begin() as tx:
        dispatched = next(
            fact
            for fact in newest_facts(store, attempt.world, 6)
            if fact.component == author.DISPATCH
        )
        with changing(tx, attempt.world, FORGE) as change:
            change.world.put(
                dispatched.entity, author.DISPATCH, 1, {**dispatched.value, "title": "Other"}
            )

    with pytest.raises(FencepostError) as refusal:
        catch_up(store, attempt.world)

    assert refusal.value.code == "digest_conflict"
    assert count(store, deliveries) == 1


@pytest.mark.contract("M09", "M10", "A05")
def test_restaging_is_a_no_op(store: Store, worker_store: Store, attempt: Attempt) -> None:
    """A result is staged once, before and after its batch is consumed, and observed once."""
    held = a_claim(store, worker_store, activity_of(store, attempt))
    recorded = a_result(worker_store, held, author_observation())

    stage(store, [recorded])
    stage(store, [recorded])
    assert tick(store, attempt.world) == 1
    stage(store, [recorded])
    assert tick(store, attempt.world) == 0

    assert count(store, staged_batches) == 1
    catch_up(store, attempt.world)
    assert count(store, settlements) == 1


@pytest.mark.contract("M11", "M13")
def test_settling_again_is_a_no_op(store: Store, worker_store: Store, attempt: Attempt) -> None:
    """The receipt of the observation settles as often as it is read, without another tick."""
    carry_out(store, worker_store, attempt, author_observation())
    before = newest_receipt(store, attempt.world)

    tick_of_it = cast("int", before["tick"])
    project(store, attempt.world, range(tick_of_it, tick_of_it + 1))

    assert count(store, settlements) == 1
    assert newest_receipt(store, attempt.world) == before


@pytest.mark.contract("L6", "A11")
def test_result_that_cannot_be_staged_changes_nothing(
    store: Store, worker_store: Store, attempt: Attempt
) -> None:
    """It is refused before it is recorded; one written past the code leaves no prefix behind."""
    held = a_claim(store, worker_store, activity_of(store, attempt))
    value = dict(author_observation().value)
    broken = Observation(Outcome.GREEN, canonical({**value, "candidate": "none"}))
    with pytest.raises(UnfitInput):
        a_result(worker_store, held, broken)
    with worker_store.begin() as tx:
        recorded = results.record(tx, held, broken)
    stage(store, [recorded])
    before = newest_receipt(store, attempt.world)

    consumed = tick(store, attempt.world)

    assert consumed == 0
    assert newest_receipt(store, attempt.world) == before
