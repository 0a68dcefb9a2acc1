"""Ctrl-C, signals and kills: what each means for the work and for the processes."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.role import naming
from fixtures.waiting import until

from app.cli import record
from app.cli.record import Child
from app.embedded import process

After = Callable[[subprocess.Popen[str], str], list[str]]
STARTED = "started"


@pytest.mark.contract("Q08")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_cancels_on_a_stack_of_ones_own(
    own: Fencepost, repository: Path, after: After, number: signal.Signals
) -> None:
    """Ctrl-C, or a closed terminal, ends the tree, closes the ref, exits 130, leaves no process."""
    running = own.begin("run", "--", "sleep", "300", at=repository)
    after(running, STARTED)

    running.send_signal(number)

    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert out.startswith("canceled: sleep 300")
    assert naming(own.home) == {}


def test_ctrl_c_twice_leaves_at_once(own: Fencepost, repository: Path, after: After) -> None:
    """The second Ctrl-C waits for nothing, and still leaves no process."""
    running = own.begin("run", "--", "sleep", "300", at=repository)
    after(running, STARTED)

    running.send_signal(signal.SIGINT)
    after(running, "cancels the attempt")
    running.send_signal(signal.SIGINT)

    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    (line,) = [line for line in err.splitlines() if line.startswith("leaves at once")]
    assert "was asked to stop" in line
    until(lambda: naming(own.home) == {})
    attempt = line.split()[-1]
    assert own("attempts", "show", attempt).code == 0


def test_ctrl_c_detaches_from_somebody_elses_stack(
    up: Fencepost, repository: Path, after: After
) -> None:
    """On a running `up` Ctrl-C leaves the work going, and says how to follow and to cancel it."""
    running = up.begin("run", "--", "sleep", "300", at=repository)
    after(running, STARTED)

    running.send_signal(signal.SIGINT)

    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    (line,) = [line for line in err.splitlines() if line.startswith("detached")]
    attempt = line.split()[1]
    assert up("attempts", "show", attempt).out.startswith("active: ")
    assert up("attempts", "cancel", attempt).code == 0
    until(lambda: up("attempts", "show", attempt, "--json").value["outcome"] == "canceled", 40)


def test_a_killed_run_leaves_nothing_for_long(
    own: Fencepost, repository: Path, after: After
) -> None:
    """Roles notice that their parent is gone; what still drains, and the servers, `down` ends."""
    running = own.begin("run", "--", "sleep", "300", at=repository)
    after(running, STARTED)

    running.kill()
    running.wait(20)

    until(lambda: not any("app.dispatcher" in line for line in naming(own.home).values()))
    assert own("down").code == 0
    assert naming(own.home) == {}


def test_a_dead_role_is_started_again(own: Fencepost) -> None:
    """The parent starts a killed role again, and says so."""
    own("up", "--detach")
    before = _roles(own)["worker"]

    os.kill(before.pid, signal.SIGKILL)

    until(lambda: _roles(own)["worker"] != before)
    assert "worker ended (signal 9)" in (own.home / "logs" / "up.log").read_text()


@pytest.mark.contract("Q06")
def test_down_says_what_was_handed_back(own: Fencepost, repository: Path) -> None:
    """What does not end within the grace is handed back; `down` says so, and the rows are kept."""
    own("up", "--detach")
    attempt = own("run", "--detach", "--", "sleep", "300", at=repository).out.strip()
    until(lambda: " started" in own("logs", attempt).out)

    said = own("down", "--grace", "1s")

    assert "handed back unfinished work (1)" in said.out
    assert own("attempts", "show", attempt).out.startswith("active: ")


def test_a_killed_up_is_swept_by_the_next(own: Fencepost) -> None:
    """After kill -9 of the parent another `up` adopts the servers and ends the old roles."""
    own("up", "--detach")
    old = _roles(own)
    up = record.find_up(own.home)
    assert up
    os.kill(up.pid, signal.SIGKILL)
    until(lambda: not process.is_alive(up.process))
    said = own("up", "--detach")

    assert said.code == 0, said.err
    assert not any(process.is_alive(role.process) for role in old.values())
    assert own("down").code == 0
    assert naming(own.home) == {}


def _roles(own: Fencepost) -> dict[str, Child]:
    up = record.find_up(own.home)
    return dict(up.roles) if up else {}
