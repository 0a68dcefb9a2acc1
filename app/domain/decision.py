"""What a person may decide of work that is held as unknown, and what follows (PROTOCOL §4 to §6).

A decision proves nothing by itself. It allows the next claim to guard, to close, or to look; that
claim reads everything anew, and a result that it finds wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from app.domain.errors import BadInput, Refused
from app.domain.identity import Fence


class Decision(StrEnum):
    """What a person says."""

    LOOK_AGAIN = "look_again"
    ADOPT = "adopt"
    ATTEST_ABSENCE = "attest_absence"
    ABANDON = "abandon"


class Proof(StrEnum):
    """How an activity's effect is proven: by its operation ref, or by calls and their answers."""

    REF = "operation ref"
    CALLS = "calls"


class NoOpenUnknown(Refused):
    """Nothing of this id is held for a person."""

    code = "no_open_unknown"
    hint = "`fencepost unknown list` shows what is"


class AlreadyDecided(Refused):
    """Somebody else was first; the work goes on as they said."""

    code = "already_decided"
    hint = "`fencepost unknown show ID` says what was decided, and what came of it"


class DecisionNotAllowed(Refused):
    """The protocol allows other decisions of work that is held for this reason."""

    code = "decision_not_allowed"
    hint = "`fencepost unknown show ID` lists those that are, each with what follows"


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision of an activity."""

    fence: Fence  #: of the claim that was held
    code: str
    decision: Decision
    adopts: int | None = None  #: the number of the request


MISSING_REF, UNRESOLVED, CLASH = "operation_ref_missing", "unresolved_call", "branch_clash"
#: Without an operation ref: a start, and no branch; or a branch of ours, and no payload.
UNPUBLISHED, LOST_PAYLOAD = "publication_uncertain", "payload_missing"
#: A request on the head that is not plainly ours.
FOUND = (
    "foreign_open", "foreign_closed", "foreign_merged", "head_moved", "base_changed", "several",
    "request_missing",
)  # fmt: skip

_LOOK = "another claim reads everything anew, and does what it then finds permitted"
_ABANDON = (
    "nothing starts any more; the next claim reconciles, closes, and ends the work as abandoned, "
    "unless it finds a result"
)
_ALWAYS = {Decision.LOOK_AGAIN: _LOOK, Decision.ABANDON: _ABANDON}
_ONLY_LOOK = {Decision.LOOK_AGAIN: f"{_LOOK}: mend what it names first"}
_ADOPTING = {
    Decision.LOOK_AGAIN: f"{_LOOK}: restore or remove what it names first",
    Decision.ADOPT: "the next claim records request --request N as it stands at the forge, and "
    "asks again where it is not on this work's branch",
    Decision.ABANDON: "nothing is created any more; the next claim ends the work as abandoned, "
    "unless a request of ours is still open or was merged",
}

#: How its effect is proven, and why it is held → what may be decided, and what follows.
ALLOWED: Mapping[tuple[Proof, str], Mapping[Decision, str]] = MappingProxyType(
    {
        (Proof.REF, MISSING_REF): {
            Decision.LOOK_AGAIN: f"{_LOOK}: restore the ref first, or it asks again",
            Decision.ATTEST_ABSENCE: "you vouch that no earlier start has published anything; the "
            "next claim pushes a guard where the ref was, which every earlier push fails at, and "
            "starts anew",
            Decision.ABANDON: "you vouch for the same; the next claim pushes `closed` where the "
            "ref was, and ends the work as abandoned",
        },
        (Proof.REF, UNPUBLISHED): {
            Decision.LOOK_AGAIN: f"{_LOOK}: a branch that has appeared, or that you restore as it "
            "was, is recorded with what its run found",
            Decision.ATTEST_ABSENCE: "you vouch that no process and no worker of an earlier start "
            "is left on any host, and that the forge's history never had the branch; the next "
            "claim looks, and starts anew",
            Decision.ABANDON: "you vouch for the same; the next claim looks, and ends the work as "
            "abandoned",
        },
        (Proof.REF, CLASH): {
            Decision.LOOK_AGAIN: f"{_LOOK}: remove or rename the branch first, or it asks again",
            Decision.ABANDON: "the next claim closes the operation and ends the work as abandoned; "
            "the branch stays as it is",
        },
        (Proof.REF, "closed_without_decision"): {
            Decision.ABANDON: "that was the decision: the next claim ends the work as abandoned",
        },
        (Proof.REF, "database_behind_remote"): {
            Decision.LOOK_AGAIN: "another claim takes the next fence; once that is above the "
            "remote's it guards and goes on, before that it asks again",
            Decision.ABANDON: f"{_ABANDON}; it asks again until its fence is above the remote's",
        },
        (Proof.CALLS, UNRESOLVED): {
            Decision.LOOK_AGAIN: "another claim looks for the window once more, adopts what has "
            "appeared, and else asks again",
            Decision.ATTEST_ABSENCE: "the next claim looks, moves the branch to a new name so that "
            "the old call can open nothing, waits for the window, looks again, and only then sends "
            "one new call; a request that it finds is adopted instead",
            Decision.ABANDON: "the next claim looks, removes the branch so that the old call can "
            "open nothing, waits for the window, looks again, and ends the work as abandoned; a "
            "request that it finds is adopted instead",
        },
    }
    | {(Proof.REF, code): _ONLY_LOOK
       for code in ("foreign_operation_ref", "malformed_result", "digest_conflict", "modes_mixed")}
    | {(Proof.CALLS, code): _ADOPTING for code in FOUND}
    | {(Proof.CALLS, "digest_conflict"): _ONLY_LOOK}
)  # fmt: skip


def allowed(proof: Proof, code: str) -> Mapping[Decision, str]:
    """What may be decided, and what follows; trouble that proves nothing may be tried or left."""
    return ALLOWED.get((proof, code), _ALWAYS)


def check(proof: Proof, code: str, decision: Decision, adopts: int | None) -> None:
    """Refuse what the protocol does not allow, and a request's number where none is asked for."""
    choices = allowed(proof, code)
    if decision not in choices:
        raise DecisionNotAllowed(
            f"{decision} is no decision of work that is held as {code}; allowed: "
            f"{', '.join(choices)}"
        )
    if (decision is Decision.ADOPT) != (adopts is not None):
        raise BadInput(
            "to adopt is to name a request", hint="give --request N with --decision adopt only"
        )


def answered_for(decided: Sequence[Decided], code: str) -> Fence:
    """The newest fence up to which persons vouch that nothing came of what was begun; 0: none."""
    vouching = (Decision.ATTEST_ABSENCE, Decision.ABANDON)
    return max(
        (one.fence for one in decided if one.code == code and one.decision in vouching),
        default=Fence(0),
    )


def was_abandoned(decided: Sequence[Decided], *codes: str) -> bool:
    """Whether a person gave the work up over one of these."""
    return any(one.code in codes and one.decision is Decision.ABANDON for one in decided)
