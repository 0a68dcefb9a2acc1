"""Taking in what became of open requests, so that the next writer of a base may begin (O08)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.board import WriterLeft
from app.domain.bounds import Left
from app.domain.identity import WorldId
from app.domain.pull_request import RequestState
from app.store import bounds
from app.store.engine import Store
from app.store.listening import wake
from app.transitions.change import DISPATCHER, Change, Command
from app.transitions.perform import perform


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """A request, as its forge showed it."""

    state: RequestState
    base_sha: str | None  #: the commit of its base


_LEFT = {RequestState.CLOSED: Left.CLOSED, RequestState.MERGED: Left.MERGED}


def observe_requests(store: Store, world: WorldId, seen: Mapping[str, RequestSeen]) -> int:
    """Let attempts whose requests are no longer open leave their bases; return how many did.

    `seen`: attempt → its request, as the forge showed it. Whoever writes there next starts from the
    base as it was seen. Repeating it is harmless; without news there is no tick.
    """
    with store.begin() as tx:
        news = {
            attempt: WriterLeft(attempt, _LEFT[request.state], request.base_sha)
            for attempt, request in seen.items()
            if request.state in _LEFT and bounds.is_writer(tx, world, attempt)
        }
    if not news:
        return 0
    left: list[str] = []

    def act(change: Change) -> Mapping[str, str]:
        for attempt, decision in news.items():
            if bounds.is_writer(change.tx, world, attempt):
                change.decide(decision)
                left.append(attempt)
        wake(change.tx)
        return {}

    perform(store, world, Command("observe_requests", DISPATCHER, {"seen": list(news)}), act)
    return len(left)
