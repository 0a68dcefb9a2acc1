"""Starting an `up` that stays when the command that started it is over."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

from app.cli import parent, record
from app.cli.record import Record
from app.domain.errors import SetupError

#: How `failing` tells of a fault.
_FAULT = re.compile(r"^error: (?P<message>.+) \((?P<code>[a-z_]+)\)\n  (?P<hint>.+)$", re.MULTILINE)
GRACE = timedelta(seconds=60)  #: that `up` has, if nothing is said
PATIENCE = 120.0  #: seconds until it is ready; a first start makes the database


class UpFailed(SetupError):
    """The stack could not be started apart; its log says why."""

    code = "up_failed"


def start(home: Path, slots: int, grace: timedelta = GRACE) -> Record:
    """Start `up` in a session of its own and wait until it is ready; UpFailed when it ends."""
    log = parent.log_of(home, "up")
    before = log.stat().st_size if log.exists() else 0
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("FENCEPOST_TOKEN")
    }
    with log.open("ab") as file:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.cli", "up", "--slots", str(slots),
             "--grace", f"{grace.total_seconds():g}"],
            cwd=home, env=kept | {"FENCEPOST_HOME": str(home)}, stdin=subprocess.DEVNULL,
            stdout=file, stderr=file, start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if up := record.find_up(home):
            return up
        if child.poll() is not None:
            raise _fault(log, before) or UpFailed(parent.last_words(home, "up"), hint=f"see {log}")
        time.sleep(0.05)
    raise UpFailed(f"not ready after {PATIENCE:g} s", hint=f"see {log}, then `fencepost down`")


def _fault(log: Path, begin: int) -> SetupError | None:
    """What an `up` said of its own end, with its own code, as if it had been said here."""
    found = list(_FAULT.finditer(log.read_bytes()[begin:].decode("utf-8", "replace")))
    if not found:
        return None
    kind: type[SetupError] = type("Told", (UpFailed,), {"code": found[-1]["code"]})
    return kind(found[-1]["message"], hint=found[-1]["hint"])
