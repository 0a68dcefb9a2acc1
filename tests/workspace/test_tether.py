"""A worker's own looks at a tree end with it, and when nobody wants to know any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fixtures.role import state_of
from fixtures.waiting import until

from app.repository.git import Interrupted
from workers.workspace.checkout import Checkout, open_checkout
from workers.workspace.presence import carrying
from workers.workspace.tether import Tether

HOLDER = """
import subprocess, sys
from workers.workspace.tether import Tether
with Tether() as tether:
    one = subprocess.Popen(["sleep", "600"], process_group=tether.group)
    print(one.pid, tether.group, flush=True)
    sys.stdin.read()
"""


def is_alive(pid: int) -> bool:
    """Whether it runs; what is dead may wait for its parent."""
    return state_of(pid) not in ("", "Z", "X")


@pytest.mark.contract("E06")
def test_a_killed_process_takes_them_with_it() -> None:
    """Nobody has to look for them afterwards."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        pids = [int(pid) for pid in holder.stdout.readline().split()]
        assert all(is_alive(pid) for pid in pids)

        holder.send_signal(signal.SIGKILL)

        until(lambda: not any(is_alive(pid) for pid in pids))


@pytest.mark.contract("E06")
@pytest.mark.parametrize("is_led", [True, False], ids=["led", "its leader was killed"])
def test_they_end_with_the_block(*, is_led: bool) -> None:
    """Whatever somebody did to the leader of the group."""
    with Tether() as tether:
        one = subprocess.Popen(["sleep", "600"], process_group=tether.group)
        if not is_led:
            os.kill(tether.group, signal.SIGKILL)

    assert one.wait(10) == -signal.SIGKILL


@pytest.fixture
def held(checkout: Checkout, tmp_path: Path) -> Iterator[Checkout]:
    """A checkout in which a folder calls itself a repository whose HEAD never ends."""
    beyond = tmp_path / "beyond"
    for folder in (beyond / "objects", beyond / "refs", checkout.tree / "nested"):
        folder.mkdir(parents=True)
    os.mkfifo(beyond / "HEAD")
    (checkout.tree / "nested" / ".git").write_text(f"gitdir: {beyond}\n")
    yield checkout
    assert not gits_of(checkout)


def gits_of(checkout: Checkout) -> list[int]:
    """The gits that work for a checkout."""
    return carrying({"GIT_DIR": str(checkout.git_dir)})


@pytest.mark.contract("E06", "Q08", "E03")
def test_a_tree_that_holds_its_reader_is_let_go(held: Checkout) -> None:
    """A cancel reaches the worker while it looks at what a run left."""
    with ThreadPoolExecutor() as pool:
        taken = pool.submit(held.snapshot)
        until(lambda: gits_of(held))

        held.stop.set()

        assert isinstance(taken.exception(10), Interrupted)


@pytest.mark.contract("E01", "Q08")
def test_no_tree_is_filled_for_nobody(checkout: Checkout, upstream: Any) -> None:
    """With the wish there, nothing is made, and nothing is left of it."""
    checkout.stop.set()
    folder, name = checkout.root.parent, "a2-author-1"

    with pytest.raises(Interrupted):
        open_checkout(
            folder, name, upstream.remote, checkout.base, upstream.objects, stop=checkout.stop
        )

    assert [one.name for one in folder.glob(f"{name}*")] == []
