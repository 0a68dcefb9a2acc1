"""One process's way to GitHub: its credentials, and what it knows of each repository there."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from app.domain.errors import NotFound, RemoteUnreadable
from app.domain.pull_request import ForgeLimited
from app.github.access import GitAccess
from app.github.account import Account, CredentialMissing
from app.github.address import Address, address_of
from app.github.answer import Answer, limit_of, trouble_of
from app.github.client import Client, as_bearer
from app.github.credential import Credential, credential_of

_MOST_KEPT = 2000  #: answers that a 304 may stand for


class Hub:
    """Shared by every thread of a process; nothing of it is on disk, and all may be lost."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._lock = threading.Lock()
        self._credentials: dict[Address, Credential] = {}
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        self._not_before = 0.0  #: by the monotonic clock

    def check(self) -> None:
        """Raise ForgeLimited while the time that GitHub has named to anybody here is not over.

        So one limited call, not one of each activity, finds out that there is a limit.
        """
        left = self._not_before - time.monotonic()
        if left > 0:
            raise ForgeLimited("GitHub has named a time that is not over", timedelta(seconds=left))

    def heed(self, answer: Answer) -> Answer:
        """Remember the time that a limit names."""
        if (wait := limit_of(answer)) is not None:
            self._not_before = max(self._not_before, time.monotonic() + wait.total_seconds())
        return answer

    def repository(self, url: str) -> Repository:
        """A repository by its address; CredentialMissing, or NotFound for one that is elsewhere."""
        address = address_of(url, self.account)
        if address is None:
            raise NotFound(
                f"{url} is no repository at {self.account.host}",
                hint="see that FENCEPOST_GITHUB_URL names the GitHub that it is at",
            )
        with self._lock:
            if address not in self._credentials:
                self._credentials[address] = credential_of(self.account, address)
            return Repository(self, address, self._credentials[address])

    def kept(self, path: str) -> Answer | None:
        """The last whole answer about something."""
        with self._lock:
            return self._kept.get(path)

    def keep(self, path: str, answer: Answer) -> None:
        """Keep an answer, for whoever asks whether there is news."""
        with self._lock:
            self._kept[path] = answer
            self._kept.move_to_end(path)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)


class Repository:
    """One repository, for one thread; what is refused for its credential is tried with a new one.

    Reads may be repeated, so they are; a write never is here.
    """

    def __init__(self, hub: Hub, address: Address, credential: Credential) -> None:
        self.hub, self.address, self._credential = hub, address, credential
        self._client: Client | None = None
        self._named: str | None = None
        self._facts: Mapping[str, Any] = {}

    @property
    def access(self) -> GitAccess:
        """What lets git in."""
        return GitAccess(self.address, self._credential)

    def facts(self) -> Mapping[str, Any]:
        """What GitHub says of the repository, asked once; it may have another name by now."""
        if self._named is None:
            answer = self.get(f"/repos/{self.address}")
            value = answer.value
            if not answer.is_good:
                raise trouble_of(answer, f"a look at {self.address}")
            if not isinstance(value, Mapping) or not isinstance(value.get("full_name"), str):
                raise RemoteUnreadable(f"GitHub's answer about {self.address} cannot be read")
            self._facts, self._named = value, value["full_name"]
        return self._facts

    @property
    def root(self) -> str:
        """The path of everything of it, by the name that it has now."""
        self.facts()
        assert self._named is not None
        return f"/repos/{quote(self._named)}"

    @property
    def owner(self) -> str:
        """As GitHub spells it."""
        return self.root.split("/")[2]

    def get(self, path: str, parameters: Mapping[str, str] | None = None,
            etag: str | None = None, accept: str | None = None) -> Answer:  # fmt: skip
        """One read, whatever its status."""
        self.hub.check()
        answer = self._mine().get(path, parameters, etag, accept)
        if answer.status == 401 and self.renew():
            answer = self._mine().get(path, parameters, etag, accept)
        return self.hub.heed(answer)

    def pages(self, path: str, parameters: Mapping[str, str], most: int = 1000) -> list[Answer]:
        """Every page of a list; RemoteUnreadable, ForgeLimited or ForgeRefused unless all came."""
        self.hub.check()
        found = self._mine().pages(path, parameters, most)
        if found[-1].status == 401 and self.renew():
            found = self._mine().pages(path, parameters, most)
        self.hub.heed(found[-1])
        if not found[-1].is_good:
            raise trouble_of(found[-1], f"a look at {path}")
        if not isinstance(found[-1].value, list):
            raise RemoteUnreadable(f"GitHub's answer about {path} is no list")
        return found

    def news(self, path: str) -> Answer:
        """A read that costs nothing where nothing is new; the answer is always a whole one."""
        kept = self.hub.kept(path)
        answer = self.get(path, etag=kept.headers.get("etag") if kept else None)
        if answer.status == 304 and kept is not None:
            return kept
        if answer.is_good and "etag" in answer.headers:
            self.hub.keep(path, answer)
        return answer

    def text(self, path: str, accept: str) -> str:
        """What is at a path in another form than JSON; an answer that is not good is raised."""
        answer = self.get(path, accept=accept)
        if not answer.is_good:
            raise trouble_of(answer, f"a look at {path}")
        if "json" in answer.headers.get("content-type", ""):
            raise RemoteUnreadable(f"{self.address.host} does not show {path} as {accept}")
        return answer.body

    def write(self, verb: str, path: str, value: Mapping[str, Any]) -> Answer:
        """One write, sent once; NotSent and ForgeUncertain as the client says."""
        self.hub.check()
        return self.hub.heed(self._mine().write(verb, path, value))

    def renew(self) -> bool:
        """Take another credential, where there may be one."""
        self._client = None
        return self._credential.renew()

    def _mine(self) -> Client:
        token = self._credential.token()
        if self._client is None or not self._client.is_of(token):
            self._client = Client(self.hub.account.api, as_bearer(token))
        return self._client


__all__ = ["CredentialMissing", "Hub", "Repository"]
