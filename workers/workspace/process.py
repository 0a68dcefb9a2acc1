"""Running a command under a supervisor of its own (PROTOCOL §9).

The worker speaks with the supervisor over three pipes: control to it, output and status from it.
Whatever happens to the worker, closing its end of the control pipe ends the run's whole tree.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from workers.workspace.output import Output, OutputTail
from workers.workspace.presence import alive, carrying, kill_all, kill_carrying

__all__ = ["Command", "Ended", "alive", "kill_all", "run"]

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_CHUNK = 64 * 1024
_LOOK = 100  #: milliseconds between two looks at the wish to stop
_BACKSTOP = timedelta(seconds=20)  #: after deadline and grace, a silent supervisor is given up


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, with what in its environment, and for how long."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]  #: all of it; nothing is inherited
    deadline: timedelta
    stall: timedelta | None  #: the longest silence
    grace: timedelta = timedelta(seconds=2)  #: between TERM and KILL


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended; nothing of it is left running unless `survivors` says so."""

    exit: int | None
    signal: int | None  #: that ended the program itself
    cause: str  #: exited, deadline, stalled, stopped, orphaned, not_found, not_executable, lost
    duration: timedelta
    output: OutputTail
    survivors: int = 0

    @property
    def is_success(self) -> bool:
        """Whether the program ended by itself and said that all went well."""
        return self.cause == "exited" and self.exit == 0


def run(
    command: Command,
    *,
    on_output: Callable[[bytes], None],
    stop: threading.Event,
    marker: Mapping[str, str],
    on_start: Callable[[int], None] | None = None,
) -> Ended:
    """Run a command to its end, and the end of everything it started; blocks, in any thread.

    `on_output` is given the merged output as it comes, `on_start` the program's pid. If either
    raises, the tree is ended before the error leaves. The cause `lost` means that the supervisor
    itself was killed; then what carries the markers is killed from here.
    """
    began = _now()
    output = Output()
    if stop.is_set():
        return Ended(None, None, "stopped", timedelta(0), output.so_far())
    supervised = _Supervised(command, marker)

    def heard(chunk: bytes) -> None:
        output.add(chunk)
        on_output(chunk)

    try:
        supervised.listen(heard, on_start, stop)
    except BaseException:
        supervised.abandon()
        supervised.listen(output.add, None, stop)
        raise
    finally:
        supervised.close()
    duration = timedelta(seconds=_now() - began)
    status = supervised.status
    if "cause" not in status:
        gone = kill_carrying(marker)
        left = 0 if gone else max(1, len(carrying(marker)))
        return Ended(None, None, "lost", duration, output.so_far(), left)
    return Ended(
        exit=_number(status["exit"]),
        signal=_number(status["signal"]),
        cause=str(status["cause"]),
        duration=duration,
        output=output.so_far(),
        survivors=_number(status["survivors"]) or 0,
    )


class _Supervised:
    """The worker's ends of the pipes of one supervisor."""

    def __init__(self, command: Command, marker: Mapping[str, str]) -> None:
        self.status: dict[str, object] = {}
        self._limit = _now() + (command.deadline + command.grace + _BACKSTOP).total_seconds()
        self._words = b""
        self._is_stopping = False
        self._status, status = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", str(_SUPERVISOR), str(status)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                pass_fds=(status,), env=dict(marker), cwd="/", start_new_session=True, bufsize=0,
            )  # fmt: skip
        except BaseException:
            os.close(self._status)
            raise
        finally:
            os.close(status)
        self._tell(_spec(command, marker))

    def listen(
        self,
        on_output: Callable[[bytes], None],
        on_start: Callable[[int], None] | None,
        stop: threading.Event,
    ) -> None:
        """Hear the supervisor until it has closed both its pipes."""
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        poll = select.poll()
        is_open = {output, self._status}
        for descriptor in is_open:
            poll.register(descriptor, select.POLLIN)
        while is_open:
            for ready, _ in poll.poll(_LOOK):
                chunk = os.read(ready, _CHUNK)
                if not chunk:
                    poll.unregister(ready)
                    is_open.remove(ready)
                elif ready == output:
                    on_output(chunk)
                else:
                    self._hear(chunk, on_start)
            if stop.is_set() and not self._is_stopping:
                self._is_stopping = True
                self._tell(b"stop\n")
            if _now() > self._limit:
                self._process.kill()

    def abandon(self) -> None:
        """Let the supervisor take us for dead: it ends the tree."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def close(self) -> None:
        """Let go of pipes and process."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        os.close(self._status)
        self._process.wait()

    def _hear(self, chunk: bytes, on_start: Callable[[int], None] | None) -> None:
        *lines, self._words = (self._words + chunk).split(b"\n")
        for line in lines:
            said: dict[str, object] = json.loads(line)
            self.status |= said
            if on_start is not None and isinstance(pid := said.get("started"), int):
                on_start(pid)

    def _tell(self, words: bytes) -> None:
        assert self._process.stdin is not None
        try:
            while words:
                words = words[os.write(self._process.stdin.fileno(), words) :]
        except (OSError, ValueError):
            pass  # it is gone, or was abandoned; its pipes say so


def _spec(command: Command, marker: Mapping[str, str]) -> bytes:
    spec = {
        "argv": list(command.argv),
        "cwd": str(command.cwd),
        "env": dict(command.env) | dict(marker),
        "deadline": command.deadline.total_seconds(),
        "stall": command.stall.total_seconds() if command.stall is not None else None,
        "grace": command.grace.total_seconds(),
    }
    return json.dumps(spec).encode() + b"\n"


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
