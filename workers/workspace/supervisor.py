"""The supervisor of one run: starts the agent, watches it, and outlives every process of it (E06).

It is started as `python -I -S -c`, with the folder of our packages as the last place to import from
and nothing but the standard library in use (PROTOCOL §9). Descriptor 0 is the control pipe: one
line of JSON with the run, then perhaps a line `stop`; its end means that the worker is gone.
Descriptor 1 carries the agent's output: both streams merged, or its stdout alone
and descriptor 2 its stderr, where the run asks for them apart. The descriptor named by the first
argument carries the status: one line when the agent has started, one when its tree is gone.

As sub-reaper it inherits every descendant whose parent dies, so "I have no children" is the proof
that nothing of the run is left. It is two processes: the first, the guard, only waits for the
second; whoever kills that one leaves its tree to the guard, which ends it. A guard that waits is
as small as a shell.
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

TYPE_CHECKING = False
if TYPE_CHECKING:  # each run would pay for them
    from collections.abc import Callable
    from typing import Any, NoReturn

CONTROL, OUTPUT, ERRORS = 0, 1, 2
CHUNK = 64 * 1024
HELD = 1024 * 1024  #: bytes of a stream held for a slow worker; then the agent has to wait
BLOWS = 200  #: at the children between two looks at all that descends
PROOF = 10.0  #: seconds that killed processes get to be gone
SHELL = "/bin/sh"
#: The supervisor's last word, and the end of its pipe. A shell that waits for any child of its own
#: buries this one with it.
WAIT = (
    'pid=$1; shift; read -r word; read -r end; [ "$word" = ended ] || exec "$@"; '
    'while kill -0 "$pid"; do (:); done'
)
ENDED = b"ended\n"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> None:
    """Run what the control pipe asks for, as the same user and with the same rights.

    With another argument after the status: the supervisor is lost, and its tree is ended.
    """
    if len(sys.argv) > 2:
        end_what_is_left(int(sys.argv[1]))
    else:
        supervise(Run)


def supervise(kind: type[Run]) -> None:
    """Run what the control pipe asks for, and report, below a guard."""
    status = int(sys.argv[1])
    os.set_inheritable(status, False)
    heard, word = os.pipe()
    guard = os.getpid()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    if supervisor := os.fork():
        stand_guard(supervisor, status, heard)
    os.close(heard)
    os.register_at_fork(after_in_child=lambda: os.close(word))  # its end means that we are gone
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # the guard has one thread: this follows its process
    if os.getppid() == guard:
        run_once(kind, status)
    os.write(word, ENDED)


def run_once(kind: type[Run], status: int) -> None:
    """The run, from its description to its last status line."""
    spec = read_spec()  # it may hold a key, which a guard has no need of
    if spec is None:
        return
    run = kind(spec)
    try:
        agent = run.start()
    except NotIsolated as fault:
        tell(status, report(None, None, "not_isolated", 0) | {"why": str(fault)})
        return
    except OSError as fault:
        found = fault.errno not in (errno.ENOENT, errno.ENOTDIR)
        tell(status, report(None, None, "not_executable" if found else "not_found", 0))
        return
    tell(status, {"started": agent})
    survivors = run.watch()
    run.flush()
    tell(status, report(agent, run.ended, run.cause or "exited", survivors))


def stand_guard(supervisor: int, status: int, heard: int) -> NoReturn:
    """Become a shell that waits for the supervisor's last word, or its end without one."""
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # the supervisor hears them too, and knows what to do
    nothing = os.open(os.devnull, os.O_RDWR)
    for place, end in ((CONTROL, heard), (OUTPUT, nothing), (ERRORS, nothing)):
        os.dup2(end, place)
    os.set_inheritable(status, True)
    then = [sys.executable, "-I", "-S", "-X", "utf8", os.path.abspath(__file__)]
    words = [SHELL, "-c", WAIT, "guard", str(supervisor), *then, str(status), "lost"]
    os.execv(SHELL, words)


def end_what_is_left(status: int) -> None:
    """The supervisor did not end by itself: end its tree, and say so."""
    os.set_inheritable(status, False)
    until = now() + PROOF
    while strike() and now() < until:
        pass
    tell(status, report(None, None, "lost", len(descendants())))


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


class NotIsolated(Exception):
    """This host does not let the run be shut in; nothing has run."""


