"""What every run of a worker process is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from app.agents import Agents
from app.domain.identity import ActivityKey, Claim, DeliveryNumber
from app.github.hub import Hub
from app.isolation import Isolation
from app.store.activities import Activity
from app.store.engine import Store
from app.store.listening import Waker
from workers.forges.base import Place
from workers.journal import Journal
from workers.keeper import Held, Keeper
from workers.room import Disk
from workers.workspace.box import Box, box_for
from workers.workspace.checkout import Checkout


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker process."""

    name: str
    home: Path
    store: Store
    keeper: Keeper
    waker: Waker
    disk: Disk
    hub: Hub  #: its way to GitHub
    agents: Agents = field(repr=False)  #: and to the models of its agents
    isolation: Isolation = field(default_factory=Isolation)

    def place(self, repository: str, url: str | None) -> Place:
        """Where a repository's requests live."""
        return Place(self.mirrors, repository, url, self.caches, self.hub)

    @property
    def mirrors(self) -> Path:
        """Where the local forge keeps its bare mirrors."""
        return self.home / "forge"

    @property
    def caches(self) -> Path:
        """Where objects of repositories elsewhere are kept, to be borrowed."""
        return self.home / "cache"

    @property
    def checkouts(self) -> Path:
        """Where claims work, each in a folder of its own."""
        return self.home / "checkouts"


@dataclass(frozen=True, slots=True)
class Message:
    """What a delivery says: an identity and a number."""

    key: ActivityKey
    delivery: DeliveryNumber


@dataclass(frozen=True, slots=True)
class Run:
    """One claim at work."""

    worker: Worker
    held: Held
    activity: Activity
    journal: Journal

    @property
    def claim(self) -> Claim:
        """The claim that everything is written under."""
        return self.held.claim

    @property
    def is_leaving(self) -> bool:
        """Whether nothing may be started here any more, for another worker shall have it."""
        return self.worker.keeper.is_draining or self.held.leave.is_set()

    def box(self, checkout: Checkout) -> Box | None:
        """What everything that runs in the checkout is shut into."""
        folders = (checkout.tree, checkout.scratch)
        return box_for(self.worker.isolation, self.worker.home, folders, checkout.git_dir)

    @property
    def store(self) -> Store:
        """The database, by the worker's login."""
        return self.worker.store
