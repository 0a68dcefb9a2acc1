"""Where the servers of one home lie.

An ordinary user has everything under the home, the socket excepted: its path has to be short. As
root the home may be closed to the service user, so data and socket lie in a folder of our own.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import ServersUnavailable
from app.embedded import account, folder
from app.embedded.account import Account

SHARED = Path("/var/lib/fencepost")  #: what root's homes have in common
_HOME = "home"  #: the file that names the home, beside its data
LONGEST = 100 - len("/.s.PGSQL.5432")  #: the kernel cuts socket paths at 108 bytes


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one home; naming them makes none."""

    secret: Path  #: under the home, ours alone: the passwords
    data: Path  #: lock, records and the servers' own folders
    name: str  #: what the home is called outside of it, the same each time
    account: Account | None  #: whom the servers run as, if it is not us

    @property
    def postgres(self) -> Path:
        """The database's cluster; it belongs to the server's user."""
        return self.data / "postgres"

    @property
    def valkey(self) -> Path:
        """Valkey's append-only file; it belongs to the server's user."""
        return self.data / "valkey"

    @property
    def logs(self) -> Path:
        """One log for each server; it belongs to the servers' user."""
        return self.data / "logs"


def locate(home: Path) -> Place:
    """Name the folders of a home, as they are for the user that we are."""
    home = home.resolve()
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    secret = home / "embedded"
    data = SHARED / "homes" / digest if account.is_root() else secret
    user = account.existing() if account.is_root() else None
    return Place(secret, data, f"fencepost-{digest}", user)


def prepare(home: Path) -> Place:
    """Make the folders of a home, and as root the service user; what is there is kept."""
    if account.is_root():
        folder.own(SHARED, 0o755)
        folder.own(SHARED / "homes", 0o711)
        with folder.locked(SHARED):
            account.service()
    place = locate(home)
    folder.own(place.secret)
    folder.own(place.data, 0o711 if place.account else 0o700)
    if place.data != place.secret:
        _note(home, place)
    return place


def _note(home: Path, place: Place) -> None:
    """Leave with the data the name of its home, so that it is known whose it is once that is gone.

    Only root reads it, and only root writes there.
    """
    note, name = place.data / _HOME, os.fsencode(home.resolve())
    if not note.is_file() or note.read_bytes() != name:
        draft = note.with_name(f"{_HOME}.new")
        draft.touch(mode=0o600)
        draft.write_bytes(name)
        draft.replace(note)


@dataclass(frozen=True, slots=True)
class Left:
    """Data that lies apart from its home."""

    data: Path
    home: Path | None  #: None: an earlier release did not note it
    is_gone: bool  #: the home is there no more


def apart() -> list[Left]:
    """All that lies apart from its home; for an ordinary user nothing does."""
    homes = SHARED / "homes"
    if not account.is_root() or not homes.is_dir():
        return []
    return [_left(data) for data in sorted(homes.iterdir()) if data.is_dir()]


def _left(data: Path) -> Left:
    try:
        home = Path(os.fsdecode((data / _HOME).read_bytes()))
    except OSError:
        return Left(data, None, is_gone=False)
    # whatever else the note says, it is of no home whose data this is
    is_its_own = home.is_absolute() and locate(home).data == data
    return Left(data, home if is_its_own else None, is_its_own and not os.path.lexists(home))


def sockets(place: Place) -> Path:
    """Make the folder for the database's socket: ours, closed to others, its path short enough."""
    if place.account:
        return folder.own(place.data / place.name, 0o700, place.account)
    for path in socket_folders(place):
        with suppress(ServersUnavailable):
            return folder.own(path)
    raise ServersUnavailable(
        "no folder for the database's socket: none with a short path is open to us",
        hint="set XDG_RUNTIME_DIR to a folder of yours with a short path",
    )


def socket_folders(place: Place) -> list[Path]:
    """Where the socket of an ordinary user's database may lie, the first choice first."""
    # Not the runtime folder first: it is deleted at log-out, and the servers may live longer.
    parents = ("/tmp", tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""))
    return [
        Path(parent) / place.name
        for parent in parents
        if Path(parent).is_absolute() and os.access(parent, os.W_OK | os.X_OK)
        and len(os.fsencode(Path(parent) / place.name)) <= LONGEST and "," not in parent
    ]  # fmt: skip
