"""The local forge: numbered requests in a bare mirror on this machine."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from app.domain.checks import Sighting
from app.domain.errors import (
    FencepostError,
    ForgeRefused,
    ForgeUncertain,
    GitFailed,
    NotFound,
    PushLost,
    RemoteUnreadable,
    UnfitInput,
)
from app.domain.head import HeadMove
from app.domain.pull_request import ForgeRequest, RequestState
from app.repository import refs, requests
from app.repository.mirror import Mirror
from app.repository.remote import Remote
from app.repository.requests import PullRequest, list_requests, open_request
from workers.forges.base import Dress, Ground, Place, RequestDraft, marker_of

_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class LocalForge:
    """A forge whose listing is never behind; the window is for a call that is still under way."""

    mirror: Mirror
    name: str = "local"
    settle_window: timedelta = timedelta(seconds=2)
    checks_grace: timedelta = timedelta(0)  #: it has no checks

    def ground(self, base: str, depth: int | None, stop: threading.Event) -> Ground:
        """The mirror, which has had the base since the dispatch."""
        return self.edge()

    def edge(self) -> Ground:
        """The mirror."""
        return Ground(Remote(str(self.mirror.git_dir)), self.mirror.git_dir / "objects")

    def find(self, head: str) -> list[ForgeRequest]:
        """Every request on the branch."""
        try:
            return [_shown(request) for request in list_requests(self.mirror, head=head)]
        except GitFailed as fault:
            raise RemoteUnreadable(fault.message) from fault

    def create(self, draft: RequestDraft) -> ForgeRequest:
        """Open a request in the mirror's ledger."""
        try:
            return _shown(
                open_request(self.mirror, draft.title, draft.marked_body, draft.head, draft.base)
            )
        except UnfitInput as fault:
            raise ForgeRefused(fault.message) from fault
        except (GitFailed, PushLost) as fault:
            # A git that ran out of time may have moved the refs all the same.
            raise ForgeUncertain(fault.message) from fault

    def dress(self, request: ForgeRequest, dress: Dress) -> list[str]:
        """It shows no more than text and state, so that only closing is left."""
        troubles = []
        for number in dress.supersedes:
            try:
                if requests.show(self.mirror, number).state is RequestState.OPEN:
                    requests.close(self.mirror, number)
            except FencepostError as fault:
                troubles.append(f"request #{number} stays as it is: {fault.message}")
        return troubles

    def sight(self, number: int, sha: str) -> Sighting:
        """The request as it stands; there are no checks here."""
        try:
            request = requests.show(self.mirror, number)
        except (GitFailed, NotFound) as fault:
            raise RemoteUnreadable(fault.message) from fault
        return Sighting(request.state, request.head_sha)

    def tips(self, branches: Sequence[str]) -> Mapping[str, str]:
        """The commits of the mirror's branches of these names."""
        try:
            found = refs.tips(self.mirror.git_dir, *(_HEADS + branch for branch in branches))
        except GitFailed as fault:
            raise RemoteUnreadable(fault.message) from fault
        named = {ref.removeprefix(_HEADS): sha for ref, sha in found.items()}
        return {branch: named[branch] for branch in branches if branch in named}

    def move_heads(self, moves: Sequence[HeadMove]) -> None:
        """One transaction on the mirror's refs."""
        steps = [refs.Move(_HEADS + one.branch, one.expected, one.new) for one in moves]
        try:
            refs.move(self.mirror.git_dir, steps)
        except GitFailed as fault:
            raise RemoteUnreadable(fault.message) from fault


def local_forge(place: Place) -> LocalForge:
    """The local forge of one repository; a mirror that this host has not is not made here."""
    return LocalForge(Mirror(place.mirrors / f"{place.repository}.git"))


def _shown(request: PullRequest) -> ForgeRequest:
    return ForgeRequest(
        request.number, request.state, request.title, request.head, request.head_sha,
        request.base, request.url, marker_of(request.body),
    )  # fmt: skip
