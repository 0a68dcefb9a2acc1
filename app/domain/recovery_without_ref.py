"""What a claim may do where the remote takes no mark: PROTOCOL §7, first match wins.

Nothing at the remote shuts an earlier claim out: there is one push per claim, with the branch
expected absent, and the payload is in the database before it. So a branch of ours proves its run,
and no branch proves nothing once there was a start. A result beats every decision.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.decision import CLASH, LOST_PAYLOAD, UNPUBLISHED
from app.domain.digest import Digest, digest
from app.domain.operation import Unreadable
from app.domain.recovery import (
    MOST_UNREADABLE,
    End,
    FailClosed,
    KillFirst,
    Leave,
    NothingToDo,
    Record,
    Release,
    Stop,
    Unknown,
)


@dataclass(frozen=True, slots=True)
class NoBranch:
    """The remote has no branch of the candidate's name, nor one that leaves no room for it."""


@dataclass(frozen=True, slots=True)
class Published:
    """The branch holds a commit of ours, and the payload that was kept before its push is here."""

    observation: bytes  #: canonical
    candidate: str  #: head commit


@dataclass(frozen=True, slots=True)
class Stray:
    """The branch holds nothing that a payload of this activity names."""

    sha: str
    is_ours: bool  #: its trailer names this operation: the payload was lost


@dataclass(frozen=True, slots=True)
class Marked:
    """The operation has a mark at the remote after all, so that another claim went by it."""

    ref: str


RemoteBranch = NoBranch | Published | Stray | Marked | Unreadable


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything the decision may look at."""

    branch: RemoteBranch
    recorded: Digest | None = None  #: of the result in the database
    marked_start: bool = False  #: a start row that stands on a mark at the remote
    earlier_start: bool = False  #: a start row of any fence below mine
    attested: bool = False  #: a person vouches that those starts published nothing, nor will
    own_start: bool = False  #: mine
    kept: bool = False  #: a payload that a branch may come to show; told to people, no more
    abandoned: bool = False  #: a person gave the work up over the branch in its way
    stop: Stop | None = None
    write_refused: bool = False  #: the database said ZF001 or ZF002
    lease_live: bool = True
    unreadable_before: int = 0  #: claims in a row that could not read the remote
    tree_alive: bool = False  #: processes of an earlier claim live on this host
    tree_immortal: bool = False  #: they were killed and still live
    may_bind: bool = True


@dataclass(frozen=True, slots=True)
class Begin:
    """Commit the start row, and only then start the program; there is no mark to push."""


Permission = (
    NothingToDo | Leave | Release | Unknown | Record | End | KillFirst | FailClosed | Begin
)  # fmt: skip


def decide(now: Situation) -> Permission:
    """The first row that matches."""
    if now.recorded is not None:  # 1
        return _after_the_result(now, now.recorded)
    if now.write_refused:  # 2
        return Leave("a write under this fence was refused")
    match now.branch:
        case Unreadable(reason):  # 3
            if now.unreadable_before >= MOST_UNREADABLE - 1:
                return Unknown("remote_unreadable", reason)
            return Release("remote_unreadable", reason)
        case Marked(ref):
            if not (now.own_start or now.earlier_start):  # 4
                return Leave("there is a mark after all: the next claim goes by it")
            return Unknown("modes_mixed", f"work went on without a mark, and {ref} is there")  # 5
        case Published(observation, candidate):  # 6
            return Record(observation, candidate)
        case Stray() as stray:
            return _in_the_way(stray, now)
        case NoBranch():
            return _nothing_there(now)


def _after_the_result(now: Situation, recorded: Digest) -> Permission:
    match now.branch:
        case Published(observation) if digest(observation) != recorded:
            return Unknown("digest_conflict", "the remote holds another result than the database")
        case _:
            return NothingToDo()


def _in_the_way(stray: Stray, now: Situation) -> Permission:
    if now.abandoned and now.stop is not None:  # 7
        return End()
    if stray.is_ours:  # 8
        return Unknown(LOST_PAYLOAD, f"the branch is ours at {stray.sha}; its payload is not here")
    return Unknown(CLASH, f"the branch is at {stray.sha}, and no run of this work made that")  # 9


def _nothing_there(now: Situation) -> Permission:
    if now.marked_start:  # 10
        why = "work was started by a mark at the remote, which takes none any more"
        return Unknown("modes_mixed", why)
    if now.own_start or (now.earlier_start and not now.attested):
        if not now.lease_live:  # 11
            return Leave("a start is on record, and this claim is over")
        return Unknown(UNPUBLISHED, _MAYBE if now.kept else _NOT_YET)  # 12, under a stop too
    if now.stop is not None:  # 13
        return End()
    if now.tree_alive:  # 14
        return _rid_of_the_tree(now)
    if not now.may_bind:  # 15
        return FailClosed()
    return Begin()  # 16


_MAYBE = (
    "work was started and kept what its branch is to hold; the branch is not there, and nothing "
    "tells whether it was pushed"
)
_NOT_YET = (
    "work was started, and its branch is not there; no claim has kept what one would hold, and "
    "without that none pushes"
)


def _rid_of_the_tree(now: Situation) -> Permission:
    if now.tree_immortal:
        return Release("process_immortal", "an earlier process will not die")
    return KillFirst()
