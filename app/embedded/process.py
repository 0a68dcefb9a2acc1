"""Processes that outlive us: started apart, known again by pid and start time, ended for sure."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.embedded.account import Account

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}

# The shell ends at once, so the server is nobody's child, and opens the log as the server's user.
_APART = 'umask 077; exec "$@" </dev/null >>"$0" 2>&1 & echo $!'


@dataclass(frozen=True, slots=True)
class Process:
    """One process of this machine, not to be confused with a later one of the same pid."""

    pid: int
    started: int  #: clock ticks after boot, as the kernel counts them


def run(command: Sequence[str | Path], user: Account | None) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end as the given user, in a session and a clean environment."""
    return subprocess.run(
        command, cwd="/", env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True,
        start_new_session=True, check=False,
        user=user.uid if user else None, group=user.gid if user else None,
        extra_groups=[] if user else None,
    )  # fmt: skip


def launch(command: Sequence[str | Path], log: Path, user: Account | None) -> Process:
    """Start a server that survives us; it may have died again when this returns."""
    done = run(["/bin/sh", "-c", _APART, log, *command], user)
    pid = int(done.stdout)
    return Process(pid, started_at(pid) or 0)


def started_at(pid: int) -> int | None:
    """When the process started; None if there is none, or only what its parent must still reap."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(b")")[2].split()
    return None if state in (b"Z", b"X") else int(fields[18])


def is_alive(process: Process) -> bool:
    """Whether this very process still runs."""
    return started_at(process.pid) == process.started


def find(user: Account | None, *arguments: str | Path) -> list[Process]:
    """The user's processes whose first arguments are these."""
    wanted = [os.fsencode(argument) for argument in arguments]
    return [
        process
        for process, command in commands(user)
        if command.split(b"\0")[1 : len(wanted) + 1] == wanted
    ]


def titled(user: Account | None, title: str) -> list[Process]:
    """The user's processes that call themselves by a title that begins so."""
    return [process for process, line in commands(user) if line.startswith(title.encode())]


def commands(user: Account | None) -> Iterator[tuple[Process, bytes]]:
    """Every process of the user and its command line, NUL between the arguments."""
    uid = user.uid if user else os.geteuid()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid != uid:
                continue
            command = (entry / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if (started := started_at(int(entry.name))) is not None:
            yield Process(int(entry.name), started), command


def end(process: Process, *signals: tuple[signal.Signals, float]) -> None:
    """Send each signal in turn, wait its seconds, then kill; the process is gone afterwards."""
    for number, patience in (*signals, (signal.SIGKILL, 60.0)):
        if not is_alive(process):
            return
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return
        if is_gone_within(process, patience):
            return
    raise TimeoutError(f"process {process.pid} cannot be killed")


def await_dying(pid: int, seconds: float = 10.0) -> None:
    """Wait for a process that gave its memory back already, and so is on its way out."""
    deadline = time.monotonic() + seconds
    while started_at(pid) is not None and time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes():
                return  # it lives
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.01)


def is_gone_within(process: Process, seconds: float) -> bool:
    """Wait for the end of a process."""
    deadline = time.monotonic() + seconds
    while is_alive(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
