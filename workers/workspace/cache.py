"""This host's bare caches: objects of a repository, fetched once and borrowed by every checkout.

Two locks a cache. Whoever borrows shares one for as long as its checkout lives, so that nothing it
needs is removed. Whoever writes holds the other alone: a base is fetched once, whoever asks.
No object ever leaves a cache that stays: it is packed anew, or it goes as a whole (E01).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from pathlib import Path
from typing import Self

from app.domain.errors import GitFailed, HostFailed, ProviderError, RemoteUnreadable
from app.repository.git import attempt, git
from app.repository.push import tips
from app.repository.remote import Remote
from workers.workspace.closing import Closing
from workers.workspace.locking import locked
from workers.workspace.mending import mend, tidy
from workers.workspace.presence import kill_carrying
from workers.workspace.removal import remove
from workers.workspace.repository import fetch_commit

#: Carried by every git that writes into a cache: under its lock, whoever else does is an orphan.
WRITER = "FENCEPOST_CACHE"
BASES = "refs/fencepost/bases/"  #: a base that has one is whole, with all that it is made of
MOST_PACKS = 30
_MOST_BASES = 100
_DOUBTED = "doubted"
_SECONDS = 3600


class Cache(Closing):
    """One cache, kept from its removal inside `with`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.git_dir = folder / f"{name}.git"
        self._held = contextlib.ExitStack()
        self._use = -1

    def __enter__(self) -> Self:
        self.git_dir.parent.mkdir(parents=True, exist_ok=True)
        self._use = self._held.enter_context(locked(use_of(self.git_dir), shared=True))
        os.utime(self._use)  # by which the sweep knows who was not needed for longest
        return self

    def close(self) -> None:
        """Let it go; from now on it may be removed."""
        self._held.close()

    @property
    def objects(self) -> Path:
        """What checkouts borrow from."""
        return self.git_dir / "objects"

    @property
    def shallow(self) -> tuple[str, ...]:
        """The commits below which it holds no history."""
        try:
            return tuple((self.git_dir / "shallow").read_text().split())
        except FileNotFoundError:
            return ()

    @property
    def is_fit(self) -> bool:
        """Whether it was made, and nobody doubts it."""
        return (self.git_dir / "HEAD").exists() and not (self.git_dir / _DOUBTED).exists()

    def holds(self, commit: str) -> bool:
        """Whether a commit is here with its whole tree and history, as deep as was asked for."""
        if not self.is_fit:
            return False
        whole = f"{BASES}{commit}^{{commit}}"
        return attempt("cat-file", "-e", whole, git_dir=self.git_dir).code == 0

    def bring(
        self, remote: Remote, commit: str, depth: int | None = None,
        stop: threading.Event | None = None,
    ) -> None:  # fmt: skip
        """Have a commit here; BaseMissing, RemoteUnreadable, and HostFailed without room.

        Whoever else wants it meanwhile waits, and finds it; Interrupted once `stop` is set. What
        an interrupted fetch left behind, and what a killed worker's git still does here, is
        cleared away first.
        """
        if self.holds(commit):
            return
        with locked(lock_of(self.git_dir), stop=stop):
            self.make_whole()
            if not self.holds(commit):
                self._fetch(remote, commit, depth, stop)
                git("update-ref", BASES + commit, commit, git_dir=self.git_dir)
                self._keep_small()

    def prepared(self) -> Path:
        """The git folder, for commands that only need one."""
        if not (self.git_dir / "HEAD").exists():
            with locked(lock_of(self.git_dir)):
                self.make_whole()
        return self.git_dir

    def doubt(self) -> None:
        """Trust nothing in it any more: a checkout could not be made of what it holds."""
        with contextlib.suppress(OSError):
            (self.git_dir / _DOUBTED).touch()

    def make_whole(self) -> None:
        """Under its lock: end orphans, and mend what broke."""
        if not kill_carrying(self._mark):
            raise HostFailed(f"a git of a killed worker cannot be ended: {self.git_dir}")
        if (self.git_dir / _DOUBTED).exists():
            self._throw_away()
        mend(self.git_dir)

    @property
    def _mark(self) -> dict[str, str]:
        return {WRITER: str(self.git_dir)}

    def _fetch(
        self, remote: Remote, commit: str, depth: int | None, stop: threading.Event | None
    ) -> None:
        try:
            fetch_commit(self.git_dir, remote, commit, depth=depth, extra=self._mark, stop=stop)
        except RemoteUnreadable:
            self._judge(remote)
            raise
        finally:
            tidy(self.git_dir)

    def _judge(self, remote: Remote) -> None:
        """A fetch failed: if the remote answers all the same, what is here may be the reason."""
        with contextlib.suppress(ProviderError):
            tips(self.git_dir, remote, ["HEAD"])
            if attempt("fsck", "--connectivity-only", git_dir=self.git_dir, timeout=60).code:
                self.doubt()

    def _throw_away(self) -> None:
        """Begin anew, unless somebody borrows from it: theirs is whole, or they would doubt it."""
        try:
            fcntl.flock(self._use, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(self._use, fcntl.LOCK_SH)  # nobody removes it: that needs the other lock
            raise GitFailed(f"{self.git_dir} is damaged, and others still use it") from None
        remove(self.git_dir)
        fcntl.flock(self._use, fcntl.LOCK_SH)

    def _keep_small(self) -> None:
        """Few packs and few refs; every object stays, whoever needs it."""
        listed = git(
            "for-each-ref", "--sort=-committerdate", "--format=%(refname)", BASES,
            git_dir=self.git_dir,
        ).split()  # fmt: skip
        for ref in listed[_MOST_BASES:]:
            git("update-ref", "-d", ref, git_dir=self.git_dir)
        if len(list((self.objects / "pack").glob("*.pack"))) > MOST_PACKS:
            attempt(
                "repack", "--geometric=2", "-d", "-q", git_dir=self.git_dir, timeout=_SECONDS,
                extra=self._mark,
            )  # fmt: skip
            tidy(self.git_dir)


def lock_of(git_dir: Path) -> Path:
    """Held alone by whoever writes into a cache, or removes it."""
    return git_dir.with_suffix(".lock")


def use_of(git_dir: Path) -> Path:
    """Shared by whoever borrows from a cache; its time is that of the last one who began to."""
    return git_dir.with_suffix(".use")
