"""The executor `command/v1` runs any program."""

from __future__ import annotations

import os
import threading
from datetime import timedelta

import pytest

from workers.executors.base import Assignment, Spawned, Wrote
from workers.executors.registry import EXECUTORS


@pytest.fixture
def execute(tmp_path):
    """Run a program through the registry, and collect what happened."""

    def run(*argv, stop=None, heard=None):
        events = [] if heard is None else heard
        assignment = Assignment(
            argv=argv,
            tree=tmp_path,
            environment={"PATH": os.environ["PATH"]},
            marker={"FENCEPOST_OPERATION": f"executor-{os.getpid()}"},
            deadline=timedelta(seconds=30),
            stall=None,
        )
        outcome = EXECUTORS["command/v1"].run(
            assignment, on_event=events.append, stop=stop or threading.Event()
        )
        return outcome, events

    return run


def test_names_are_what_the_registry_says():
    """An executor is found by the name that it gives itself."""
    assert {name: executor.name for name, executor in EXECUTORS.items()} == {
        name: name for name in EXECUTORS
    }


@pytest.mark.contract("T10")
def test_cancels_but_never_resumes():
    """A command can be ended, and only be started anew."""
    capabilities = EXECUTORS["command/v1"].capabilities

    assert (capabilities.cancel, capabilities.resume) == (True, False)


def test_tells_what_happens_in_order(execute):
    """First that the program runs, then what it writes, then how it ended."""
    outcome, events = execute("sh", "-c", "echo $$; pwd")

    first, *rest = events
    written = b"".join(event.chunk for event in rest)
    assert isinstance(first, Spawned)
    assert all(isinstance(event, Wrote) for event in rest)
    assert int(written.split()[0]) == first.pid
    assert outcome.is_done


@pytest.mark.parametrize("argv", [("false",), ("no-such-program-here",)])
def test_another_exit_than_0_is_not_done(execute, argv):
    """A program that fails, or is not there, is not done."""
    outcome, _ = execute(*argv)

    assert not outcome.is_done


@pytest.mark.contract("O09")
def test_can_be_canceled(execute):
    """A stop during the run ends it."""
    stop = threading.Event()

    class Stopper(list):
        def append(self, event):
            super().append(event)
            stop.set()

    outcome, _ = execute("sleep", "60", stop=stop, heard=Stopper())

    assert outcome.ended.cause == "stopped"
    assert not outcome.is_done
