"""The executor `command/v1`: any program, its exit code as the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.executor import COMMAND
from workers.executors.base import Assignment, Capabilities, Happening, Outcome, Problem, Wrote
from workers.executors.process import ProcessSession
from workers.workspace.process import Command, Ended


class CommandExecutor:
    """Runs the assignment's program as it stands; exit 0 is done."""

    name = COMMAND
    capabilities = Capabilities(cancel=True, resume=False, isolation=True)

    def prepare(self, assignment: Assignment) -> ProcessSession:
        """Nothing is missing until the program is looked for, by whoever starts it."""
        command = Command(
            assignment.argv, assignment.tree, assignment.environment,
            assignment.deadline, assignment.stall, box=assignment.box,
        )  # fmt: skip
        reader = _AsItIs(" ".join(assignment.argv[:1]))
        return ProcessSession(assignment.argv, command, assignment.marker, reader)


@dataclass(frozen=True, slots=True)
class _AsItIs:
    """Output that means nothing but itself."""

    program: str
    overhear = None

    def hear(self, chunk: bytes) -> Iterable[Happening]:
        return (Wrote(chunk),)

    def close(self) -> Iterable[Happening]:
        return ()

    def judge(self, ended: Ended) -> Outcome:
        if ended.is_success:
            return Outcome(None)
        how = f"signal {ended.signal}" if ended.signal else f"exit {ended.exit}"
        return Outcome(Problem("command_failed", f"{self.program}: {how}"))
