"""A finished result that its remote does not take is kept, then a person's; nothing runs again."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from fixtures.world import a_claim, an_activity
from sqlalchemy import select

from app.store.engine import Store
from app.store.fencing import of_key
from app.store.schema import claims, unknowns
from workers import road
from workers.road import Road


class Never(threading.Event):
    """An interrupt that never comes, for which nobody waits."""

    def wait(self, timeout: float | None = None) -> bool:
        return False


@pytest.mark.contract("L4", "O11")
def test_a_result_that_cannot_be_published_is_held_and_not_handed_to_another_run(
    store: Store, worker_store: Store
) -> None:
    """Trouble with publishing costs no further run of the agent, however long it lasts."""
    held = a_claim(store, worker_store, an_activity(store))
    told: list[str] = []
    run: Any = SimpleNamespace(
        store=worker_store, claim=held,
        held=SimpleNamespace(interrupt=Never(), is_lost=False),
        journal=SimpleNamespace(tell=lambda kind, **value: told.append(value["why"])),
    )  # fmt: skip
    nothing: Any = SimpleNamespace(operation="an operation")
    mine = Road(run, nothing, nothing, nothing)

    while not mine.is_over:
        mine._rest("403: write access is not granted")

    with store.begin() as tx:
        code = tx.execute(select(unknowns.c.code).where(of_key(unknowns, held.key))).scalar_one()
        cause = tx.execute(select(claims.c.end_cause).where(of_key(claims, held.key))).scalar_one()
    assert (code, cause, len(told)) == ("not_published", "held", road.MOST_RESTS)
