"""Checks: shell commands that judge what the agent left in the working tree (E08)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.domain.digest import Json, text
from workers.workspace.box import Box
from workers.workspace.output import shown
from workers.workspace.process import Command, Ended, run


@dataclass(frozen=True, slots=True)
class Check:
    """One command for `sh -c`, and the longest it may take."""

    command: str
    limit: timedelta


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a check said, bounded and fit for canonical bytes."""

    command: str
    exit: int | None
    signal: int | None
    cause: str
    duration_ms: int
    tail: str  #: the end of its output, at most 4 KiB
    output_bytes: int  #: how much there was of it
    survivors: int = 0

    @property
    def is_green(self) -> bool:
        """Whether the check passed."""
        return self.cause == "exited" and self.exit == 0

    def as_json(self) -> dict[str, Json]:
        """The evidence as the observation carries it."""
        return {
            "command": self.command,
            "exit": self.exit,
            "signal": self.signal,
            "cause": self.cause,
            "duration_ms": self.duration_ms,
            "tail": self.tail,
            "output_bytes": self.output_bytes,
        }


def run_checks(
    checks: Sequence[Check],
    *,
    tree: Path,
    environment: Mapping[str, str],
    marker: Mapping[str, str],
    stop: threading.Event,
    on_output: Callable[[bytes], None] = lambda chunk: None,
    on_check: Callable[[Evidence], None] = lambda evidence: None,
    box: Box | None = None,
) -> list[Evidence]:
    """Run every check once, one after the other, also when an earlier one failed.

    Once `stop` is set the rest end as `stopped` without having run.
    """
    found = []
    for check in checks:
        argv = ("sh", "-c", check.command)
        command = Command(argv, tree, environment, deadline=check.limit, stall=None, box=box)
        ended = run(command, on_output=on_output, stop=stop, marker=marker)
        evidence = _evidence(check, ended)
        on_check(evidence)
        found.append(evidence)
    return found


def _evidence(check: Check, ended: Ended) -> Evidence:
    return Evidence(
        command=text(check.command),
        exit=ended.exit,
        signal=ended.signal,
        cause=ended.cause,
        duration_ms=ended.duration // timedelta(milliseconds=1),
        tail=shown(ended.output.tail),
        output_bytes=ended.output.total,
        survivors=ended.survivors,
    )
