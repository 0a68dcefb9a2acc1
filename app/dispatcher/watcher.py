"""Open requests that somebody waits for are looked at, at the forge (O08)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from app.dispatcher.loop import each
from app.domain.identity import WorldId
from app.repository import requests
from app.repository.mirror import Mirror
from app.repository.refs import tips
from app.store import bounds
from app.store.bounds import Awaited
from app.store.engine import Store
from app.transitions.observe_requests import RequestSeen, observe_requests


def turn(store: Store, forge: Path) -> int:
    """Take in every request that was merged or closed; the forge is asked outside a transaction."""
    with store.begin() as tx:
        awaited = bounds.awaited(tx)
    together: dict[tuple[WorldId, str], list[Awaited]] = defaultdict(list)
    for one in awaited:
        together[one.world, one.repository].append(one)
    return each(together.values(), lambda those: _look(store, forge, those))


def _look(store: Store, forge: Path, awaited: Sequence[Awaited]) -> int:
    """The requests of one repository."""
    mirror = Mirror(forge / f"{awaited[0].repository}.git")
    if not mirror.git_dir.is_dir():
        return 0  # the local forge of another host
    states = {request.number: request.state for request in requests.list_requests(mirror)}
    heads = tips(mirror.git_dir, "refs/heads")
    seen = {
        one.attempt: RequestSeen(states[one.request], heads.get(f"refs/heads/{one.base}"))
        for one in awaited
        if one.request in states
    }
    return observe_requests(store, awaited[0].world, seen)
