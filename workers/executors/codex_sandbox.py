"""Proof that Codex's own sandbox holds on this host: where it does not, its commands just fail."""

from __future__ import annotations

import dataclasses
import functools
import os
import tempfile
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from app.domain.agent import AgentUnfit
from app.domain.identity import mint
from workers.workspace.box import Box
from workers.workspace.environment import OPERATION, agent_environment
from workers.workspace.process import Command, run

#: What the sandbox lets the model's commands write, besides the working directory and TMPDIR.
SETTINGS = {"exclude_slash_tmp": "true", "network_access": "false"}
_TRIES = "touch inside && ! touch ../outside 2>/dev/null && test ! -e ../outside"
_PATIENCE = timedelta(seconds=60)


def prove(path: str, scratch: Path, box: Box | None) -> None:
    """Let it run a command that writes within and without, once in this process; AgentUnfit.

    It is tried in a box of the same kind as the run's, since a sandbox may not nest everywhere.
    """
    stat = Path(path).stat()
    _prove(_Case(path, stat.st_mtime_ns, stat.st_size, _kind(box), box, scratch))


@dataclass(frozen=True, slots=True)
class _Case:
    """What decides whether it holds, and where to try it."""

    path: str
    changed: int
    size: int
    kind: str
    box: Box | None = field(compare=False)
    scratch: Path = field(compare=False)


def _kind(box: Box | None) -> str:
    return "none" if box is None else f"{box.has_network} {box.user}"


@functools.lru_cache(maxsize=16)
def _prove(case: _Case) -> None:
    with tempfile.TemporaryDirectory(prefix="sandbox-", dir=case.scratch) as folder:
        root = Path(folder)
        (root / "tree").mkdir()
        options = [f"sandbox_workspace_write.{name}={value}" for name, value in SETTINGS.items()]
        argv = [os.path.realpath(case.path), "sandbox"]
        for option in ('sandbox_mode="workspace-write"', *options):
            argv += ["-c", option]
        marker = {OPERATION: mint("sandbox")}
        box = case.box and dataclasses.replace(case.box, keep=(root,), lend=())
        command = Command(
            (*argv, "--", "/bin/sh", "-c", _TRIES), root / "tree",
            agent_environment(root, marker), _PATIENCE, None, box=box,
        )  # fmt: skip
        ended = run(command, on_output=lambda _: None, stop=threading.Event(), marker=marker)
    if not ended.is_success:
        how = f"exit {ended.exit}" if ended.cause == "exited" else ended.cause
        said = ended.why or ended.output.tail.decode("utf-8", "replace").strip()[-300:]
        raise AgentUnfit(
            f"codex's sandbox does not hold here: {said or how}",
            hint="let this host make user namespaces, also within others if runs are kept apart, "
            "or run the workers in a sandbox of your own and set FENCEPOST_CODEX_SANDBOX=off",
        )
