"""Looking before acting: what the remote and the rows show of an operation (PROTOCOL §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain import recovery_without_ref
from app.domain.decision import (
    CLASH,
    LOST_PAYLOAD,
    MISSING_REF,
    UNPUBLISHED,
    answered_for,
    was_abandoned,
)
from app.domain.errors import RemoteUnreadable
from app.domain.failure import FailureClass
from app.domain.identity import Fence
from app.domain.operation import Absent, Mode, RemoteOperation, Unreadable
from app.domain.recovery import MOST_UNREADABLE, Situation
from app.domain.result import observation_from
from app.kinds.request import WorkRequest
from app.repository.remote import Remote
from app.store import activities, claims, evidence, results, unknowns
from workers.worker import Run
from workers.workspace.candidate_branch import judge, look_at
from workers.workspace.checkout import Checkout
from workers.workspace.environment import OPERATION
from workers.workspace.operation_ref import branch_present, read
from workers.workspace.presence import alive

#: How a release says that the remote could not be read; counted over claims.
UNREADABLE = f"{FailureClass.TRANSIENT}: {RemoteUnreadable.code}"


@dataclass(slots=True)
class Hand:
    """What this claim has done so far that the next decision depends on."""

    in_hand: str | None = None  #: the tip over which a finished result may be pushed
    tree_immortal: bool = False


def look(
    run: Run, request: WorkRequest, checkout: Checkout, remote: Remote, hand: Hand
) -> Situation:
    """Read the operation ref first, then the rows: what is written down afterwards is newer."""
    seen, clash = _remote(checkout, remote, request)
    claim = run.claim
    with run.store.begin() as tx:
        activity = activities.get(tx, claim.key)
        starts = evidence.starts_of(tx, claim.key)
        recorded = results.find(tx, claim.key)
        before = claims.released_before(tx, claim, UNREADABLE)
        decided = unknowns.decided(tx, claim.key)
    earlier = [fence for fence in starts if fence < claim.fence]
    return Situation(
        fence=claim.fence,
        token_hash=claim.token_hash,
        operation=seen,
        recorded=recorded.digest if recorded else None,
        earlier_start=bool(earlier),
        attested=max(earlier, default=0) <= answered_for(decided, MISSING_REF),
        clash_abandoned=was_abandoned(decided, CLASH),
        own_start=starts[claim.fence].sha if claim.fence in starts else None,
        stop=activity.stop,
        branch_present=clash,
        in_hand=hand.in_hand,
        lease_live=not run.held.is_lost,
        unreadable_before=min(before, MOST_UNREADABLE),
        tree_alive=bool(alive(OPERATION, request.operation)),
        tree_immortal=hand.tree_immortal,
    )


def is_without_ref(run: Run) -> bool:
    """Whether the activity was begun without a mark at its remote, and so goes on (PROTOCOL §7)."""
    with run.store.ask() as tx:
        begun = evidence.starts_of(tx, run.claim.key)
    return any(one.mode is Mode.DATABASE for one in begun.values())


def look_without_ref(
    run: Run, request: WorkRequest, checkout: Checkout, remote: Remote, *, tree_immortal: bool
) -> recovery_without_ref.Situation:
    """The same where the remote takes no mark; the payloads tell whether a branch is ours."""
    checkout.put_back()
    refs = look_at(checkout.git_dir, remote, request.operation, request.branch)
    claim = run.claim
    with run.store.begin() as tx:
        activity = activities.get(tx, claim.key)
        starts = evidence.starts_of(tx, claim.key)
        recorded = results.find(tx, claim.key)
        before = claims.released_before(tx, claim, UNREADABLE)
        decided = unknowns.decided(tx, claim.key)
        kept = results.deposited(tx, claim.key)
    earlier = [fence for fence in starts if fence < claim.fence]
    return recovery_without_ref.Situation(
        branch=judge(
            checkout.git_dir, remote, request.operation, request.branch, refs, _by_head(kept)
        ),
        recorded=recorded.digest if recorded else None,
        marked_start=any(one.mode is not Mode.DATABASE for one in starts.values()),
        earlier_start=bool(earlier),
        attested=max(earlier, default=0) <= answered_for(decided, UNPUBLISHED),
        own_start=claim.fence in starts,
        kept=bool(kept),
        abandoned=was_abandoned(decided, CLASH, LOST_PAYLOAD),
        stop=activity.stop,
        lease_live=not run.held.is_lost,
        unreadable_before=min(before, MOST_UNREADABLE),
        tree_alive=bool(alive(OPERATION, request.operation)),
        tree_immortal=tree_immortal,
    )


def _by_head(kept: Sequence[tuple[Fence, bytes]]) -> dict[str, bytes]:
    """Payloads by the candidate that each names."""
    found: dict[str, bytes] = {}
    for _, payload in kept:
        candidate = observation_from(payload).value.get("candidate")
        if isinstance(candidate, Mapping):
            found[str(candidate.get("head"))] = payload
    return found


def _remote(
    checkout: Checkout, remote: Remote, request: WorkRequest
) -> tuple[RemoteOperation, bool]:
    """The operation, and where there is none, whether its branch is taken already (G01)."""
    checkout.put_back()  # a run may be over
    seen = read(checkout.git_dir, remote, request.operation)
    if not isinstance(seen, Absent) or request.branch is None:
        return seen, False
    try:
        return seen, branch_present(checkout.git_dir, remote, request.branch) is not None
    except RemoteUnreadable as fault:
        return Unreadable(fault.message), False
