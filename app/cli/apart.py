"""Starting an `up` that stays when the command that started it is over."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from app.cli import parent, record
from app.cli.record import Record
from app.domain.errors import SetupError

PATIENCE = 120.0  #: seconds until it is ready; a first start makes the database


class UpFailed(SetupError):
    """The stack could not be started apart; its log says why."""

    code = "up_failed"


def start(home: Path, slots: int) -> Record:
    """Start `up` in a session of its own and wait until it is ready; UpFailed when it ends."""
    log = parent.log_of(home, "up")
    with log.open("ab") as file:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.cli", "up", "--slots", str(slots)],
            cwd=home, env=os.environ | {"FENCEPOST_HOME": str(home)}, stdin=subprocess.DEVNULL,
            stdout=file, stderr=file, start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if up := record.find_up(home):
            return up
        if child.poll() is not None:
            raise UpFailed(parent.last_words(home, "up"), hint=f"see {log}")
        time.sleep(0.05)
    raise UpFailed(f"not ready after {PATIENCE:g} s", hint=f"see {log}, then `fencepost down`")
