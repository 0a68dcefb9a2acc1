"""A program that leaves behind what a program can leave: `escapee.py PLACE KIND … AFTER`.

Each kind is a process that no plain kill ends. Once all of them are there, PLACE holds the file
`ready`, and the program exits with AFTER, or stays for ever (`stay`), heard (`on`) or in silence.
Every process of it names PLACE in its arguments, whatever else it hides. Standard library only.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

PAUSE = 0.003  #: seconds that a link of the chain lives


def main() -> None:
    place, *kinds, after = sys.argv[1:]
    if kinds == ["exec"]:
        HIDDEN[after]()
    for kind in kinds:
        start(KINDS[kind])
    Path(place, "ready").touch()
    while after in ("on", "stay"):
        if after == "on":
            os.write(1, b"on and on\n")
        time.sleep(0.1)
    os._exit(int(after))


def start(kind: Callable[[int], None]) -> None:
    """Start one, and wait until it says that it is there."""
    told, tell = os.pipe()
    if os.fork() == 0:
        os.close(told)
        for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(name, signal.SIG_IGN)
        kind(tell)
        os._exit(0)
    os.close(tell)
    os.read(told, 1)
    os.close(told)


def deaf(tell: int) -> None:
    """In the program's own group; hears nothing but KILL."""
    os.write(tell, b"!")
    sleep()


def holder(tell: int) -> None:
    """Without a parent, in a session of its own; holds both streams."""
    leave()
    os.write(tell, b"!")
    sleep()


def stopped(tell: int) -> None:
    """The same, and it stands still."""
    leave()
    os.write(tell, b"!")
    os.kill(os.getpid(), signal.SIGSTOP)
    sleep()


def hidden(tell: int) -> None:
    """The same, with an empty environment and no descriptor."""
    leave()
    again("hidden", tell)


def chain(tell: int) -> None:
    """Each link starts the next and ends, in a session of its own, with an empty environment."""
    leave()
    again("chain", tell)


def leave() -> None:
    """Leave session and parent."""
    os.setsid()
    if os.fork():
        os._exit(0)


def again(kind: str, tell: int) -> None:
    """Become another program with an empty environment and none of our descriptors but one."""
    os.dup2(tell, 0)
    for place in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), place)
    os.closerange(3, 256)
    os.execve(sys.executable, [sys.executable, *sys.argv[:2], "exec", kind], {})


def in_hiding() -> NoReturn:
    os.write(0, b"!")
    os.close(0)
    sleep()


def in_a_chain() -> NoReturn:
    os.write(0, b"!")
    os.close(0)
    while True:
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(PAUSE)


def sleep() -> NoReturn:
    while True:
        time.sleep(60)


KINDS = {one.__name__: one for one in (deaf, holder, stopped, hidden, chain)}
HIDDEN = {"hidden": in_hiding, "chain": in_a_chain}

if __name__ == "__main__":
    main()
