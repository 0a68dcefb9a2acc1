"""The parent of role processes: starts them, starts them again when they die, and ends them all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from app import config
from app.cli import record
from app.cli.record import Child, Record
from app.embedded import folder, process
from app.parentage import PARENT_FD

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0  #: seconds before a role is started again
STEADY = 30.0  #: a role that lived this long has a clean slate
HANDING_BACK = 5.0  #: seconds for draining, and again for handing back, before a new start
HOPELESS = 5  #: deaths in a row without ever being steady
_LARGEST_LOG = 10 * 1024 * 1024
#: What a repository's owner may have set for their own Python is not for ours, nor is their token.
_LEFT_OUT = (
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "FENCEPOST_TOKEN",
    *(f"{name}_FILE" for name in config.SECRETS),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Role:
    """One process to keep alive."""

    name: str
    arguments: tuple[str, ...]  #: for `python -P`
    environment: Mapping[str, str] = field(repr=False)


class Parent:
    """The roles of one stack; none of their processes outlives `stop`, or this process by much."""

    def __init__(self, home: Path, own: Record, say: Callable[[str], None]) -> None:
        self._home, self._record, self._say = home, own, say
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._roles: dict[str, Role] = {}
        self._deaths: dict[str, int] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._reading, self._writing = os.pipe()

    def start(self, roles: list[Role]) -> None:
        """Start every role, and keep each one running from here on."""
        self._roles = {role.name: role for role in roles}
        for name in self._roles:
            child = self._spawn(name)
            keeper = threading.Thread(target=self._keep, args=[name, child], daemon=True)
            self._threads.append(keeper)
            keeper.start()
        with self._lock:
            self._record = replace(self._record, is_ready=True)
            record.write(self._home, self._record)

    def replace(self, roles: list[Role]) -> None:
        """Start every role again, as it is now described; what runs hands its work back."""
        with self._lock:
            self._roles.update({role.name: role for role in roles})
            children = list(self._children.values())
        for _ in range(2):
            if self._stopping.is_set() or _all_ended(children, 0, self._stopping):
                return
            self._terminate(children)
            _all_ended(children, HANDING_BACK, self._stopping)
        if not self._stopping.is_set():
            _kill(children)

    def hopeless(self) -> str | None:
        """The name of a role that dies again and again, if there is one."""
        return next((name for name, count in self._deaths.items() if count >= HOPELESS), None)

    def stop(self, grace: float, hurry: threading.Event | None = None, last: float = 10.0) -> None:
        """Ask every role to drain, then to hand its work back, then kill what is left.

        It waits `grace` seconds for the first, which `hurry` ends, and `last` for the second.
        """
        with self._lock:
            self._stopping.set()
            children = list(self._children.values())
        self._terminate(children)
        if not _all_ended(children, grace, hurry or threading.Event()):
            self._terminate(children)  # the second time it hands work back
            if not _all_ended(children, last, threading.Event()):
                self._say("kills what does not end")
        _kill(children)
        for keeper in self._threads:
            keeper.join()
        for descriptor in (self._reading, self._writing):
            os.close(descriptor)
        record.remove(self._home, self._record)

    def _keep(self, name: str, child: subprocess.Popen[bytes] | None) -> None:
        pause = FIRST_PAUSE
        while child is not None:
            began = time.monotonic()
            code = child.wait()
            if self._stopping.is_set():
                return
            is_steady = time.monotonic() - began > STEADY
            pause = FIRST_PAUSE if is_steady else pause
            self._deaths[name] = 1 if is_steady else self._deaths.get(name, 0) + 1
            self._say(f"{name} ended ({_shown(code)}); starts again in {pause:g} s")
            self._stopping.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            child = self._spawn(name)

    def _spawn(self, name: str) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            child = self._launch(self._roles[name])
            self._children[name] = child
            noted = Child(child.pid, process.started_at(child.pid) or 0, time.time())
            roles = {**self._record.roles, name: noted}
            self._record = replace(self._record, roles=roles)
            record.write(self._home, self._record)
            return child

    def _launch(self, role: Role) -> subprocess.Popen[bytes]:
        kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
        environment = {**kept, **role.environment, PARENT_FD: str(self._reading)}
        with log_of(self._home, role.name).open("ab") as log:
            # A group of its own: Ctrl-C is for the parent, which says what it means for the roles.
            return subprocess.Popen(
                [sys.executable, "-P", *role.arguments], cwd=self._home, env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[self._reading], process_group=0,
            )  # fmt: skip

    def _terminate(self, children: list[subprocess.Popen[bytes]]) -> None:
        for child in children:
            child.terminate()


def log_of(home: Path, name: str) -> Path:
    """Where a role writes; a log that has become too long makes way for a new one."""
    log = home / "logs" / f"{name}.log"
    if log.exists() and log.stat().st_size > _LARGEST_LOG:
        log.replace(log.with_suffix(".log.1"))
    return log


def last_words(home: Path, name: str) -> str:
    """The end of a role's log."""
    return folder.tail(home / "logs" / f"{name}.log", 2)


def _all_ended(
    children: list[subprocess.Popen[bytes]], patience: float, hurry: threading.Event
) -> bool:
    deadline = time.monotonic() + patience
    while any(child.poll() is None for child in children):
        if hurry.is_set() or time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _kill(children: list[subprocess.Popen[bytes]]) -> None:
    """Kill the groups of those that have not ended, and reap every one."""
    for child in children:
        if child.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _shown(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit {code}"
