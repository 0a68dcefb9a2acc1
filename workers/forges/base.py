"""The port to a forge: look, and create once (PROTOCOL §6)."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from app.domain.checks import Sighting
from app.domain.head import HeadMove
from app.domain.identity import OperationId
from app.domain.pull_request import ForgeRequest
from app.github.hub import Hub
from app.repository.remote import Remote
from workers.workspace.cache import Cache
from workers.workspace.closing import Closing

_MARKER = re.compile(r"<!--\s*fencepost\s+operation\s*=\s*([0-9a-f]{64})\s*-->")
_LOOKS_LIKE_ONE = re.compile(r"<!--(?=\s*fencepost\b)", re.IGNORECASE)


LONGEST_BODY = 60_000  #: GitHub takes 65,536 characters, the marker among them


@dataclass(frozen=True, slots=True)
class Place:
    """Where a repository's requests live, as far as a forge needs to know it."""

    mirrors: Path  #: the folder of the local forge's mirrors
    repository: str  #: id
    url: str | None = None  #: where it is at a forge beyond this host
    caches: Path | None = None  #: the folder of what such forges' objects are kept in
    hub: Hub | None = None  #: this process's way to GitHub


@dataclass(frozen=True, slots=True)
class Ground(Closing):
    """Where a repository's commits come from and go to; what is borrowed is kept inside `with`."""

    remote: Remote
    objects: Path | None = None  #: a folder of objects to borrow
    shallow: tuple[str, ...] = ()  #: commits below which these hold no history
    cache: Cache | None = None  #: whose objects they are

    def close(self) -> None:
        """Keep nothing any more."""
        if self.cache is not None:
            self.cache.close()

    def doubt(self) -> None:
        """No checkout could be made of it: what can be fetched again will be."""
        if self.cache is not None:
            self.cache.doubt()


@dataclass(frozen=True, slots=True)
class Dress:
    """What a request wears besides its text; each piece may be missing, and fails nothing."""

    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()  #: `team/NAME` is a team of the owner's
    status: str | None = None  #: what the commit's status says
    supersedes: tuple[int, ...] = ()  #: requests of ours to be closed, if they are open


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """A pull request to create."""

    title: str
    body: str  #: without the marker
    head: str  #: branch
    base: str  #: branch
    operation: OperationId
    draft: bool = False

    @property
    def marked_body(self) -> str:
        """The body as sent; what only looks like a marker in it (an agent's text) is defused."""
        harmless = _LOOKS_LIKE_ONE.sub("&lt;!--", self.body).rstrip()
        if len(harmless) > LONGEST_BODY:
            harmless = f"{harmless[:LONGEST_BODY]}\n\n… and more, which no forge would take."
        return f"{harmless}\n\n<!-- fencepost operation={self.operation} -->\n".lstrip()


class Forge(Protocol):
    """Where pull requests are; it never retries a write by itself."""

    @property
    def name(self) -> str:
        """Its name in the registry."""

    @property
    def settle_window(self) -> timedelta:
        """How long a created request may stay out of `find`."""

    @property
    def checks_grace(self) -> timedelta:
        """For how long checks of a request may still appear; nothing where there never are any."""

    def ground(self, base: str, depth: int | None, stop: threading.Event) -> Ground:
        """Where git goes, with the base in its objects; BaseMissing or RemoteUnreadable.

        With a depth so many commits of history are enough. Interrupted once `stop` is set.
        """

    def edge(self) -> Ground:
        """The same with whatever objects are there, for work that only looks and closes."""

    def find(self, head: str) -> list[ForgeRequest]:
        """Every request of this repository on the branch, in any state.

        RemoteUnreadable: nothing is known. ForgeLimited: look again later, ForgeRefused: look
        again when a person has mended what it names.
        """

    def create(self, draft: RequestDraft) -> ForgeRequest:
        """Send one request, once.

        RequestExists: one is open for this head and base. ForgeRefused: nothing was done, for
        good; ForgeNotReady: for now. ForgeLimited: nothing was done, and more is taken later.
        ForgeUncertain: it may or may not have been done; look, and do not send again.
        """

    def dress(self, request: ForgeRequest, dress: Dress) -> list[str]:
        """Put on the request what is not there yet; what is refused is told, and fails nothing.

        Every piece is naturally idempotent, so that it may be put on again.
        """

    def sight(self, number: int, sha: str) -> Sighting:
        """Look once at a request, and at the checks of a commit.

        RemoteUnreadable: nothing is known. ForgeLimited: look again later. ForgeRefused: look
        again when a person has mended what it names.
        """

    def tips(self, branches: Sequence[str]) -> Mapping[str, str]:
        """The commits of those branches that exist; or RemoteUnreadable."""

    def move_heads(self, moves: Sequence[HeadMove]) -> None:
        """Move branches, each from exactly where it was seen, all or none.

        PushLost: one was elsewhere. RemoteUnreadable: nothing is known, look before you act. An
        open request whose head is removed counts as closed from then on.
        """


def marker_of(body: str) -> OperationId | None:
    """Whose request it is; None without a marker, and with several that disagree."""
    operations = set(_MARKER.findall(body))
    return OperationId(operations.pop()) if len(operations) == 1 else None
