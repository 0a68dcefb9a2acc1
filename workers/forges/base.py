"""The port to a forge: look, and create once (PROTOCOL §6)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from app.domain.head import HeadMove
from app.domain.identity import OperationId
from app.domain.pull_request import ForgeRequest

_MARKER = re.compile(r"<!--\s*fencepost\s+operation\s*=\s*([0-9a-f]{64})\s*-->")
_LOOKS_LIKE_ONE = re.compile(r"<!--(?=\s*fencepost\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a repository's requests live, as far as a forge needs to know it."""

    mirrors: Path  #: the folder of the local forge's mirrors
    repository: str  #: id


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """A pull request to create."""

    title: str
    body: str  #: without the marker
    head: str  #: branch
    base: str  #: branch
    operation: OperationId

    @property
    def marked_body(self) -> str:
        """The body as sent; what only looks like a marker in it (an agent's text) is defused."""
        harmless = _LOOKS_LIKE_ONE.sub("&lt;!--", self.body).rstrip()
        return f"{harmless}\n\n<!-- fencepost operation={self.operation} -->\n".lstrip()


class Forge(Protocol):
    """Where pull requests are; it never retries a write by itself."""

    @property
    def name(self) -> str:
        """Its name in the registry."""

    @property
    def settle_window(self) -> timedelta:
        """How long a created request may stay out of `find`."""

    def find(self, head: str) -> list[ForgeRequest]:
        """Every request of this repository on the branch, in any state; or RemoteUnreadable."""

    def create(self, draft: RequestDraft) -> ForgeRequest:
        """Send one request, once.

        RequestExists: one is open for this head and base. ForgeRefused: nothing was done, for
        good. ForgeUncertain: it may or may not have been done; look, and do not send again.
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
