"""The supervisor of one run: starts the agent, watches it, and outlives every process of it (E06).

It is run as a script with nothing but the standard library (PROTOCOL §9). Descriptor 0 is the
control pipe: one line of JSON with the run, then perhaps a line `stop`; its end means that the
worker is gone. Descriptor 1 carries the agent's output, both streams merged. The descriptor named
by the first argument carries the status: one line when the agent has started, one when its tree
is gone.

As sub-reaper it inherits every descendant whose parent dies, so "I have no children" is the proof
that nothing of the run is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn

CONTROL, OUTPUT = 0, 1
CHUNK = 64 * 1024
HELD = 1024 * 1024  #: bytes held for a worker that reads slowly; then the agent has to wait
PROOF = 10.0  #: seconds that killed processes get to be gone
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Run what the control pipe asks for, and report."""
    status = int(sys.argv[1])
    os.set_inheritable(status, False)
    spec = read_spec()
    if spec is None:
        return
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        return
    run = Run(spec)
    try:
        agent = run.start()
    except OSError as fault:
        found = fault.errno not in (errno.ENOENT, errno.ENOTDIR)
        tell(status, report(None, None, "not_executable" if found else "not_found", 0))
        return
    tell(status, {"started": agent})
    survivors = run.watch()
    run.flush()
    tell(status, report(agent, run.ended, run.cause or "exited", survivors))


def read_spec() -> dict[str, Any] | None:
    """The run as the worker describes it; None when the worker went away first."""
    data = b""
    while not data.endswith(b"\n"):
        chunk = os.read(CONTROL, CHUNK)
        if not chunk:
            return None
        data += chunk
    spec: dict[str, Any] = json.loads(data)
    return spec


def report(agent: int | None, ended: int | None, cause: str, survivors: int) -> dict[str, Any]:
    """The last status line."""
    code = None if ended is None else os.waitstatus_to_exitcode(ended)
    return {
        "pid": agent,
        "exit": code if code is not None and code >= 0 else None,
        "signal": -code if code is not None and code < 0 else None,
        "cause": cause,
        "survivors": survivors,
    }


def tell(status: int, line: dict[str, Any]) -> None:
    """Write a status line; a worker that is gone does not read it, and that is all right."""
    with contextlib.suppress(OSError):
        os.write(status, json.dumps(line).encode() + b"\n")


