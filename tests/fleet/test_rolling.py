"""A rolling restart: workers are replaced one after the other while attempts flow."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack

pytestmark = pytest.mark.contract("Q06")


@pytest.mark.parametrize(
    ("attempts", "workers"),
    [
        pytest.param(40, 2, id="small"),
        pytest.param(200, 4, id="large", marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
)
def test_a_rolling_restart_costs_no_attempt(stack: Stack, attempts: int, workers: int) -> None:
    """Every attempt ends well, its program ran once, and there is one request for each."""
    stack.settings = {"FENCEPOST_LEASE": "60"}
    stack.start_dispatcher()
    fleet = [stack.start_worker(slots=2) for _ in range(workers)]
    log = stack.outside / "log"
    command = f"echo $FENCEPOST_ATTEMPT >> {log}; sleep 0.05; echo 'y = 2' >> a.py"
    flow = [stack.seen(stack.dispatch(command)) for _ in range(attempts // 4)]

    for number, old in enumerate(fleet):
        new = stack.start_worker(slots=2)
        stack.until(lambda: new.says("role.started"))  # noqa: B023
        stack.until(lambda: begun(log) > number)  # noqa: B023
        restart(old, to_group=number % 2 == 1)
        more = (attempts - len(flow)) // (workers - number)
        flow += [stack.seen(stack.dispatch(command)) for _ in range(more)]

    stack.until(lambda: all(seen.is_over for seen in flow), 60 + attempts)
    assert Counter(seen.outcome for seen in flow) == {"done": attempts}
    assert executions(log) == {seen.attempt.id: 1 for seen in flow}
    assert requests(flow) == {seen.attempt.id: 1 for seen in flow}


def restart(old: Role, *, to_group: bool) -> None:
    """Tell it to end, as a container runtime would, and see it gone in good order."""
    if to_group:
        old.tell_group()
    else:
        old.process.terminate()
    assert old.process.wait(30) == 0


def begun(log: Path) -> int:
    return sum(executions(log).values())


def executions(log: Path) -> Counter[str]:
    """How often each attempt's program has run."""
    return Counter(log.read_text().split()) if log.exists() else Counter()


def requests(flow: list[Seen]) -> dict[str, int]:
    """How many requests the forge has for each attempt."""
    heads = Counter(request.head for request in flow[0].requests)
    return {seen.attempt.id: heads[str(seen.request.branch)] for seen in flow}
