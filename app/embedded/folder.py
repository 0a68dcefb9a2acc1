"""Folders and files that are ours alone: made, proved and written so that a kill leaves no half."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.domain.errors import ServersUnavailable
from app.embedded.account import Account


def own(path: Path, mode: int = 0o700, account: Account | None = None) -> Path:
    """Make a folder, or prove that the one there is ours; owner and mode are as asked afterwards.

    A symlink, a file or somebody else's folder under this name is refused and left as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    uid = account.uid if account else os.geteuid()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), uid):
        raise ServersUnavailable(
            f"{path} is not a folder of ours",
            hint="run as the user it belongs to, move it away, or set another FENCEPOST_HOME",
        )
    if account and found.st_uid != uid:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
    if stat.S_IMODE(found.st_mode) != mode:
        path.chmod(mode)
    return path


def write(path: Path, text: str, account: Account | None = None) -> None:
    """Put a whole file of mode 0600 in place of whatever was there, or nothing."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
        if account:
            os.fchown(descriptor, account.uid, account.gid)
    draft.replace(path)


def remove(path: Path) -> None:
    """Delete a folder and what is in it; a symlink or nothing at all is left as it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; whoever waits for it sees what the holder left."""
    lock = folder / "lock"
    while True:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # A holder that destroyed the folder leaves us a lock that nobody else will look at.
            if is_same(descriptor, lock):
                yield
                return
        finally:
            os.close(descriptor)


def is_same(descriptor: int, path: Path) -> bool:
    """Whether the path still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def tail(log: Path, lines: int = 3) -> str:
    """The last lines of a log, for an error's text; empty if there is none."""
    try:
        text = log.read_bytes()[-4000:].decode("utf-8", "replace")
    except OSError:
        return ""
    return " / ".join(text.strip().splitlines()[-lines:])
