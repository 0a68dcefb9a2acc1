"""What takes part in a measurement, and how one is taken."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.ground import Ground, watching, writes
from fixtures.database import Database
from psycopg import Connection

WARMING = 8  #: tasks before anything is measured
PATIENCE = 45.0  #: seconds without another end


@dataclass(frozen=True, slots=True)
class Times:
    """One task's road, in seconds since the epoch."""

    submitted: float
    started: float
    done: float

    @property
    def wait(self) -> float:
        return self.started - self.submitted

    @property
    def work(self) -> float:
        return self.done - self.started


class Running(Protocol):
    """Workers that run, and a way of giving them tasks."""

    database: Database

    def submit(self, count: int) -> float: ...
    def done(self, session: Connection) -> int: ...
    def times(self, session: Connection) -> list[Times]: ...
    def workers(self) -> list[int]: ...
    def close(self) -> None: ...


class Contender(Protocol):
    """One way of having work done."""

    name: str
    lacks: str

    def open(self, ground: Ground, processes: int, slots: int, tasks: int) -> Running: ...


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen of one contender with so many worker processes."""

    name: str
    processes: int
    count: int
    submitting: float  #: seconds until the last was submitted
    seconds: float  #: until the last was done
    writes: float  #: transactions that wrote, for each task, of everybody
    resident: float  #: MB of a worker process
    loaded: Sequence[Times] = field(repr=False)
    idle: Sequence[Times] = field(repr=False)

    @property
    def rate(self) -> float:
        """Tasks a second, from the first submission to the last end."""
        return self.count / self.seconds


def measure(
    contender: Contender, ground: Ground, *, processes: int, slots: int, count: int, idle: int
) -> Measured:
    """Let it work: first one task at a time, then all at once, submitted by one process."""
    running = contender.open(ground, processes, slots, WARMING + idle + count)
    try:
        with watching(running.database) as session:
            for _ in range(WARMING):
                _one(running, session)
            for _ in range(idle):
                _one(running, session)
            before, begun = writes(session), time.perf_counter()
            submitting = running.submit(count)
            _until_done(running, session, WARMING + idle + count, 0.05)
            seconds = time.perf_counter() - begun
            wrote = writes(session) - before
            session.execute("analyze")
            times = running.times(session)
            resident = [_resident(pid) for pid in running.workers()]
    finally:
        running.close()
    return Measured(
        contender.name, processes, count, submitting, seconds, wrote / count,
        sum(resident) / len(resident), times[WARMING + idle :], times[WARMING : WARMING + idle],
    )  # fmt: skip


def _one(running: Running, session: Connection) -> None:
    before = running.done(session)
    running.submit(1)
    _until_done(running, session, before + 1, 0.01)


def _until_done(running: Running, session: Connection, count: int, pause: float) -> None:
    seen, moved_at = -1, time.monotonic()
    while (done := running.done(session)) < count:
        if done > seen:
            seen, moved_at = done, time.monotonic()
        elif time.monotonic() - moved_at > PATIENCE:
            raise TimeoutError(f"{done} of {count} tasks are done, and no more come")
        time.sleep(pause)


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
