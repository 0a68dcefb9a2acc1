"""Embedded servers that somebody kills under a stack: its parent brings them back."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.role import naming
from fixtures.waiting import until

from app.cli import record
from app.embedded import servers, valkey

After = Callable[[subprocess.Popen[str], str], list[str]]
BACK = "the embedded servers had ended; they run again"


def test_up_brings_killed_servers_back(own: Fencepost) -> None:
    """After kill -9 of both the stack has new ones within seconds, and says it once."""
    assert own("up", "--detach").code == 0
    old = _kill(own.home)

    until(lambda: (servers.alive(own.home) or old) != old and servers.running(own.home), 10)
    until(lambda: BACK in (own.home / "logs" / "up.log").read_text())

    assert own("status").out.count("servers     Fencepost's own; ") == 1
    assert (own.home / "logs" / "up.log").read_text().count(BACK) == 1


def test_a_run_outlives_its_servers(own: Fencepost, repository: Path, after: After) -> None:
    """A run whose servers are killed says so once each way, and still ends with its request."""
    go = repository.parent / "go"
    wait = f"until test -e {go}; do sleep 0.1; done; echo y = 2 >> src/a.py"
    running = own.begin("run", "--", "sh", "-c", wait, at=repository)
    said = after(running, "started")

    _kill(own.home)
    said += after(running, BACK)
    go.touch()

    out, err = running.communicate(timeout=80)
    assert running.returncode == 0, err
    assert out.startswith("pull request #1")
    told = "".join([*said, err])
    assert told.count("the database does not answer") == told.count("the database answers again")
    assert told.count("the database does not answer") <= 1
    assert naming(own.home) == {}


@pytest.mark.contract("Q11")
def test_a_frozen_valkey_keeps_no_reader_waiting(own: Fencepost) -> None:
    """Whoever only reads the database is answered; `status` says that Redis does not answer."""
    assert own("up", "--detach").code == 0
    both = servers.alive(own.home)
    assert both is not None
    os.kill(both[1].pid, signal.SIGSTOP)
    try:
        listed, status = own("attempts", "list"), own("status")
    finally:
        os.kill(both[1].pid, signal.SIGCONT)

    assert (listed.code, status.code) == (0, 0), listed.err + status.err
    assert "Postgres answers, Redis does not" in status.out


def test_roles_learn_a_new_address(own: Fencepost) -> None:
    """When somebody took the port meanwhile, the roles are started again with the new one."""
    assert own("up", "--detach").code == 0
    up, found = record.find_up(own.home), servers.running(own.home)
    assert up
    assert found
    port = int(found.redis_url.rpartition(":")[2].partition("/")[0])

    os.kill(up.pid, signal.SIGSTOP)
    _kill(own.home)
    until(lambda: valkey.is_free(port))
    with socket.create_server((valkey.HOST, port)):
        os.kill(up.pid, signal.SIGCONT)
        until(lambda: servers.running(own.home))

        until(lambda: own("status", "--json").value["workers"] == 1, 40)
    now = servers.running(own.home)
    assert now
    assert now.redis_url != found.redis_url


def _kill(home: Path) -> object:
    both = servers.alive(home)
    assert both
    for one in both:
        os.kill(one.pid, signal.SIGKILL)
    return both
