"""Whatever a verb was asked for, and who asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app import config
from app.cli import stack
from app.cli.acting import allowed
from app.domain.identity import WorldId
from app.store.engine import Store
from app.store.views.finding import find


@dataclass(frozen=True, slots=True)
class Asked:
    """A thing that was named, where it is, and who may do to it what was asked."""

    store: Store
    home: Path
    world: WorldId
    id: str
    actor: str


@contextmanager
def asked(what: str, prefix: str, verb: str) -> Iterator[Asked]:
    """The thing of this sort whose id begins so, for somebody who may do this to it."""
    settings = config.read()
    with stack.opened(settings) as store:
        with store.begin() as tx:
            found = find(tx, prefix, what)
        actor = allowed(store, settings, verb, found.world)
        yield Asked(store, settings.home, WorldId(found.world), found.id, actor)
