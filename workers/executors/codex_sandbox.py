"""Proof that Codex's own sandbox holds on this host: where it does not, its commands just fail."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from pathlib import Path

from app.domain.agent import AgentUnfit

#: What the sandbox lets the model's commands write, besides the working directory and TMPDIR.
SETTINGS = {"exclude_slash_tmp": "true", "network_access": "false"}
_TRIES = "touch inside && ! touch ../outside 2>/dev/null && test ! -e ../outside"
_PATIENCE = 60  #: seconds


def prove(path: str) -> None:
    """Let it run a command that writes within and without, once in this process; AgentUnfit."""
    stat = Path(path).stat()
    _prove(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=16)
def _prove(path: str, changed: int, size: int) -> None:
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        root = Path(folder)
        for name in ("tree", "home", "tmp"):
            (root / name).mkdir()
        options = [f"sandbox_workspace_write.{name}={value}" for name, value in SETTINGS.items()]
        argv = [path, "sandbox"]
        for option in ('sandbox_mode="workspace-write"', *options):
            argv += ["-c", option]
        environment = {
            "PATH": os.defpath, "HOME": str(root / "home"), "TMPDIR": str(root / "tmp"),
        }  # fmt: skip
        try:
            done = subprocess.run(
                [*argv, "--", "/bin/sh", "-c", _TRIES], cwd=root / "tree", env=environment,
                stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise AgentUnfit(f"codex's sandbox does not start here: {fault}") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise AgentUnfit(
            f"codex's sandbox does not hold here: {said or f'exit {done.returncode}'}",
            hint="let this host make user namespaces, or run the workers in a sandbox of your own "
            "and set FENCEPOST_CODEX_SANDBOX=off",
        )
