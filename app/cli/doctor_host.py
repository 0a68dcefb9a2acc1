"""What `fencepost doctor` looks at on this machine: programs, the home, its disk, its secrets."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from app.cli.doctor_check import Check, fault, ok, warning
from app.config import Settings
from app.embedded import place
from app.repository.git import attempt

NEWEST_PYTHON = (3, 13)  #: that is tried
OLDEST_GIT = (2, 38)  #: the first with `merge-tree --write-tree`
LEAST_DISK = 100 << 20  #: bytes; less is a fault, for no database can be made
LITTLE_DISK = 1 << 30  #: bytes; less is a warning


def python(settings: Settings) -> Iterator[Check]:
    """The interpreter; one that is too old does not come this far."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] > NEWEST_PYTHON:
        yield warning("python", "python_untried", f"{version} is newer than what is tried",
                      "if something is odd, use Python 3.11 to 3.13")  # fmt: skip
    else:
        yield ok("python", version)


def git(settings: Settings) -> Iterator[Check]:
    """The git that everything is done with."""
    then = f"install git {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer"
    try:
        said = attempt("version").text
    except FileNotFoundError:
        yield fault("git", "git_missing", "no git on the PATH", then)
        return
    found = re.search(r"(\d+)\.(\d+)(?:\.\d+)*", said)
    if found is None or (int(found[1]), int(found[2])) < OLDEST_GIT:
        yield fault("git", "git_too_old", f"{said}: it cannot merge without a work tree", then)
    else:
        yield ok("git", found[0])


def home(settings: Settings) -> Iterator[Check]:
    """FENCEPOST_HOME: there or to be made, ours, writable, and closed to others."""
    path, then = settings.home, "set FENCEPOST_HOME to a folder that is yours"
    if not os.path.lexists(path):
        parent = nearest(path)
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            yield ok("home", f"{path} is not there yet; `fencepost up` makes it")
        else:
            yield fault("home", "home_unusable", f"{path} cannot be made in {parent}", then)
        return
    if not path.is_dir() or not os.access(path, os.W_OK | os.X_OK):
        yield fault("home", "home_unusable", f"{path} is no folder that can be written", then)
        return
    found = path.stat()
    if found.st_uid != os.geteuid():
        says = f"{path} belongs to user {found.st_uid}, and we are {os.geteuid()}"
        yield fault("home", "home_not_ours", says, then)
    elif stat.S_IMODE(found.st_mode) & 0o077:
        says = f"{path} is open to others (mode {stat.S_IMODE(found.st_mode):04o})"
        yield warning("home", "home_open", says, f"chmod 700 {path}")
    else:
        yield ok("home", str(path))


def disk(settings: Settings) -> Iterator[Check]:
    """Room for checkouts, mirrors, and the data of the embedded servers."""
    folders = [settings.home, place.locate(settings.home).data]
    for folder in dict.fromkeys(map(nearest, folders)):
        free = shutil.disk_usage(folder).free
        says = f"{free / (1 << 30):.1f} GB free in {folder}"
        then = f"make room in {folder}, or set FENCEPOST_HOME to another disk"
        if free < LEAST_DISK:
            yield fault("disk", "disk_full", f"{says}, less than 100 MB", then)
        elif free < LITTLE_DISK:
            yield warning("disk", "disk_low", f"{says}, less than 1 GB", then)
        else:
            yield ok("disk", says)


def secrets(settings: Settings) -> Iterator[Check]:
    """The files with passwords, readable by their owner alone."""
    files = (settings.home / "embedded" / "passwords.json", settings.home / "logins.json")
    modes = {file: stat.S_IMODE(file.stat().st_mode) for file in files if file.exists()}
    opened = {file: mode for file, mode in modes.items() if mode & 0o077}
    for file, mode in opened.items():
        says = f"{file} is open to others (mode {mode:04o})"
        yield fault("secrets", "secrets_open", says, f"chmod 600 {file}")
    if not opened:
        yield ok("secrets", f"{len(modes)} files with passwords, closed to others")


def nearest(path: Path) -> Path:
    """The path itself, or the first of its parents that is there and that we may see."""
    return next(one for one in (path, *path.parents) if os.path.exists(one))
