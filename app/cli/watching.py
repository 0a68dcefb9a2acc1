"""Watching an attempt to its end, and what Ctrl-C means meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from app import config
from app.broker.redis import workers_connected
from app.cli import failing, report, waiting_told
from app.cli.follow import Follower, News, follow
from app.cli.interrupt import Interrupts
from app.cli.order import Dispatched
from app.cli.parent import Parent, last_words
from app.cli.progress import Progress, Say
from app.cli.shown import json_line
from app.disk import room
from app.domain.errors import (
    DatabaseUnreachable,
    DiskFull,
    RedisUnreachable,
    SetupError,
    WrongState,
)
from app.store.engine import Store
from app.store.views.attempt import AttemptSeen
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

_LOOK_EVERY = 0.1  #: seconds
_ASK_EVERY = 2.0  #: seconds between two questions who is connected
_START_UP = 3.0  #: seconds that a worker of somebody else's stack may take to connect
_OUR_START_UP = 10.0  #: ours was started with us
_ASK_AGAIN = 0.5  #: seconds between two tries of a database that is lost
_PATIENCE = 60.0  #: seconds without a database


class RoleEnds(SetupError):
    """A role of this stack ends again and again; its log says why."""

    code = "role_does_not_stay"


class AtOnce(Exception):
    """Ctrl-C came a second time: leave everything as it is."""


@dataclass(slots=True)
class Watch:
    """One attempt, and the stack that works on it."""

    store: Store
    home: Path
    new: Dispatched
    redis_url: str | None = field(repr=False)
    parent: Parent | None  #: None: the stack is somebody else's
    shown: Progress
    interrupts: Interrupts
    began: float = field(default_factory=time.monotonic)
    asked: float = 0.0
    said_queued: bool = False
    said_waits: str = ""
    asked_why: float = field(default_factory=time.monotonic)


def to_the_end(watch: Watch, *, as_json: bool) -> int:
    """Watch, report, and return the exit code. Ctrl-C cancels on a stack of ours, else detaches."""
    follower = Follower(watch.store, watch.new.world, watch.new.attempt)
    try:
        _follow(watch, follower)
    except KeyboardInterrupt:
        if watch.parent is None:
            watch.shown.say(
                f"detached; {watch.new.attempt} goes on. "
                f"next: fencepost logs {watch.new.attempt} --follow, "
                f"fencepost attempts cancel {watch.new.attempt}"
            )
            return failing.INTERRUPTED
        _cancel(watch, follower)
        _report(watch, as_json=as_json)
        return failing.INTERRUPTED
    return _report(watch, as_json=as_json)


def _follow(watch: Watch, follower: Follower) -> AttemptSeen:
    patience = Patience(watch.shown.say)

    def show(seen: AttemptSeen, news: list[News]) -> None:
        patience.answered()
        watch.shown.show(seen, news)

    while True:
        try:
            return follow(follower, show, lambda seen: _pause(watch, seen))
        except DatabaseUnreachable as fault:
            patience.lost(fault, f"attempt {watch.new.attempt} is left as it is")
            watch.interrupts.raise_if_new()
            time.sleep(_ASK_AGAIN)


class Patience:
    """How long a database may be away before watching makes no sense any more."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._since: float | None = None

    def lost(self, fault: DatabaseUnreachable, what: str) -> None:
        """It does not answer: said once, and raised again when it has been too long."""
        if self._since is None:
            self._since = time.monotonic()
            self._say(f"the database does not answer; tries again: {fault.message}")
        if time.monotonic() - self._since > _PATIENCE:
            raise DatabaseUnreachable(
                f"{what}: {fault.message}",
                hint="its work resumes with the next `fencepost up` or `fencepost run`",
            ) from fault

    def answered(self) -> None:
        """It answers."""
        if self._since is not None:
            self._say("the database answers again")
            self._since = None


def _pause(watch: Watch, seen: AttemptSeen) -> None:
    watch.interrupts.raise_if_new()
    time.sleep(_LOOK_EVERY)
    check_roles(watch.parent, watch.home, f"the attempt {seen.id} waits")
    now = time.monotonic()
    if _waits(watch, seen):
        return
    is_claimed = any(step.fence for step in seen.steps)
    if is_claimed or watch.said_queued or now - watch.asked < _ASK_EVERY:
        return
    watch.asked = now
    if now - watch.began > start_up(watch.parent):
        watch.said_queued = said_that_nobody_works(watch.redis_url, watch.home, watch.shown.say)


def check_roles(parent: Parent | None, home: Path, then: str) -> None:
    """Raise RoleEnds where a role of our own stack does not stay."""
    if parent and (name := parent.hopeless()):
        raise RoleEnds(
            f"the {name} ends again and again: {last_words(home, name)}",
            hint=f"see {home / 'logs' / name}.log; {then}",
        )


def start_up(parent: Parent | None) -> float:
    """The seconds that a worker may take to connect before anybody wonders."""
    return _OUR_START_UP if parent else _START_UP


def _waits(watch: Watch, seen: AttemptSeen) -> bool:
    """Whether a step waits for a place; why is said once, and again when it changes.

    So is a paused queue, or a limit.
    """
    now = time.monotonic()
    if now - watch.asked_why >= _ASK_EVERY:
        watch.asked_why = now
        with watch.store.begin() as tx:
            told = "; ".join(waiting_told.told(tx, seen, lasting=True).values())
        if told and told != watch.said_waits:
            watch.said_waits = told
            watch.shown.say(told, code="waits")
    return any(step.waits for step in seen.steps)


def said_that_nobody_works(redis_url: str | None, home: Path, say: Say) -> bool:
    """Whether it had to be said that what is queued finds no worker, or none with room."""
    try:
        if redis_url is None:
            return False
        if workers_connected(redis_url) > 0:
            return _said_that_there_is_no_room(home, say)
    except RedisUnreachable as fault:
        say(f"queued in Postgres: {fault.message}", code=fault.code)
        return True
    say(
        "queued: no worker is running; start one with `fencepost worker`, or a stack with "
        "`fencepost up`",
        code="no_worker",
    )
    return True


def _said_that_there_is_no_room(home: Path, say: Say) -> bool:
    """Of this machine's disk; that of workers elsewhere is theirs to speak of."""
    found = room(home, config.read().least_disk)
    if not found.is_enough:
        say(f"queued: workers here begin nothing: {found}", code=DiskFull.code)
    return not found.is_enough


def _cancel(watch: Watch, follower: Follower) -> None:
    watch.shown.say("cancels the attempt; Ctrl-C again leaves at once")
    try:
        with suppress(WrongState):  # it ended meanwhile
            cancel(watch.store, watch.new.world, LOCAL, watch.new.attempt, "interrupted")
        _follow(watch, follower)
    except KeyboardInterrupt:
        watch.shown.say(
            f"leaves at once; attempt {watch.new.attempt} was asked to stop, and is closed by the "
            f"next stack. next: fencepost attempts show {watch.new.attempt}"
        )
        raise AtOnce from None


def _report(watch: Watch, *, as_json: bool) -> int:
    watch.shown.close()
    found = report.summary(watch.store, watch.home, watch.new.world, watch.new.attempt)
    if as_json:
        json_line(found)
    else:
        report.tell(found)
    return int(found["exit_code"])
