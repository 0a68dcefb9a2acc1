"""The supervisor of a run that is shut in: all of its duties, from outside the namespaces (E06).

What it imports knows nothing but the standard library either.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import NoReturn

from workers.workspace import namespaces, supervisor
from workers.workspace.relay import Relay


def main() -> None:
    """Run what the control pipe asks for, in the box that it describes."""
    supervisor.supervise(Confined)


class Confined(supervisor.Run):
    """A run whose first process is the init of its own namespace, and no child's child escapes."""

    box: namespaces.Inside

    def fork(self, outputs: list[int], complaint: int) -> None:
        """Have the agent started by an init; NotIsolated where this host refuses one."""

        def become(more: Mapping[str, str]) -> NoReturn:
            spec = {**self.spec, "env": {**self.spec["env"], **more}}
            supervisor.become(spec, outputs, complaint)

        box = self.spec["box"]
        try:
            self.box = namespaces.spawn(box, become)
        except namespaces.NotIsolated as fault:
            raise supervisor.NotIsolated(*fault.args) from None
        self.first, self.agent = self.box.init, self.box.agent
        self.inside = self.box.line.fileno()
        if box["model"] is not None:
            Relay(*box["model"]).serve(self.box.listeners)

    def reap(self) -> bool:
        """Collect what has ended; the agent's own end is told by its init, while that lives."""
        if self.ended is None:
            self.ended = self.box.ended()
        return super().reap()

    def end_of(self, ended: int) -> int:
        """What the init said last; whoever kills an init kills the agent with it."""
        word = self.box.ended()
        return int(signal.SIGKILL) if word is None else word
