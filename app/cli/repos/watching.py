"""Watching many attempts to their ends: one question a beat for all of them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.cli import failing, watching
from app.cli.interrupt import Interrupts
from app.cli.parent import Parent
from app.cli.repos.beginning import Beginning
from app.cli.repos.entry import Entry, Standing
from app.cli.repos.screen import Screen
from app.domain.errors import DatabaseUnreachable, WrongState
from app.domain.identity import WorldId
from app.store.engine import Store
from app.store.views.many import Stand, came, stands
from app.transitions.cancel import cancel

_SHORTEST_BEAT, _BEAT, _LONGEST_BEAT = 0.02, 0.2, 2.0  #: seconds
_SHARE = 20  #: the question takes at most one part in so many of the time
_ASK_EVERY = 2.0  #: seconds between two questions who is connected
_READ_AT_ONCE = 20  #: observations, which may be long
_TURN = 0.25  #: seconds of asking attempts to stop, before the next beat


@dataclass(slots=True)
class Watch:
    """All entries of a list, and the stack that works on them."""

    store: Store
    home: Path
    world: WorldId
    actor: str
    entries: list[Entry]
    beginning: Beginning
    redis_url: str | None = field(repr=False)
    parent: Parent | None  #: None: the stack is somebody else's
    screen: Screen
    interrupts: Interrupts
    to_cancel: deque[Entry] = field(default_factory=deque)
    began: float = field(default_factory=time.monotonic)
    asked: float = 0.0
    said_queued: bool = False


def to_the_end(watch: Watch) -> int | None:
    """Watch until nothing more is expected; 130 where Ctrl-C ended it.

    Ctrl-C cancels every attempt on a stack of ours, and detaches from somebody else's.
    """
    watch.beginning.take(watch.entries)
    try:
        _follow(watch)
    except KeyboardInterrupt:
        watch.beginning.stop()
        if watch.parent is None:
            _detach(watch)
        else:
            _cancel(watch)
        return failing.INTERRUPTED
    return None


def _follow(watch: Watch) -> None:
    patience = watching.Patience(watch.screen.say)
    while True:
        began = time.monotonic()
        try:
            watch.beginning.turn()
            _cancel_some(watch)
            began = time.monotonic()
            look(watch.store, watch.world, watch.entries)
            patience.answered()
        except DatabaseUnreachable as fault:
            patience.lost(fault, "what was begun is left as it is")
        beat = min(_LONGEST_BEAT, max(_BEAT, _SHARE * (time.monotonic() - began)))
        watch.screen.show(watch.entries)
        if watch.beginning.is_over and all(entry.is_over for entry in watch.entries):
            return
        _pause(watch, beat if watch.beginning.is_over else _SHORTEST_BEAT)


def look(store: Store, world: WorldId, entries: list[Entry]) -> None:
    """See how every attempt stands that is not over, and what those that ended have come to."""
    asked = {str(entry.attempt): entry for entry in entries if entry.is_under_way}
    found: list[Stand] = []
    if asked:
        with store.begin() as tx:
            found = stands(tx, world, list(asked))
    for stand in found:
        asked[stand.attempt].see(stand)
    unread = [one for one in entries if one.has_ended and one.attempt and not one.is_read]
    for some in _chunks(unread):
        with store.begin() as tx:
            ends = came(tx, world, [str(entry.attempt) for entry in some])
        for entry in some:
            entry.read(ends[str(entry.attempt)])


def _chunks(entries: list[Entry]) -> Iterator[list[Entry]]:
    for first in range(0, len(entries), _READ_AT_ONCE):
        yield entries[first : first + _READ_AT_ONCE]


def _pause(watch: Watch, length: float) -> None:
    until = time.monotonic() + length
    while True:
        watch.interrupts.raise_if_new()
        if (left := until - time.monotonic()) <= 0:
            break
        time.sleep(min(left, _BEAT))
    under_way = sum(not entry.is_over for entry in watch.entries)
    watching.check_roles(watch.parent, watch.home, f"{under_way} repositories wait")
    now = time.monotonic()
    standings = {entry.standing for entry in watch.entries}
    if watch.said_queued or now - watch.asked < _ASK_EVERY:
        return
    if Standing.RUNNING in standings or Standing.QUEUED not in standings:
        return
    watch.asked = now
    if now - watch.began > watching.start_up(watch.parent):
        watch.said_queued = watching.said_that_nobody_works(
            watch.redis_url, watch.home, watch.screen.say
        )


def _detach(watch: Watch) -> None:
    going_on = sum(entry.is_under_way for entry in watch.entries)
    left = sum(entry.standing is Standing.NOT_BEGUN for entry in watch.entries)
    watch.screen.say(
        f"detached; {going_on} go on, {left} are not begun. "
        "next: the same command again joins what goes on and begins the rest"
    )


def _cancel(watch: Watch) -> None:
    watch.to_cancel.extend(entry for entry in watch.entries if not entry.is_over)
    watch.screen.say(f"cancels {len(watch.to_cancel)} attempts; Ctrl-C again leaves at once")
    try:
        _follow(watch)
    except KeyboardInterrupt:
        watch.screen.say(
            "leaves at once; what was asked to stop is closed by the next stack. "
            "next: fencepost attempts list --active"
        )
        raise watching.AtOnce from None


def _cancel_some(watch: Watch) -> None:
    until = time.monotonic() + _TURN
    while watch.to_cancel and time.monotonic() < until:
        entry = watch.to_cancel[0]
        if entry.attempt is not None and entry.is_under_way:
            with suppress(WrongState):  # it ended meanwhile
                cancel(watch.store, watch.world, watch.actor, entry.attempt, "interrupted")
        watch.to_cancel.popleft()