class Run:
    """One agent and everything that descends from it."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.agent = self.first = 0  #: its pid, and that of the child of ours that it is or is in
        self.inside = -1  #: what is ready to read when there is news of an agent that is no child
        self.ended: int | None = None  #: the agent's wait status
        self.cause = ""  #: why the tree has to end; empty while it may live
        self.asked = ""  #: what the control pipe or a signal asked for
        self.wake = -1  #: the signals
        self.control: int = CONTROL
        sinks = (OUTPUT, ERRORS) if spec["apart"] else (OUTPUT,)
        self.streams = [Stream(sink) for sink in sinks]
        self.heard = now()  #: when the agent last gave a sign of life

    def start(self) -> int:
        """Start the agent in a session of its own; a program that cannot run is an OSError."""
        self.wake = listen_to_signals(self)
        outputs = [stream.open() for stream in self.streams]
        trouble, complaint = os.pipe()
        self.fork(outputs, complaint)
        for descriptor in (*outputs, complaint):
            os.close(descriptor)
        failed = os.read(trouble, 16)
        os.close(trouble)
        if failed:
            os.waitpid(self.first, 0)
            raise OSError(int(failed), "cannot execute")
        for stream in self.streams:
            os.set_blocking(stream.source, False)
            os.set_blocking(stream.sink, False)
        self.heard = now()
        return self.agent

    def fork(self, outputs: list[int], complaint: int) -> None:
        """Make the agent's process, which becomes the program by itself."""
        self.agent = self.first = os.fork()
        if self.agent == 0:
            become(self.spec, outputs, complaint)

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
                strike(self.buried)
                self.pump(0)
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
        if limit is None or any(stream.is_full for stream in self.streams):
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
            self.buried(pid, ended)

    def buried(self, pid: int, ended: int) -> None:
        """Note how a child ended, if it was the agent."""
        if pid == self.first and self.ended is None:
            self.ended = self.end_of(ended)

    def end_of(self, ended: int) -> int:
        """The agent's wait status, when that of our child is known."""
        return ended

    def pump(self, seconds: float) -> None:
        """Move output, hear the worker and the signals, for at most so long."""
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        if self.control >= 0:
            poll.register(self.control, select.POLLIN)
        if self.inside >= 0 and self.ended is None:
            poll.register(self.inside, select.POLLIN)
        for stream in self.streams:
            if stream.source >= 0 and not stream.is_full:
                poll.register(stream.source, select.POLLIN)
            if stream.held:
                poll.register(stream.sink, select.POLLOUT)
        # Poll's clock stands still while the machine sleeps; ours does not.
        for ready, _ in poll.poll(1000 * min(max(seconds, 0.0), 1.0)):
            if ready == self.wake:
                os.read(self.wake, CHUNK)
            elif ready == self.control:
                self.hear()
            else:
                self.move(ready)

    def move(self, ready: int) -> None:
        """Read from the agent or write to the worker; either is a sign of life."""
        for stream in self.streams:
            has_moved = (ready == stream.source and stream.take()) or (
                ready == stream.sink and stream.give()
            )
            if has_moved:
                self.heard = now()

    def hear(self) -> None:
        """Hear the worker: a wish, or that it is gone."""
        words = os.read(self.control, CHUNK)
        if not words:
            self.control = -1
        self.asked = self.asked or ("stopped" if words else "orphaned")

    def flush(self) -> None:
        """Hand over what the tree left in its pipes, for as long as somebody may read it."""
        for stream in self.streams:
            for _ in range(2 * HELD // CHUNK):  # bounded: an outsider may hold the pipe, and write
                if stream.source < 0 or not stream.take():
                    break
            stream.source = -1
        while any(stream.held for stream in self.streams) and self.control >= 0:
            self.pump(1.0)


class Stream:
    """One stream of the agent's, on its way to the worker."""

    def __init__(self, sink: int) -> None:
        self.source = -1
        self.sink = sink
        self.held = bytearray()  #: what the worker has not taken yet

    @property
    def is_full(self) -> bool:
        """Whether the agent has to wait for the worker."""
        return len(self.held) >= HELD

    def open(self) -> int:
        """Make the pipe; gives the agent's end of it."""
        self.source, output = os.pipe()
        return output

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
        if self.sink >= 0:
            self.held += chunk
        return True

    def give(self) -> bool:
        """Write to the worker as much as it takes; False when it took nothing."""
        try:
            del self.held[: os.write(self.sink, self.held[:CHUNK])]
        except BlockingIOError:
            return False
        except OSError:
            self.sink = -1
            self.held.clear()
            return False
        return True


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


def become(spec: dict[str, Any], outputs: list[int], complaint: int) -> NoReturn:
    """In the forked child: turn into the agent, or say why not."""
    try:
        os.setsid()
        for name in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(name, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.chdir(spec["cwd"])
        nothing = os.open(os.devnull, os.O_RDONLY)
        for descriptor, place in ((nothing, 0), (outputs[0], 1), (outputs[-1], 2)):
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


def strike(buried: Callable[[int, int], None] = lambda pid, ended: None) -> bool:
    """Kill what descends from here, and bury it; False once nothing is left.

    A chain of forks is faster than any look through /proc. So most blows are at the children:
    whoever loses its parent becomes one, they are read at once, and their pids and groups cannot
    change hands before they are buried. A group dies at one blow, in which none of it can fork.
    """
    send(signal.SIGKILL)
    for _ in range(BLOWS):
        for child in children():
            with contextlib.suppress(OSError):
                if (group := os.getpgid(child)) != os.getpgrp():
                    os.killpg(group, signal.SIGKILL)
                os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                buried(*found)
            continue
        return False
    return True


def children() -> list[int]:
    """The pids of this process's children, zombies too, as fast as the kernel tells."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel that was built without it
        return [pid for pid, parent in parents().items() if parent == os.getpid()]


def descendants() -> list[int]:
    """The pids below this process, from one look through /proc.

    Zombies count: a process whose first thread has ended looks like one, and still runs.
    """
    below: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        below.setdefault(parent, []).append(pid)
    found = [os.getpid()]
    for pid in found:
        found += below.get(pid, [])
    return found[1:]


def parents() -> dict[int, int]:
    """Each process of this host, and its parent."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    return found


def prctl(option: int, value: int) -> None:
    """Set a trait of this process; a kernel without it is no host for us."""
    if ctypes.CDLL(None).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(errno.ENOSYS, "prctl")


def now() -> float:
    """Seconds on a clock that also counts while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


if __name__ == "__main__":
    main()