class Run:
    """One agent and everything that descends from it."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.agent = 0
        self.ended: int | None = None  #: the agent's wait status
        self.cause = ""  #: why the tree has to end; empty while it may live
        self.asked = ""  #: what the control pipe or a signal asked for
        self.source = self.wake = -1  #: the agent's output; the signals
        self.control: int = CONTROL
        self.sink: int = OUTPUT
        self.held = bytearray()  #: output that the worker has not taken yet
        self.heard = now()  #: when the agent last gave a sign of life

    def start(self) -> int:
        """Start the agent in a session of its own; a program that cannot run is an OSError."""
        self.wake = listen_to_signals(self)
        self.source, output = os.pipe()
        trouble, complaint = os.pipe()
        self.agent = os.fork()
        if self.agent == 0:
            become(self.spec, output, complaint)
        os.close(output)
        os.close(complaint)
        failed = os.read(trouble, 16)
        os.close(trouble)
        if failed:
            os.waitpid(self.agent, 0)
            raise OSError(int(failed), "cannot execute")
        for descriptor in (self.source, self.sink):
            os.set_blocking(descriptor, False)
        self.heard = now()
        return self.agent

    def watch(self) -> int:
        """Stay until the tree is gone: the agent's end, a limit or a wish, TERM, grace, KILL.

        Returns how many processes are left that could not be killed; 0 is proven.
        """
        deadline = now() + self.spec["deadline"]
        kill_from = give_up = float("inf")
        while self.reap():
            moment = now()
            if not self.cause:
                self.cause = self.reason(moment, deadline)
                if self.cause:
                    send(signal.SIGTERM)
                    send(signal.SIGCONT)  # a stopped process cannot hear TERM
                    kill_from = moment + self.spec["grace"]
                    give_up = kill_from + PROOF
            if moment >= give_up:
                return len(descendants())
            if moment >= kill_from:
                send(signal.SIGKILL)
                self.pump(0.02)
            else:
                limit = kill_from if self.cause else min(deadline, self.stalls_at())
                self.pump(limit - moment)
        return 0

    def reason(self, moment: float, deadline: float) -> str:
        """Why the tree has to end now, or nothing."""
        if self.asked:  # first: what told us to end may have ended the agent too
            return self.asked
        if self.ended is not None:
            return "exited"
        if moment >= deadline:
            return "deadline"
        return "stalled" if moment >= self.stalls_at() else ""

    def stalls_at(self) -> float:
        """When silence becomes a stall; an agent that waits for a slow worker is not silent."""
        limit = self.spec["stall"]
        if limit is None or len(self.held) >= HELD:
            return float("inf")
        return self.heard + float(limit)

    def reap(self) -> bool:
        """Collect what has ended; False once no child is left."""
        while True:
            try:
                pid, ended = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.agent:
                self.ended = ended

    def pump(self, seconds: float) -> None:
        """Move output, hear the worker and the signals, for at most so long."""
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        if self.control >= 0:
            poll.register(self.control, select.POLLIN)
        if self.source >= 0 and len(self.held) < HELD:
            poll.register(self.source, select.POLLIN)
        if self.held:
            poll.register(self.sink, select.POLLOUT)
        # Poll's clock stands still while the machine sleeps; ours does not.
        for ready, _ in poll.poll(1000 * min(max(seconds, 0.0), 1.0)):
            if ready == self.wake:
                os.read(self.wake, CHUNK)
            elif ready == self.source:
                self.take()
            elif ready == self.sink:
                self.give()
            else:
                self.hear()

    def take(self) -> bool:
        """Read from the agent; False when there is nothing more at the moment."""
        try:
            chunk = os.read(self.source, CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            os.close(self.source)
            self.source = -1
            return False
        self.heard = now()
        if self.sink >= 0:
            self.held += chunk
        return True

    def give(self) -> None:
        """Write to the worker as much as it takes."""
        try:
            del self.held[: os.write(self.sink, self.held[:CHUNK])]
            self.heard = now()
        except BlockingIOError:
            pass
        except OSError:
            self.sink = -1
            self.held.clear()

    def hear(self) -> None:
        """Hear the worker: a wish, or that it is gone."""
        words = os.read(self.control, CHUNK)
        if not words:
            self.control = -1
        self.asked = self.asked or ("stopped" if words else "orphaned")

    def flush(self) -> None:
        """Hand over what the tree left in its pipe, for as long as somebody may read it."""
        for _ in range(2 * HELD // CHUNK):  # bounded: an outsider may hold the pipe, and write
            if self.source < 0 or not self.take():
                break
        self.source = -1
        while self.held and self.control >= 0:
            self.pump(1.0)


def listen_to_signals(run: Run) -> int:
    """Let the end of a child wake the poll, and a signal to end be a wish like the worker's."""

    def wish(number: int, frame: object) -> None:
        run.asked = run.asked or "stopped"

    wake, knock = os.pipe()
    for end in (wake, knock):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(knock, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, wish)
    return wake


def become(spec: dict[str, Any], output: int, complaint: int) -> NoReturn:
    """In the forked child: turn into the agent, or say why not."""
    try:
        os.setsid()
        for name in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(name, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.chdir(spec["cwd"])
        nothing = os.open(os.devnull, os.O_RDONLY)
        for descriptor, place in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(descriptor, place)
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as fault:
        os.write(complaint, str(fault.errno or errno.EINVAL).encode())
    except ValueError:  # no program named, or a NUL in a name
        os.write(complaint, str(errno.EINVAL).encode())
    finally:
        os._exit(127)  # a copy of the supervisor must not live on, whatever went wrong


def send(number: int) -> None:
    """Signal every descendant there is at this moment."""
    for pid in descendants():
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def descendants() -> list[int]:
    """The pids below this process, from one look through /proc.

    Zombies count: a process whose first thread has ended looks like one, and still runs.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(name))
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def now() -> float:
    """Seconds on a clock that also counts while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


if __name__ == "__main__":
    main()
