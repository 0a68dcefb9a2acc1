"""Which operation refs may be deleted, and which never (PROTOCOL §2, last point).

A ref is the remote's memory of an operation. It may go once the database remembers better: the
result is recorded and settled, for longer than a retention, and the chain ends as the rows say.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.domain.digest import Digest
from app.domain.errors import BadInput
from app.domain.identity import ActivityKey, OperationId
from app.domain.operation import BRANCH_PREFIX, REF_PREFIX, Mark
from app.domain.operation_document import Document
from app.domain.result import Outcome

RETENTION = timedelta(days=30)
#: Whoever reads rows first and refs afterwards (verify, a slow page) is done by then.
SHORTEST = timedelta(hours=1)
LONGEST = timedelta(days=3650)

_OPERATION = re.compile(r"[0-9a-f]{64}")
_CLOSED = (Outcome.CANCELED, Outcome.ABANDONED, Outcome.DEAD)


class Standing(StrEnum):
    """What is to be done about a ref, or was done."""

    UNKNOWN = "unknown"  #: no operation of this database: another installation's, or a stranger
    OPEN = "open"  #: no end yet
    HELD = "held"  #: for a person
    UNSETTLED = "unsettled"  #: ended, and its world has not settled it yet
    YOUNG = "young"  #: settled within the retention
    DUE = "due"
    DELETED = "deleted"
    GONE = "gone"  #: somebody else deleted it meanwhile
    MOVED = "moved"  #: somebody pushed meanwhile
    REFUSED = "refused"  #: the remote will not delete it
    NOT_FINAL = "not_final"  #: work that ended, and a chain that goes on
    CONFLICT = "conflict"  #: the chain ended otherwise than the rows say
    FOREIGN = "foreign"  #: our operation's name on something that we did not write
    TWICE = "twice"  #: the ref and the branch that stands in for it, both


#: What is for a person to look at; such a ref is never deleted.
ALARMING = frozenset({Standing.NOT_FINAL, Standing.CONFLICT, Standing.FOREIGN, Standing.TWICE})


@dataclass(frozen=True, slots=True)
class Seen:
    """A ref as it was read at a remote."""

    ref: str
    sha: str

    @property
    def operation(self) -> OperationId | None:
        """The operation that it is of, by its name; None for what cannot be one."""
        for prefix in (REF_PREFIX, BRANCH_PREFIX):
            name = self.ref.removeprefix(prefix)
            if name != self.ref and _OPERATION.fullmatch(name):
                return OperationId(name)
        return None


@dataclass(frozen=True, slots=True)
class Known:
    """What the database knows of an operation."""

    key: ActivityKey
    attempt: str
    repository: str  #: id
    digest: Digest | None  #: of the recorded result
    outcome: Outcome | None
    ended_at: datetime | None
    settled_for: timedelta | None  #: by the database's clock
    is_held: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """A ref, what is known of it, and what follows."""

    seen: Seen
    known: Known | None
    standing: Standing
    why: str = ""


def retention_of(asked: timedelta) -> timedelta:
    """A retention that may be used; a shorter one than an hour is BadInput."""
    if not SHORTEST <= asked <= LONGEST:
        raise BadInput(
            "refs are kept for an hour at least after the end, and for ten years at most",
            hint="keep them for longer than your oldest backup of the database is old",
        )
    return asked


def judge(
    seen: Seen, known: Known | None, repositories: Collection[str], retention: timedelta,
    *, is_twice: bool = False,
) -> Judged:  # fmt: skip
    """What the rows say of a ref; DUE asks for a look at its tip."""
    standing, why = _by_rows(known, repositories, retention)
    if is_twice and standing is Standing.DUE:
        standing, why = Standing.TWICE, "a ref and a branch hold a chain of it each"
    return Judged(seen, known, standing, why)


def _by_rows(
    known: Known | None, repositories: Collection[str], retention: timedelta
) -> tuple[Standing, str]:
    if known is None:
        return Standing.UNKNOWN, "no operation of this database has that name"
    if known.repository not in repositories:
        return Standing.UNKNOWN, f"it is of another repository, {known.repository}"
    if known.is_held:
        return Standing.HELD, "the work is held for a person"
    if known.digest is None or known.ended_at is None:
        return Standing.OPEN, "the work has not ended"
    if known.settled_for is None:
        return Standing.UNSETTLED, "its end is not settled yet"
    if known.settled_for <= retention:
        return Standing.YOUNG, "it ended within the retention"
    return Standing.DUE, ""


def judge_tip(due: Judged, found: Document | str) -> Judged:
    """The same ref after a look at its tip: still DUE, or an alarm; `found` may say why it is none.

    Only a chain that ended as the rows say may go: a `result` of the recorded digest, or `closed`
    where the work was canceled, abandoned or dead.
    """
    standing, why = _by_tip(due, found)
    return Judged(due.seen, due.known, standing, why)


def _by_tip(due: Judged, found: Document | str) -> tuple[Standing, str]:
    known = due.known
    assert known is not None
    if isinstance(found, str):
        return Standing.FOREIGN, f"its tip is none of ours: {found}"
    if found.operation != due.seen.operation:
        return Standing.FOREIGN, "its tip is of another operation"
    if found.mark in (Mark.STARTED, Mark.GUARDED):
        why = f"the work ended as {known.outcome}, and it still says {found.mark}"
        return Standing.NOT_FINAL, why
    if found.mark is Mark.CLOSED and known.outcome not in _CLOSED:
        return Standing.CONFLICT, f"the work ended as {known.outcome}, and it was closed without it"
    if found.mark is Mark.RESULT and found.observation_digest != known.digest:
        return Standing.CONFLICT, "it holds another result than the one that is recorded"
    return Standing.DUE, ""
