"""The service user that owns the servers when we are root, for Postgres refuses root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass

from app.domain.errors import ServersUnavailable

NAME = "fencepost"

_WAYS = (
    ("useradd", "--system", "--user-group", "--no-create-home",
     "--home-dir", "/nonexistent", "--shell", "/bin/false", NAME),
    ("adduser", "--system", "--group", "--no-create-home",
     "--home", "/nonexistent", "--shell", "/bin/false", NAME),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Account:
    """Another user than ours, for whom a process runs or a file is meant."""

    uid: int
    gid: int


def is_root() -> bool:
    """Whether this process is root, and so needs the service user."""
    return os.geteuid() == 0


def existing() -> Account | None:
    """The service user, if this machine has it."""
    try:
        entry = pwd.getpwnam(NAME)
    except KeyError:
        return None
    if entry.pw_uid == 0:
        raise ServersUnavailable(
            f"the user {NAME!r} of this machine is root", hint="run fencepost as an ordinary user"
        )
    return Account(entry.pw_uid, entry.pw_gid)


def service() -> Account:
    """The service user, made if it is missing."""
    said = "neither useradd nor adduser is installed"
    for way in _WAYS:
        if account := existing():
            return account
        if program := shutil.which(way[0], path="/usr/sbin:/sbin:/usr/bin:/bin"):
            done = subprocess.run(
                [program, *way[1:]], stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            said = (
                done.stderr.decode("utf-8", "replace").partition("\n")[0]
                or f"{way[0]} did not make it"
            )
    if account := existing():
        return account
    raise ServersUnavailable(
        f"Postgres refuses root, and the service user {NAME!r} cannot be made: {said}",
        hint=f"make a system user {NAME!r}, or run fencepost as an ordinary user",
    )
