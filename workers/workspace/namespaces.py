"""Shutting a run into namespaces of its own: processes, files, network, and another user (E06).

The supervisor loads it, so it knows nothing but the standard library. The run's first process is
the init of its namespace: it starts the agent, buries what ends, and says how the agent ended.
When it dies, the kernel ends everything else in there; and it dies with the supervisor.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from workers.workspace import view

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
#: What root keeps of its rights in there: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID,
#: SETUID, SETPCAP, NET_BIND_SERVICE, SYS_CHROOT, SETFCAP. None of them leads out.
KEPT = {0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 31}
_PATIENCE = 30.0  #: seconds for a few system calls
_CREDENTIALS = struct.Struct("3i")

Box = Mapping[str, Any]  #: the value of `Box.value()` in workers/workspace/box.py


class NotIsolated(Exception):
    """This host does not let us; nothing of the run is left."""


class Inside:
    """The supervisor's end of the socket to a run's init."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.init = self.agent = 0  #: their pids, as they are out here
        self.listeners: list[socket.socket] = []  #: in the run's network; to be served from here
        self._ended: int | None = None

    def hear(self) -> dict[str, Any]:
        """The next word from inside with the sender's pid; `failed` also when there is none."""
        try:
            words, extra, _, _ = self.line.recvmsg(4096, 512)
        except OSError as fault:
            return {"failed": f"no word from inside: {fault}"}
        if not words:
            return {"failed": "its init ended"}
        said: dict[str, Any] = json.loads(words)
        for level, kind, data in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                said["pid"] = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
            elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                found = struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
                self.listeners += [socket.socket(fileno=one) for one in found]
        return said

    def ended(self) -> int | None:
        """The agent's wait status once it has one; asks and does not wait."""
        self.line.setblocking(False)
        while self._ended is None and "failed" not in (said := self.hear()):
            self._ended = said.get("ended")
        return self._ended


def spawn(box: Box, become: Callable[[Mapping[str, str]], NoReturn]) -> Inside:
    """Start a run's init, and by `become` the agent; NotIsolated where this host refuses.

    `become` gets what the agent's environment needs besides its own.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    ours.settimeout(_PATIENCE)
    middle = os.fork()
    if middle == 0:
        _child(theirs, lambda: _middle(box, theirs, become))
    theirs.close()
    inside = Inside(ours)
    ready = inside.hear()
    if "failed" in ready:
        os.kill(middle, signal.SIGKILL)
    os.waitpid(middle, 0)  # from here on the init is our child
    if "failed" not in ready:
        inside.init = ready["pid"]
        ours.send(b"go")
        ready = inside.hear()
    if "failed" in ready:
        ours.close()
        if inside.init:
            os.kill(inside.init, signal.SIGKILL)
            os.waitpid(inside.init, 0)
        raise NotIsolated(ready["failed"])
    inside.agent = ready["pid"]
    return inside


def _child(theirs: socket.socket, work: Callable[[], object]) -> NoReturn:
    """Work, say what failed, and be gone: a copy of the supervisor must not live on."""
    try:
        work()
    except OSError as fault:
        with contextlib.suppress(OSError):
            _say(theirs, failed=f"{fault.filename or ''} {fault.strerror}".strip())
    finally:
        os._exit(0)


def _middle(
    box: Box, theirs: socket.socket, become: Callable[[Mapping[str, str]], NoReturn]
) -> None:
    """Make the namespaces and their first process, which the supervisor inherits."""
    wanted = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID | (CLONE_NEWNET if box["network"] else 0)
    try:
        _call("unshare", wanted)
    except PermissionError:
        if box["user"] is not None:
            raise  # nobody else is known in a user namespace of ours
        _own_users()
        _call("unshare", wanted)
    if os.fork() == 0:
        _child(theirs, lambda: _init(box, theirs, become))


def _own_users() -> None:
    """A user namespace in which we are who we are, and may make the other ones."""
    user, group = os.geteuid(), os.getegid()
    _call("unshare", CLONE_NEWUSER)
    for name, words in (
        ("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"),
    ):  # fmt: skip
        with open(f"/proc/self/{name}", "w") as file:
            file.write(words)


def _init(box: Box, theirs: socket.socket, become: Callable[[Mapping[str, str]], NoReturn]) -> None:
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(name, signal.SIG_DFL)  # an init hears of these only what it asks for
    signal.set_wakeup_fd(-1)
    _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # its markers have to be found from outside
    view.narrow(box)
    listeners, more = view.connect(box)
    _say(theirs, *listeners, ready=True)
    for listener in listeners:
        listener.close()
    if theirs.recv(16) != b"go":
        return
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    with contextlib.suppress(BlockingIOError):
        theirs.recv(1, socket.MSG_DONTWAIT)
        return  # the supervisor was gone before we had asked to die with it
    agent = os.fork()
    if agent == 0:
        _child(theirs, lambda: _agent(box, theirs, lambda: become(more)))
    _let_go(theirs.fileno())
    while True:
        try:
            pid, ended = os.wait()
        except ChildProcessError:
            return
        if pid == agent:
            with contextlib.suppress(OSError):
                _say(theirs, ended=ended)


def _agent(box: Box, theirs: socket.socket, become: Callable[[], NoReturn]) -> None:
    _give_up_rights(box["user"])
    _say(theirs, agent=True)
    become()


def _give_up_rights(user: list[int] | None) -> None:
    """Be another user, or keep no right that leads out; an ordinary user's end with `exec`."""
    if user is not None:
        os.setgroups([])
        os.setresgid(user[1], user[1], user[1])
        os.setresuid(user[0], user[0], user[0])
    elif os.geteuid() == 0:
        for number in range(64):
            if number not in KEPT:
                with contextlib.suppress(OSError):  # this kernel knows fewer
                    _call("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _let_go(kept: int) -> None:
    """Hold no pipe of the supervisor's: their ends mean something."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in (0, 1, 2):
        os.dup2(nothing, place)
    os.closerange(3, kept)
    os.closerange(kept + 1, max(kept + 1, 1024))


def _say(theirs: socket.socket, *listeners: socket.socket, **words: object) -> None:
    rights = struct.pack(f"{len(listeners)}i", *(one.fileno() for one in listeners))
    extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if listeners else []
    theirs.sendmsg([json.dumps(words).encode()], extra)


def _call(name: str, *arguments: int) -> None:
    """A system call by the C library; OSError with its name."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*map(ctypes.c_ulong, arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
