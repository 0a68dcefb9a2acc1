"""The executor `command/v1`: any program, its exit code as the verdict."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workers.executors.base import Assignment, Capabilities, Happening, Outcome, Spawned, Wrote
from workers.workspace.process import Command, run


class CommandExecutor:
    """Runs the assignment's program as it stands; exit 0 is done."""

    name = "command/v1"
    capabilities = Capabilities(cancel=True, resume=False)

    def run(
        self,
        assignment: Assignment,
        *,
        on_event: Callable[[Happening], None],
        stop: threading.Event,
    ) -> Outcome:
        """Run the program; its output and its start are events as they happen."""
        command = Command(
            argv=assignment.argv,
            cwd=assignment.tree,
            env=assignment.environment,
            deadline=assignment.deadline,
            stall=assignment.stall,
        )
        ended = run(
            command,
            on_output=lambda chunk: on_event(Wrote(chunk)),
            on_start=lambda pid: on_event(Spawned(pid)),
            stop=stop,
            marker=assignment.marker,
        )
        return Outcome(ended, is_done=ended.is_success)
