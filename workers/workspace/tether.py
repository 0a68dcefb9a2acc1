"""Processes that end with this one, whatever ends it (E06)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

from workers.workspace.closing import Closing

#: Leads the group, and ends all of it once nobody holds the other end of its pipe.
_LEADER = ("/bin/sh", "-c", "read -r _; kill -KILL 0")


class Tether(Closing):
    """A process group for commands of the worker's own that read what a run left behind.

    They carry no marker of the run and have no supervisor: they are quick, unless a run was out to
    hold them. A worker that is killed takes them with it.
    """

    def __init__(self) -> None:
        self._leader = subprocess.Popen(
            _LEADER, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={}, cwd="/", process_group=0,
        )  # fmt: skip
        self.group = self._leader.pid

    def close(self) -> None:
        """End whatever of it still runs."""
        if self._leader.returncode is None:
            with contextlib.suppress(OSError):  # the leader was killed, and took the name along
                os.killpg(self.group, signal.SIGKILL)
            self._leader.communicate()
