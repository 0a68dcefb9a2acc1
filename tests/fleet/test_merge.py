"""Serial work on one base: the next writer begins once the last request is merged or closed."""

from __future__ import annotations

import pytest
from fixtures.stack import Stack
from fixtures.world import Attempt

from app.repository import requests
from app.repository.mirror import Mirror
from app.store import board
from app.store.views.waiting import waits_of
from app.transitions.change import LOCAL
from app.transitions.dispatch import dispatch


@pytest.mark.contract("O08")
def test_the_next_writer_begins_when_the_request_is_merged(stack: Stack) -> None:
    """The dispatcher looks at the forge by itself; meanwhile it is said what is waited for."""
    first, second = (a_serial_attempt(stack, word) for word in ("one", "two"))
    stack.build()
    stack.until(lambda: stack.seen(first).outcome == "done")

    with stack.store.begin() as tx:
        order = board.task(tx, stack.world, second.task).work_order
        (wait,) = waits_of(tx, stack.world, second.id, order)
    assert (wait.step, wait.bound, wait.base) == ("author", "merge", "main")
    assert [(one.attempt, one.request) for one in wait.writers] == [(first.id, 1)]
    assert (stack.count("one"), stack.count("two")) == (1, 0)

    (mirror,) = (stack.home / "forge").glob("*.git")
    requests.merge(Mirror(mirror), 1)

    stack.until(lambda: stack.seen(second).outcome == "done")
    assert (stack.count("one"), stack.count("two")) == (1, 1)
    merged = requests.show(Mirror(mirror), 1).merged_sha
    assert stack.seen(second).request.base == merged


def a_serial_attempt(stack: Stack, word: str) -> Attempt:
    """Work that changes a file of its own, and shares its base with nobody."""
    task, base = stack.ready(f"{stack.counted(word)}; echo x > {word}.py", parallel=1)
    return Attempt(stack.world, task, dispatch(stack.store, stack.world, LOCAL, task, base))
