"""An isolated place for one claim: a working tree, a private git folder, a scratch folder (E01)."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from app.domain.errors import FencepostError, UnsafeName, WrongState
from app.domain.extent import WHOLE, Extent
from app.domain.scope import Change, Violation
from app.repository.remote import Remote
from workers.workspace import snapshot
from workers.workspace.beyond import Beyond
from workers.workspace.cache import Cache
from workers.workspace.change import read_changes
from workers.workspace.closing import Closing
from workers.workspace.commit import Author, commit
from workers.workspace.diff import read_diff
from workers.workspace.narrowing import missing
from workers.workspace.owner import Ownership, own
from workers.workspace.private import noted, put_back
from workers.workspace.removal import remove
from workers.workspace.repository import check_out, make_agents, make_bare, make_private
from workers.workspace.sweep import sweep
from workers.workspace.tree import looking

__all__ = ["Author", "Checkout", "open_checkout", "sweep"]

#: A sweeper may hold the lock of a name for as long as it takes to remove what a dead owner left.
_PATIENCE = timedelta(seconds=1)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


class Checkout(Closing):
    """A claim's own copy of the repository; it is removed on every way out of its `with`.

    The agent sees `tree` and `scratch`. The worker's git commands use `git_dir` alone, whatever
    the agent did to the `.git` of its own. What takes long is Interrupted once `stop` is set.
    """

    def __init__(self, root: Path, base: str, ownership: Ownership, stop: threading.Event) -> None:
        self.root = root
        self.stop = stop
        self.tree = root / "tree"
        self.git_dir = root / "git"
        self.scratch = root / "scratch"
        self.base = base
        #: What the last snapshot found and no git tree can hold; a scope violation each.
        self.unfit: list[Violation] = []
        self.beyond = Beyond()
        self.trouble: FencepostError | None = None  #: why nothing can be run in it
        self._ownership = ownership
        self._borrowed = ExitStack()
        self._settings: Mapping[str, bytes | None] = {}  #: of the git folder, as it was made
        self._folder: os.stat_result | None = None  #: the working tree, as it was made

    def close(self) -> None:
        """Remove everything; closing again does nothing. What resists is left to the sweep."""
        try:
            remove(self.root)
        except OSError:
            pass
        finally:
            self._borrowed.close()
            self._ownership.release()

    def snapshot(self) -> str:
        """The id of the working tree as a git tree: files that are tracked, or not ignored.

        What no tree can hold is in `unfit` afterwards.
        """
        self.put_back()
        with looking(self.git_dir, self.tree, self.stop) as tree:
            taken, self.unfit = snapshot.take(tree, self.base, self.beyond)
        return taken

    def commit(self, tree: str, parent: str, message: str, author: Author) -> str:
        """The commit of a tree; the same arguments give the same commit (E04)."""
        self.put_back()
        return commit(self.git_dir, tree, [parent], message, author)

    def changes(self, base: str, other: str) -> list[Change]:
        """What differs between two commits or trees, renames followed."""
        return read_changes(self.git_dir, base, other, renames=True)

    def diff(self, base: str, other: str, limit: int) -> tuple[bytes, int]:
        """The beginning of the patch between two trees, and the size of all of it."""
        return read_diff(self.git_dir, base, other, limit)

    def borrow(self, cache: Cache) -> Cache:
        """Keep a cache for as long as the checkout lives."""
        return self._borrowed.enter_context(cache)

    def settle(self) -> None:
        """All is made: the git folder stays as it is now, and the tree is this very folder."""
        self._settings = noted(self.git_dir)
        self._folder = self.tree.lstat()

    def put_back(self) -> None:
        """Make it so again, before git looks at what a run may have written there."""
        put_back(self.git_dir, self._settings)

    def is_whole(self) -> bool:
        """Whether the working tree is where it was: not gone, no link and no other folder."""
        try:
            now = self.tree.lstat()
        except OSError:
            return False
        return self._folder is not None and os.path.samestat(now, self._folder)

    def changed_since(self, tree: str) -> list[str]:
        """The tracked paths that are no longer what the last snapshot, `tree`, took (E08)."""
        self.put_back()
        with looking(self.git_dir, self.tree, self.stop) as now:
            return snapshot.changed_since(now, tree, self.beyond)


def open_checkout(
    checkouts: Path, name: str, remote: Remote, base: str, objects: Path | None,
    *, shallow: Sequence[str] = (), extent: Extent = WHOLE, stop: threading.Event | None = None,
) -> Checkout:  # fmt: skip
    """A fresh checkout of a commit, owned by this process for as long as it lives.

    `name` is `<attempt>-<kind>-<fence>`; `objects` is the objects folder of a local mirror, to
    share, and `shallow` the commits below which that holds no history. A name that somebody
    living holds is WrongState; a base that is nowhere is BaseMissing; Interrupted once `stop` is
    set. Either way nothing is left behind.
    """
    checkout = _own(checkouts, name, base, stop or threading.Event())
    try:
        sources = make_private(checkout.git_dir, remote, base, objects, shallow, checkout.stop)
        checkout.trouble = missing(checkout.git_dir, base, extent.folders)
        check_out(checkout.git_dir, checkout.tree, base, extent.folders, stop=checkout.stop)
        make_agents(checkout.tree, checkout.git_dir, base, sources, extent)
        checkout.settle()
    except BaseException:
        checkout.close()
        raise
    return checkout


def open_empty(
    checkouts: Path, name: str, base: str, objects: Path | None, *, shallow: Sequence[str] = ()
) -> Checkout:
    """The same without files, for work that only looks and closes: marks need no base."""
    checkout = _own(checkouts, name, base, threading.Event())
    try:
        make_bare(checkout.git_dir, base, objects, shallow)
        checkout.settle()
    except BaseException:
        checkout.close()
        raise
    return checkout


def _own(checkouts: Path, name: str, base: str, stop: threading.Event) -> Checkout:
    """The place, with nothing in it yet."""
    if not _NAME.fullmatch(name) or name.endswith(".lock"):
        raise UnsafeName(f"not a checkout's name: {name!r}")
    checkouts.mkdir(mode=0o700, parents=True, exist_ok=True)
    checkouts.chmod(0o700)  # ours; a command may have closed it
    root = checkouts.resolve() / name
    ownership = own(root, patience=_PATIENCE)
    if ownership is None:
        raise WrongState(f"the checkout {name} is in use")
    checkout = Checkout(root, base, ownership, stop)
    try:
        remove(root)
        for folder in (root, checkout.tree, checkout.scratch):
            folder.mkdir(mode=0o700)
    except BaseException:
        checkout.close()
        raise
    return checkout
