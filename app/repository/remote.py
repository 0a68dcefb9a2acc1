"""A repository that git reaches from here, and what lets each git command in."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.repository.git import Completed, attempt

#: How git says that it was not let in; then nothing was moved.
_NOT_LET_IN = (b"Authentication failed", b"could not read Username", b"could not read Password")


class Access(Protocol):
    """What lets a git command in."""

    def environment(self) -> Mapping[str, str]:
        """Variables of that one process; fresh each time."""

    def renew(self) -> bool:
        """Forget what was refused; whether another try makes sense."""


@dataclass(frozen=True, slots=True)
class Remote:
    """Where fetches come from and pushes go to."""

    address: str  #: URL or path
    access: Access | None = None  #: None: everybody on this machine may


def reach(
    remote: Remote, *arguments: str, git_dir: Path | None = None, timeout: float = 300,
    extra: Mapping[str, str] | None = None, stop: threading.Event | None = None,
) -> Completed:  # fmt: skip
    """Run a git command that speaks to the remote; if it is not let in, once more with new proof.

    A credential that ran out in the middle of a run costs nothing but this (G05).
    """
    more = extra or {}
    done = _reach(remote, arguments, git_dir, timeout, more, stop)
    is_shut_out = done.code != 0 and any(words in done.err for words in _NOT_LET_IN)
    if is_shut_out and remote.access is not None and remote.access.renew():
        return _reach(remote, arguments, git_dir, timeout, more, stop)
    return done


def _reach(
    remote: Remote, arguments: tuple[str, ...], git_dir: Path | None, timeout: float,
    more: Mapping[str, str], stop: threading.Event | None,
) -> Completed:  # fmt: skip
    extra = {} if remote.access is None else {**remote.access.environment()}
    extra |= more
    return attempt(*arguments, git_dir=git_dir, extra=extra, timeout=timeout, stop=stop)
