"""What an agent's environment holds: a few named things and nothing else (E02)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ATTEMPT = "FENCEPOST_ATTEMPT"
OPERATION = "FENCEPOST_OPERATION"
FENCE = "FENCEPOST_FENCE"

INHERITED = ("PATH", "LANG", "TZ")
_PATH = "/usr/local/bin:/usr/bin:/bin"


def markers(attempt: str, operation: str, fence: int) -> dict[str, str]:
    """By these every process of a run can be found on this host (PROTOCOL §4, row 14)."""
    return {ATTEMPT: attempt, OPERATION: operation, FENCE: str(fence)}


def agent_environment(scratch: Path, marked: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of an agent or a check; its home and temporary folder are made here."""
    home, temporary = scratch / "home", scratch / "tmp"
    for folder in (home, temporary):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in INHERITED or name.startswith("LC_")
    }
    private = {"HOME": str(home), "TMPDIR": str(temporary)}
    return {"PATH": _PATH} | inherited | private | dict(marked)
