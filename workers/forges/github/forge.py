"""GitHub as a forge: every look and every write is one request, and says what it proves."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.domain.checks import Sighting
from app.domain.errors import BaseMissing, ForgeRefused
from app.domain.head import HeadMove
from app.domain.pull_request import ForgeRequest
from app.github import checks
from app.github.account import CredentialMissing
from app.github.address import FORGE
from app.github.hub import Repository
from app.repository import push
from app.repository.remote import Remote
from workers.forges.base import Dress, Ground, Place, RequestDraft
from workers.forges.github.creation import judge
from workers.forges.github.dressing import put_on
from workers.forges.github.marking import CONTEXT
from workers.forges.github.reading import shown
from workers.workspace.cache import Cache

_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class GitHubForge:
    """One repository at GitHub, for one thread."""

    at: Repository
    caches: Path  #: of this host
    repository: str  #: id

    name: str = FORGE

    @property
    def settle_window(self) -> timedelta:
        """As set; GitHub's listing is usually behind by no more than a few seconds."""
        return self.at.hub.account.settle

    @property
    def checks_grace(self) -> timedelta:
        """As set."""
        return self.at.hub.account.checks_grace

    @property
    def remote(self) -> Remote:
        """Where git goes."""
        return Remote(self.at.address.url, self.at.access)

    def ground(self, base: str, depth: int | None, stop: threading.Event) -> Ground:
        """GitHub itself, and a cache of this host with the base in it.

        A short history has a cache of its own, for a cache is as shallow as what it last fetched.
        """
        if depth is None or self._cache.holds(base):
            return self._ground(self._cache, base, None, stop)
        try:
            shallow = Cache(self.caches, f"{self.repository}.shallow")
            return self._ground(shallow, base, depth, stop)
        except BaseMissing:  # it is hidden below what is advertised
            return self._ground(self._cache, base, None, stop)

    def edge(self) -> Ground:
        """GitHub itself, and the cache if there is a fit one."""
        cache = self._cache
        return self._borrowed(cache.__enter__()) if cache.is_fit else Ground(self.remote)

    def _ground(self, cache: Cache, base: str, depth: int | None, stop: threading.Event) -> Ground:
        with ExitStack() as until_done:
            until_done.enter_context(cache)
            cache.bring(self.remote, base, depth, stop)
            until_done.pop_all()
        return self._borrowed(cache)

    def _borrowed(self, cache: Cache) -> Ground:
        return Ground(self.remote, cache.objects, cache.shallow, cache)

    @property
    def _cache(self) -> Cache:
        return Cache(self.caches, self.repository)

    def find(self, head: str) -> list[ForgeRequest]:
        """Every request of this repository on the branch, from every page; none of a fork's."""
        asked = {"state": "all", "head": f"{self.at.owner}:{head}", "direction": "asc"}
        pages = self.at.pages(f"{self.at.root}/pulls", asked)
        found = (shown(one, self.at.facts()) for page in pages for one in page.value)
        return [one for one in found if one is not None and one.head == head]

    def create(self, draft: RequestDraft) -> ForgeRequest:
        """Send one POST, whatever comes of it; a refusal for now is ForgeNotReady (G02, G04)."""
        if not draft.title.strip():
            raise ForgeRefused("a request needs a title")
        value = {
            "title": draft.title, "body": draft.marked_body, "draft": draft.draft,
            "head": draft.head, "base": draft.base, "maintainer_can_modify": False,
        }  # fmt: skip
        answer = self.at.write("POST", f"{self.at.root}/pulls", value)
        if answer.status == 401:
            self.at.renew()
        return judge(answer, draft, self.at.facts())

    def dress(self, request: ForgeRequest, dress: Dress) -> list[str]:
        """Labels, reviewers and a status; what GitHub will not have is told, and fails nothing."""
        return put_on(self.at, request, dress)

    def sight(self, number: int, sha: str) -> Sighting:
        """By conditional reads; the status that we have given is not looked at."""
        return checks.sight(self.at, number, sha, CONTEXT)

    def tips(self, branches: Sequence[str]) -> Mapping[str, str]:
        """The commits of those branches that exist, as git sees them."""
        refs = [_HEADS + branch for branch in branches]
        with self._cache as cache:
            found = push.tips(cache.prepared(), self.remote, refs)
        return {
            branch: found[ref] for branch, ref in zip(branches, refs, strict=True) if ref in found
        }

    def move_heads(self, moves: Sequence[HeadMove]) -> None:
        """One atomic push with an exact lease on each branch."""
        steps = [push.Move(_HEADS + one.branch, one.new, one.expected) for one in moves]
        with self._cache as cache:
            for sha in {one.new for one in moves if one.new is not None}:
                cache.bring(self.remote, sha)
            push.push(cache.prepared(), self.remote, steps)


def github_forge(place: Place) -> GitHubForge:
    """The forge of one repository at GitHub; CredentialMissing where this process has none."""
    if place.url is None or place.hub is None or place.caches is None:
        raise CredentialMissing(f"repository {place.repository} is at GitHub")
    return GitHubForge(place.hub.repository(place.url), place.caches, place.repository)
