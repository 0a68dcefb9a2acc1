"""What `fencepost doctor` looks at of running stacks: roles, leftovers, old checkouts."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from app.cli import record
from app.cli.doctor_check import Check, ok, warning
from app.config import Settings
from app.embedded import process


def stacks(settings: Settings) -> Iterator[Check]:
    """Parents with all of their roles, and no role whose parent died."""
    for one in record.read_all(settings.home):
        name = f"{one.kind} (pid {one.pid})"
        alive = [role for role, child in one.roles.items() if process.is_alive(child.process)]
        if not process.is_alive(one.process):
            left = f"still running: {', '.join(alive)}" if alive else "nothing of it runs"
            yield warning("stack", "leftovers", f"{name} died; {left}", "fencepost down")
        elif len(alive) < len(one.roles):
            dead = ", ".join(sorted(set(one.roles) - set(alive)))
            yield warning("stack", "role_ended", f"{name} is starting {dead} again",
                          f"see its log in {settings.home / 'logs'}")  # fmt: skip
        else:
            yield ok("stack", f"{name} runs with {', '.join(alive) or 'no role yet'}")
    up = record.find_up(settings.home)
    if up is None:
        yield ok("stack", "no `up` runs here")
    elif up.embedded and settings.database_url:
        yield warning("stack", "settings_unused",
                      "an `up` with embedded servers runs here, so commands use those",
                      "unset FENCEPOST_DATABASE_URL, or fencepost down")  # fmt: skip


def checkouts(settings: Settings) -> Iterator[Check]:
    """Folders of claims whose worker died."""
    folder = settings.home / "checkouts"
    roots = [one for one in folder.iterdir() if one.is_dir()] if folder.is_dir() else []
    old = [one.name for one in roots if not _is_owned(one)]
    if old:
        yield warning("checkouts", "checkouts_stale", f"{len(old)} of dead owners, like {old[0]}",
                      "fencepost up: a worker sweeps them; its log says why one stays")  # fmt: skip
    else:
        yield ok("checkouts", f"{len(roots)} in use, none left behind")


def _is_owned(root: Path) -> bool:
    """Whether somebody living holds the lock beside a checkout; it is looked at, not taken."""
    try:
        descriptor = os.open(root.with_name(root.name + ".lock"), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
