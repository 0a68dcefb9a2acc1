"""The runner in a prefork pool: a slot that is a process, and dies by itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.seen import Seen
from fixtures.stack import Stack


def parents(pid: int) -> list[int]:
    """The processes above one, nearest first."""
    found: list[int] = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


@pytest.mark.contract("M06", "M07", "E06")
def test_a_forked_slot_that_is_killed_takes_its_run_along(
    stack: Stack, waiting: str, published_once: Callable[[Seen], None]
) -> None:
    """SIGKILL of one process of the pool: its tree ends, its neighbours live, and work goes on."""
    pool = stack.start_forked_worker(2)
    stack.start_dispatcher()
    run = f"echo $$ > {stack.outside}/run; {waiting}"
    first, second = stack.seen(stack.dispatch(run)), stack.outside / "run"
    stack.until(lambda: second.exists() and second.read_text().strip())
    shell = int(second.read_text())
    above = parents(shell)
    slot = above[above.index(pool.process.pid) - 1]

    os.kill(slot, signal.SIGKILL)

    stack.until(lambda: not Path(f"/proc/{shell}").exists())
    assert pool.is_alive
    (stack.outside / "go").touch()
    published_once(first)
    assert first.starts() == 2
