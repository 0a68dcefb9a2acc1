"""Running a command under a supervisor of its own (PROTOCOL §9).

The worker speaks with the supervisor over pipes: control to it, output and status from it.
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

from workers.workspace.box import Box
from workers.workspace.output import Output, OutputTail
from workers.workspace.presence import alive, carrying, kill_all, kill_carrying

__all__ = ["Command", "Ended", "alive", "kill_all", "run"]

#: A module, and no script: Python keeps it compiled. The folder of our packages and the status
#: descriptor are its arguments.
_START = (
    "import sys; sys.path.append(sys.argv.pop(2)); from workers.workspace.{} import main; main()"
)
_OURS = Path(__file__).parents[2]  #: the folder of our packages
_CHUNK = 64 * 1024
_LOOK = 100  #: milliseconds between two looks at the wish to stop
_LAST = 2.0  #: seconds that a supervisor gets to end once it has nothing more to say
_BACKSTOP = timedelta(seconds=20)  #: after deadline and grace, a silent supervisor is given up
_DEAF = 5.0  #: seconds after a wish to stop and the grace; a run may have frozen its supervisor


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, with what in its environment, and for how long."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]  #: all of it; nothing is inherited
    deadline: timedelta
    stall: timedelta | None  #: the longest silence
    grace: timedelta = timedelta(seconds=2)  #: between TERM and KILL
    box: Box | None = None  #: None: with the worker's processes, network, files and user


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended; nothing of it is left running unless `survivors` says so."""

    exit: int | None
    signal: int | None  #: that ended the program itself
    #: exited, deadline, stalled, stopped, orphaned, lost; without a start: not_found,
    #: not_executable, not_isolated
    cause: str
    duration: timedelta
    output: OutputTail
    survivors: int = 0
    why: str = ""  #: it was not isolated

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
    on_error: Callable[[bytes], None] | None = None,
) -> Ended:
    """Run a command to its end, and the end of everything it started; blocks, in any thread.

    `on_output` is given the output as it comes, both streams merged in their order, unless there
    is an `on_error`: then stderr goes there, by a pipe of its own, and neither can tear a line of
    the other. `on_start` is given the program's pid. If one of them raises, the tree is ended
    before the error leaves. The cause `lost` means that the supervisor itself was killed; then
    its guard has ended its tree, and what carries the markers is killed from here too. One that
    does not answer is killed, which is as if it had done what it was to do.
    """
    began = _now()
    output = Output()
    if stop.is_set():
        return Ended(None, None, "stopped", timedelta(0), output.so_far())
    supervised = _Supervised(command, marker, is_apart=on_error is not None)

    def hears(listener: Callable[[bytes], None]) -> Callable[[bytes], None]:
        def hear(chunk: bytes) -> None:
            output.add(chunk)
            listener(chunk)

        return hear

    try:
        supervised.listen(hears(on_output), hears(on_error or on_output), on_start, stop)
    except BaseException:
        supervised.abandon()
        supervised.listen(output.add, output.add, None, stop)
        raise
    finally:
        supervised.close()
    duration = timedelta(seconds=_now() - began)
    status = supervised.status
    if (cause := str(status.get("cause", "lost"))) == "lost":
        gone = kill_carrying(marker)
        left = _number(status.get("survivors")) or 0 if gone else max(1, len(carrying(marker)))
        cause = supervised.gave_up or cause
        return Ended(None, None, cause, duration, output.so_far(), left)
    return Ended(
        exit=_number(status["exit"]),
        signal=_number(status["signal"]),
        cause=cause,
        duration=duration,
        output=output.so_far(),
        survivors=_number(status["survivors"]) or 0,
        why=str(status.get("why", "")),
    )


class _Supervised:
    """The worker's ends of the pipes of one supervisor."""

    def __init__(self, command: Command, marker: Mapping[str, str], *, is_apart: bool) -> None:
        self.status: dict[str, object] = {}
        self.gave_up = ""  #: why it was killed from here, although it was not gone
        self._marker = marker
        self._grace = command.grace.total_seconds()
        self._limit = _now() + (command.deadline + command.grace + _BACKSTOP).total_seconds()
        self._words = b""
        self._is_stopping = False
        if command.box is not None:
            command.box.give()
        self._status, status = os.pipe()
        start = _START.format("supervisor" if command.box is None else "confined")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", start, str(status), str(_OURS)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if is_apart else subprocess.DEVNULL,
                pass_fds=(status,), env=dict(marker), cwd="/", start_new_session=True, bufsize=0,
            )  # fmt: skip
        except BaseException:
            os.close(self._status)
            raise
        finally:
            os.close(status)
        self._tell(_spec(command, marker, is_apart=is_apart))

    def listen(
        self,
        on_output: Callable[[bytes], None],
        on_error: Callable[[bytes], None],
        on_start: Callable[[int], None] | None,
        stop: threading.Event,
    ) -> None:
        """Hear the supervisor until it has said its last word, and has closed its pipes."""
        listeners = {self._status: lambda chunk: self._hear(chunk, on_start)}
        streams = (self._process.stdout, on_output), (self._process.stderr, on_error)
        listeners |= {stream.fileno(): listener for stream, listener in streams if stream}
        poll = select.poll()
        for descriptor in listeners:
            poll.register(descriptor, select.POLLIN)
        while listeners:
            for ready, _ in poll.poll(_LOOK):
                chunk = os.read(ready, _CHUNK)
                if chunk:
                    listeners[ready](chunk)
                if not chunk or (ready == self._status and "cause" in self.status):
                    poll.unregister(ready)
                    del listeners[ready]
            if stop.is_set() and not self._is_stopping:
                self._is_stopping = True
                self._limit = min(self._limit, _now() + self._grace + _DEAF)
                self._tell(b"stop\n")
            if _now() > self._limit:
                self.gave_up = "stopped" if self._is_stopping else "deadline"
                kill_carrying(self._marker)

    def abandon(self) -> None:
        """Let the supervisor take us for dead: it ends the tree."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def close(self) -> None:
        """Let go of pipes and process."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        os.close(self._status)
        try:
            self._process.wait(_LAST)
        except subprocess.TimeoutExpired:  # whoever froze the guard does not hold us up
            self._process.kill()
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


def _spec(command: Command, marker: Mapping[str, str], *, is_apart: bool) -> bytes:
    spec = {
        "argv": list(command.argv),
        "cwd": str(command.cwd),
        "env": dict(command.env) | dict(marker),
        "deadline": command.deadline.total_seconds(),
        "stall": command.stall.total_seconds() if command.stall is not None else None,
        "grace": command.grace.total_seconds(),
        "apart": is_apart,
        "box": None if command.box is None else command.box.value(),
    }
    return json.dumps(spec).encode() + b"\n"


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
