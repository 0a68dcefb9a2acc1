"""One repository of a list, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from app.cli.order import Order
from app.domain.digest import Json
from app.domain.errors import FencepostError
from app.store.views.many import Begun, Came, Stand


class Standing(StrEnum):
    """Where it stands; each is a line of the summary."""

    TO_COME = "to come"
    FETCHING = "fetching"
    HELD = "held"  #: as much waits in the world as may
    QUEUED = "queued"
    WAITING = "waiting"  #: for a place (O08)
    RUNNING = "running"
    DONE = "done"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    DEAD = "dead"
    CANCELED = "canceled"
    ABANDONED = "abandoned"
    NOT_BEGUN = "not begun"
    UNKNOWN = "unknown"


GOOD = (Standing.DONE, Standing.UNCHANGED)
BAD = (
    Standing.FAILED, Standing.DEAD, Standing.CANCELED, Standing.ABANDONED, Standing.NOT_BEGUN,
)  # fmt: skip
OVER = (*GOOD, *BAD, Standing.UNKNOWN)


@dataclass(slots=True)
class Entry:
    """One line of the list: what is asked for, and what has come of it."""

    line: int
    order: Order | None  #: None: the repository could not be read
    name: str  #: for people, one of its kind in the list
    key: str = ""  #: names what is asked for, whoever asks
    standing: Standing = Standing.TO_COME
    before: bool = False  #: it ended before this run
    joined: bool = False  #: another run has begun it, and it goes on
    task: str | None = None
    repository: str = ""  #: its id
    is_first: bool = True  #: the task is its work order's own
    attempt: str | None = None
    outcome: str | None = None  #: of the attempt
    step: str = ""
    worker: str | None = None
    waits: str | None = None
    why: str = ""  #: it does not run, though it has begun
    ended_at: datetime | None = None
    seen_at: datetime | None = None  #: by the database's clock
    elapsed: timedelta | None = None
    request: Mapping[str, Json] | None = None
    failed_step: str | None = None
    code: str | None = None
    detail: str = ""
    cause: str = ""  #: the line that it has in common with failures like it
    hint: str = ""
    is_refused: bool = False  #: a rule said no, before anything began
    is_read: bool = False  #: what came of its attempt is known
    told: set[str] = field(default_factory=set)  #: what was shown of it

    @property
    def asked(self) -> Order:
        """What is asked for; what could not be read is never begun."""
        assert self.order is not None, self.name
        return self.order

    @property
    def is_over(self) -> bool:
        """Nothing more is expected of it."""
        return self.standing in OVER

    @property
    def is_under_way(self) -> bool:
        """It has an attempt that has not ended."""
        return self.standing in (Standing.QUEUED, Standing.WAITING, Standing.RUNNING)

    @property
    def is_bad(self) -> bool:
        """It did not come to a good end."""
        return self.standing in BAD

    @property
    def has_ended(self) -> bool:
        """It has an attempt that came to an end, or to where a person is needed."""
        return self.is_over and self.standing is not Standing.NOT_BEGUN

    @property
    def base(self) -> str:
        """What the work starts from, as it was named."""
        return "" if self.order is None else self.order.source.base

    @property
    def url(self) -> str:
        """Where the repository is."""
        return self.name if self.order is None else self.order.source.url

    def refuse(self, fault: FencepostError, *, by_a_rule: bool) -> None:
        """It could not be begun."""
        self.standing, self.code, self.detail = Standing.NOT_BEGUN, fault.code, fault.message
        self.hint, self.is_refused = fault.advice, by_a_rule

    def hold(self, fault: FencepostError) -> None:
        """It could not be begun yet, and is asked for again by itself."""
        self.standing, self.code, self.detail = Standing.HELD, fault.code, fault.message
        self.hint = fault.advice

    def leave_out(self) -> None:
        """It is not begun in this run; what held it back until now is kept as the reason."""
        if self.standing is not Standing.HELD:
            self.code, self.detail = "interrupted", "this run ended before it could begin"
            self.hint = "the same command again begins it"
        self.standing = Standing.NOT_BEGUN

    def remember(self, known: Begun) -> None:
        """An earlier run, or another one that runs now, has begun it."""
        self.task, self.is_first = known.task, known.is_first
        self.attempt, self.outcome = known.attempt, known.outcome
        if known.attempt is None and known.is_first:
            return  # broken off before its dispatch: it goes on from there
        self.joined = known.attempt is not None and known.outcome is None
        self.before = not self.joined
        if self.joined:
            self.standing = Standing.QUEUED
        elif known.outcome is not None:
            self.standing = Standing(known.outcome)
        else:
            self.standing = Standing.CANCELED
            self.detail = f"its canonical child {known.task} was not dispatched"

    def see(self, stand: Stand) -> None:
        """How its attempt stands now."""
        self.step, self.worker, self.waits = stand.step, stand.worker, stand.waits
        self.ended_at, self.outcome, self.seen_at = stand.ended_at, stand.outcome, stand.now
        self.elapsed = (stand.ended_at or stand.now) - stand.created_at
        if stand.unknown is not None:
            self.standing, self.failed_step = Standing.UNKNOWN, stand.step
            self.code, self.detail = stand.unknown, stand.unknown_detail or ""
        elif stand.is_settled:
            self.standing = Standing(str(stand.outcome))
        elif stand.worker is not None or stand.ended_at is not None:
            self.standing = Standing.RUNNING
        else:
            self.standing = Standing.WAITING if stand.waits else Standing.QUEUED

    def read(self, came: Came) -> None:
        """What its attempt, which is over, has come to."""
        self.is_read, self.request = True, came.request
        if self.standing is not Standing.UNKNOWN and came.code is not None:
            self.failed_step, self.code, self.detail = came.step, came.code, came.detail
            self.cause = came.line
