"""Every executor there is, by the name that work orders use."""

from __future__ import annotations

from workers.executors.base import Executor
from workers.executors.command import CommandExecutor

EXECUTORS: dict[str, Executor] = {
    CommandExecutor.name: CommandExecutor(),
}
