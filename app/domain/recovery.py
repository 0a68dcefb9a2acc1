"""What a claim may do next: the table of PROTOCOL §4, first match wins.

Every claim asks, the first too. `bound` and process evidence never give permission; a result beats
every decision. Each write names the tip that was just read; when it is refused, read and ask again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.domain.digest import Digest, digest
from app.domain.identity import Fence
from app.domain.operation import Absent, Foreign, Mark, RemoteOperation, Tip, Unreadable

#: After so many claims that could not read the remote, a person is asked.
MOST_UNREADABLE = 5


class Stop(StrEnum):
    """What was asked of an activity; after it nothing starts any more."""

    CANCEL = "cancel"
    ABANDON = "abandon"
    CLOSE_ONLY = "close_only"


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything the decision may look at."""

    fence: Fence
    token_hash: str
    operation: RemoteOperation
    recorded: Digest | None = None  #: of the result in the database
    earlier_start: bool = False  #: a start row of any fence below mine
    attested: bool = False  #: a person vouches that those starts, without a ref, left nothing
    clash_abandoned: bool = False  #: a person gave the work up over the branch in its way
    own_start: str | None = None  #: the sha that my start row names
    stop: Stop | None = None
    branch_present: bool = False  #: the candidate's branch, or one that shadows it
    in_hand: str | None = None  #: the tip over which my finished result may be pushed
    write_refused: bool = False  #: the database said ZF001 or ZF002
    lease_live: bool = True
    unreadable_before: int = 0  #: claims in a row that could not read the remote
    tree_alive: bool = False  #: processes of an earlier claim live on this host
    tree_immortal: bool = False  #: they were killed and still live
    may_bind: bool = True


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """A result is recorded; end the claim."""


@dataclass(frozen=True, slots=True)
class Leave:
    """STOP: the claim lost its authority, or leaves the decision to the next; touch nothing."""

    why: str


@dataclass(frozen=True, slots=True)
class Release:
    """Hand the activity back, to be claimed again later."""

    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing proves what happened: hold the work for a person."""

    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Record:
    """The remote holds the result: record exactly these bytes; no agent, no validator."""

    observation: bytes
    candidate: str | None


@dataclass(frozen=True, slots=True)
class End:
    """The operation is closed, as was decided: record the ending."""


@dataclass(frozen=True, slots=True)
class Close:
    """Push `closed` over this tip (None: expecting absence), then END."""

    expected: str | None


@dataclass(frozen=True, slots=True)
class Execute:
    """Push the mark over this tip, commit the start row, and only then start the program."""

    mark: Mark
    expected: str | None


@dataclass(frozen=True, slots=True)
class ConfirmStart:
    """My mark is at the remote and the reply was lost: commit the start row, then start."""

    sha: str


@dataclass(frozen=True, slots=True)
class KillFirst:
    """An earlier tree lives on this host: kill it, prove it gone, and ask again."""


@dataclass(frozen=True, slots=True)
class PublishAgain:
    """My result is in hand and its reply was lost: push the same commit again."""


@dataclass(frozen=True, slots=True)
class FailClosed:
    """No stable identity at the provider can be bound: the provider is not called (M05)."""


Permission = (
    NothingToDo | Leave | Release | Unknown | Record | End | Close | Execute | ConfirmStart
    | KillFirst | PublishAgain | FailClosed
)  # fmt: skip


def decide(now: Situation) -> Permission:
    """The first row of PROTOCOL §4 that matches."""
    if now.recorded is not None:  # 1
        return _after_the_result(now, now.recorded)
    if now.write_refused:  # 2
        return Leave("a write under this fence was refused")
    match now.operation:
        case Unreadable(reason):  # 3
            if now.unreadable_before >= MOST_UNREADABLE - 1:
                return Unknown("remote_unreadable", reason)
            return Release("remote_unreadable", reason)
        case Foreign(_, reason):  # 4
            return Unknown("foreign_operation_ref", reason)
        case Absent():
            return _nothing_there(now)
        case Tip() as tip:
            return _over(tip, now)


def _after_the_result(now: Situation, recorded: Digest) -> Permission:
    match now.operation:
        case Tip(mark=Mark.RESULT, observation=bytes() as seen) if digest(seen) != recorded:
            return Unknown("digest_conflict", "the remote holds another result than the database")
        case _:
            return NothingToDo()


def _nothing_there(now: Situation) -> Permission:
    if now.own_start is not None or (now.earlier_start and not now.attested):  # 9
        return Unknown("operation_ref_missing", "work was started, and its operation ref is gone")
    if now.branch_present and not (now.clash_abandoned and now.stop is not None):  # 10
        return Unknown("branch_clash", "the branch exists, and no operation of ours made it")
    if now.stop is not None:  # 11
        return Close(expected=None)
    if not now.may_bind:  # 13
        return FailClosed()
    if now.earlier_start:  # 9, decided: whatever an earlier start still pushes fails at the guard
        return Execute(Mark.GUARDED, expected=None)
    return Execute(Mark.STARTED, expected=None)  # 13


def _over(tip: Tip, now: Situation) -> Permission:
    if tip.mark is Mark.RESULT:  # 5
        assert tip.observation is not None
        return Record(tip.observation, tip.candidate)
    if tip.mark is Mark.CLOSED:
        if now.stop is not None:  # 6
            return End()
        return Unknown(
            "closed_without_decision", "the operation is closed; nobody decided that"
        )  # 7
    own = tip.fence == now.fence and tip.token_hash == now.token_hash
    if tip.fence >= now.fence and not own:  # 8
        if now.lease_live:
            return Unknown("database_behind_remote", f"the remote knows fence {tip.fence}")
        return Leave("a higher fence, or another claim of this fence, is at the remote")
    if own:
        return _over_mine(tip, now)
    if now.stop is not None:  # 12
        return Close(expected=tip.sha)
    if now.tree_alive:  # 14
        return _rid_of_the_tree(now)
    if not now.may_bind:
        return FailClosed()
    return Execute(Mark.GUARDED, expected=tip.sha)  # 15


def _rid_of_the_tree(now: Situation) -> Permission:
    if now.tree_immortal:
        return Release("process_immortal", "an earlier process will not die")
    return KillFirst()


def _over_mine(tip: Tip, now: Situation) -> Permission:
    if now.in_hand is not None and now.in_hand == tip.sha == now.own_start:  # 17
        return PublishAgain()
    if now.stop is not None:  # 12, own with nothing in hand
        return Close(expected=tip.sha)
    if now.own_start is None:  # 16
        return ConfirmStart(tip.sha)
    return Leave("a start of this claim is on record and nothing is in hand")  # 18
