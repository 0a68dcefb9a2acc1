"""`fencepost up` tells a person in short, and a program everything."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.waiting import until

from app.cli import moment_told
from app.events import Event, Moment
from app.logs import line

ROLES = {"dispatcher", "worker"}
AT = "2026-11-30T00:46:09.481Z"


@pytest.fixture
def terminal(own: Fencepost) -> Iterator[Callable[[], str]]:
    """An `up` in front of a terminal; what it has shown there until now."""
    ours, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "FENCEPOST_HOME": str(own.home)}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.cli", "up"], env=environment, cwd=own.home.parent,
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    os.set_blocking(ours, False)
    seen = bytearray()

    def shown() -> str:
        with suppress(OSError):
            seen.extend(os.read(ours, 65536))
        return seen.decode("utf-8", "replace")

    yield shown
    process.send_signal(signal.SIGTERM)
    until(lambda: (shown(), process.poll() is not None)[1], 60)
    os.close(ours)


@pytest.mark.parametrize("moment", list(Moment))
def test_every_moment_is_told_or_left_to_the_log(moment: Moment) -> None:
    """Whatever facts it has: a line of few words without digests, or none."""
    facts: dict[str, str | int] = {
        "world": "w_1", "kind": "missions.author", "activity": "ab" * 32, "fence": 3,
        "what": "it 'fell' over", "code": "host_failed",
    }  # fmt: skip
    written = f"{AT} INFO {line('worker', Event(moment, facts))}"

    told = moment_told.words(written)

    assert moment_told.in_full("worker", written)["facts"] == {
        name: str(value) for name, value in facts.items()
    }
    assert told is None or (told.startswith("00:46:09  ") and "ab" * 8 not in told)
    assert (told is not None) == (moment in moment_told.WORDS)


@pytest.mark.parametrize("written", ["Traceback (most recent call last):", "", "a\x1b[2Jb"])
def test_what_nobody_of_ours_wrote_is_shown_as_it_is(written: str) -> None:
    """A library's line, or the end of a traceback; unable to steer the terminal."""
    assert moment_told.words(written) == written.replace("\x1b", "·")


def test_a_terminal_gets_short_lines_and_the_log_all(
    terminal: Callable[[], str], own: Fencepost, repository: Path
) -> None:
    """One line for each thing that people wait for, and none of a Redis that was never used."""
    until(lambda: "up: dispatcher and a worker" in terminal(), 60)
    assert own("run", "--", "sh", "-c", "echo y >> src/a.py", at=repository).code == 0

    until(lambda: "pull_request" in terminal() and "ended: green" in terminal())
    seen = [row.rstrip() for row in terminal().splitlines() if row.strip()]
    assert max(len(row) for row in seen if not row.startswith("fencepost ")) < 110
    assert [row for row in seen if "world=" in row or " INFO " in row] == []
    assert [row for row in seen if "emptied" in row] == []
    log = (own.home / "logs" / "dispatcher.log").read_text()
    assert "broker.wiped" not in log
    assert "world=" in log


def test_a_program_gets_every_line_as_an_object(own: Fencepost) -> None:
    """On standard output, the parent's own lines too."""
    process = own.begin("up", "--json")
    assert process.stdout
    found = []
    for row in process.stdout:
        found.append(json.loads(row))
        if {one["role"] for one in found if one.get("moment") == "role.started"} == ROLES:
            break
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=60)

    assert {one["role"] for one in found} == {"fencepost", *ROLES}
    assert json.loads(rest.splitlines()[-1]) == {"role": "fencepost", "line": "down"}
