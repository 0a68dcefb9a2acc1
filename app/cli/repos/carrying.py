"""Carrying a list of repositories through, on a stack that is there."""

from __future__ import annotations

import shlex
import sys
import time
from contextlib import suppress

from app.cli import stack, waiting_told
from app.cli.acting import acting
from app.cli.interrupt import collected
from app.cli.logins import Logins
from app.cli.order import permitted
from app.cli.parent import Parent
from app.cli.repos import watching
from app.cli.repos.beginning import Beginning
from app.cli.repos.entry import Entry
from app.cli.repos.screen import Screen
from app.cli.repos.summary import summary, tell
from app.cli.shown import json_line
from app.config import Settings
from app.domain.authority import require
from app.domain.errors import DatabaseUnreachable, NoRecoveryReason
from app.domain.identity import WorldId
from app.domain.task import SHORTEST_REASON
from app.store.engine import Store
from app.store.views.attempt import attempt_seen

_BEAT = 0.02  #: seconds
_MOST_ASKED = 50  #: of those that wait


def check_reason(reason: str) -> None:
    """Refuse, before anything begins, a reason that no retry would take (T03)."""
    if len(reason.strip()) < SHORTEST_REASON:
        raise NoRecoveryReason(f"a recovery reason has at least {SHORTEST_REASON} characters")


def followed(
    settings: Settings, found: Logins, parent: Parent | None, entries: list[Entry],
    again: str | None, screen: Screen, *, as_json: bool,
) -> int:  # fmt: skip
    """Begin every entry, watch all of them to their ends, and tell how they came out."""
    with stack.store_of(found) as store, collected() as interrupts:
        stack.check_redis(found.redis_url)
        beginning = _beginning(store, settings, again, screen)
        watch = watching.Watch(
            store, settings.home, beginning.world, beginning.actor, entries, beginning,
            found.redis_url, parent, screen, interrupts,
        )  # fmt: skip
        code = watching.to_the_end(watch)
        screen.close()
        _ask_why(store, beginning.world, entries)
        return _told(entries, code, as_json=as_json)


def detached(
    settings: Settings, found: Logins, entries: list[Entry], again: str | None, screen: Screen,
    *, as_json: bool,
) -> int:  # fmt: skip
    """Begin every entry, and tell what was begun."""
    with stack.store_of(found) as store:
        stack.check_redis(found.redis_url)
        beginning = _beginning(store, settings, again, screen)
        beginning.take(entries)
        while not beginning.is_over:
            beginning.turn()
            screen.show(entries)
            time.sleep(_BEAT)
        watching.look(store, beginning.world, entries)
        _ask_why(store, beginning.world, entries)
    screen.close()
    return _told(entries, None, as_json=as_json)


def _ask_why(store: Store, world: WorldId, entries: list[Entry]) -> None:
    """Find out what keeps those waiting that have begun and do not run."""
    waiting = [entry for entry in entries if entry.is_under_way and entry.worker is None]
    with suppress(DatabaseUnreachable):  # then it is not told
        for entry in waiting[:_MOST_ASKED]:
            with store.begin() as tx:
                told = waiting_told.told(tx, attempt_seen(tx, world, str(entry.attempt)))
            entry.why = next(iter(told.values()), "")


def _beginning(store: Store, settings: Settings, again: str | None, screen: Screen) -> Beginning:
    principal = acting(store, settings)
    world = permitted(store, principal)
    if again is not None:
        for verb in ("retry", "add_child"):
            require(principal, verb, world)
    return Beginning(store, settings.home, world, principal.id, screen.say, again)


def _told(entries: list[Entry], code: int | None, *, as_json: bool) -> int:
    found = summary(entries, code, _same_again(sys.argv[1:]))
    if as_json:
        json_line(found)
    else:
        tell(found)
    return int(found["exit_code"])


def _same_again(words: list[str]) -> str:
    """What was typed, as it begins anew what ended badly."""
    more = [] if "--again" in words else ["--again", "--reason", "WHY"]
    return shlex.join(["fencepost", *words[:1], *more, *words[1:]])
