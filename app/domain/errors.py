"""Everything that can be refused or go wrong, as one tree.

    FencepostError
    ├── Refused          a rule said no; nothing changed
    ├── ProviderError    the outside world (git, a forge, a program) did not do its part
    ├── DeliveryError    a message that cannot be worked on
    ├── SetupError       what this process stands on is missing or unfit
    └── OurFault         a mistake in Fencepost itself

A class is named as the fact. `code` is stable and meant for programs; `hint` says what to do.
"""

from __future__ import annotations

from typing import ClassVar


class FencepostError(Exception):
    """A fact that stopped the work; it carries a stable code and the next useful step (L8)."""

    code: ClassVar[str] = "fencepost_error"
    hint: ClassVar[str] = ""
    is_retryable: ClassVar[bool] = False  #: the same request may be granted later, as it is

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = hint if hint is not None else self.hint


class Refused(FencepostError):
    """A rule said no; nothing changed."""

    code = "refused"


class ProviderError(FencepostError):
    """The outside world did not do its part."""

    code = "provider_error"


class DeliveryError(FencepostError):
    """A message that cannot be worked on."""

    code = "delivery_error"


class SetupError(FencepostError):
    """Something this process stands on is missing or unfit."""

    code = "setup_error"


# -- refused: the fence -------------------------------------------------------------------------


class StaleFence(Refused):
    """A newer claim exists; stop, and discard the work (ZF001)."""

    code = "stale_fence"


class ClaimNotLive(Refused):
    """The claim ended, its lease ran out, or the token is not its own; stop (ZF002)."""

    code = "claim_not_live"


class Stopped(Refused):
    """A stop was asked for: nothing may start any more, only reconcile and close (ZF003)."""

    code = "stopped"


class WrongIsolation(Refused):
    """Fenced writes need READ COMMITTED (ZF004)."""

    code = "wrong_isolation"


class UnknownActivity(Refused):
    """No activity has this identity (ZF005)."""

    code = "unknown_activity"


class UnfitInput(Refused):
    """An argument is of the wrong form or too large (ZF006)."""

    code = "unfit_input"


class AppendOnly(Refused):
    """History is never rewritten (ZF007, L7)."""

    code = "append_only"


class DigestConflict(Refused):
    """Something else is already recorded under this identity; it is immutable (L5)."""

    code = "digest_conflict"


class ArtifactLimit(Refused):
    """An artifact has at most 4 MiB, all those of an attempt together 64 MiB (O04)."""

    code = "artifact_limit"
    hint = "keep less: the end of it, or a digest of it"


# -- refused: commands --------------------------------------------------------------------------


class NotFound(Refused):
    """Nothing has this id."""

    code = "not_found"
    hint = "list what there is: `fencepost status`"


class Ambiguous(Refused):
    """More than one thing begins with this prefix."""

    code = "ambiguous_id"
    hint = "give more characters of the id"


class WrongState(Refused):
    """The thing is not in a state in which this verb makes sense."""

    code = "wrong_state"


class NotApproved(Refused):
    """The work order is not approved; approve it first (T02)."""

    code = "not_approved"
    hint = "`fencepost work-orders show ID` says how far it is; then `work-orders approve ID`"


class ActiveAttempt(Refused):
    """The task already has an active attempt; wait for it or cancel it (T05)."""

    code = "active_attempt"


class TaskOfAnotherWorld(Refused):
    """The task belongs to another world; nothing crosses worlds (T02)."""

    code = "task_of_another_world"
    hint = "name a task of this world: `fencepost tasks list`"


class TaskOfAnotherWorkOrder(Refused):
    """The task belongs to another work order than the one that was named (T02)."""

    code = "task_of_another_work_order"
    hint = "`fencepost tasks show` says which work order a task belongs to"


class NotCanonicalChild(Refused):
    """The task has a child marked canonical for its work order; dispatch that one (T01)."""

    code = "not_canonical_child"


class CanonicalChildExists(Refused):
    """The task has its one canonical child already (T01)."""

    code = "canonical_child_exists"
    hint = "add this one without --canonical, or under the canonical child"


class TaskInInbox(WrongState):
    """The card hangs in Inbox: nobody has said yet that it may run (T02)."""

    code = "task_in_inbox"
    hint = "`fencepost tasks move ID ready`"


class TaskInReview(WrongState):
    """The card hangs in Review: people look at what was made of it (T02)."""

    code = "task_in_review"
    hint = "merge or close its request, or `fencepost tasks move ID in_progress`"


class TaskDone(WrongState):
    """The card hangs in Done; what else there is to do is another task (T02)."""

    code = "task_done"
    hint = "write another work order, or `fencepost tasks add-child ID`"


class TaskCanceled(WrongState):
    """The card hangs in Canceled (T02)."""

    code = "task_canceled"
    hint = "`fencepost tasks move ID inbox` takes it up again"


class IllegalMove(WrongState):
    """No card may be moved so by this hand; docs/states.md shows every legal move."""

    code = "illegal_move"


class PriorAttempt(WrongState):
    """The task was attempted before, and a first dispatch allows no prior attempt (T03)."""

    code = "prior_attempt"


class NothingToRetry(WrongState):
    """The task has no attempt yet, so there is nothing to recover from (T03)."""

    code = "nothing_to_retry"
    hint = "`fencepost tasks dispatch ID`"


class DidNotFail(WrongState):
    """The latest attempt did not fail, so there is nothing to recover from (T03)."""

    code = "did_not_fail"
    hint = "`fencepost tasks add-child ID --canonical` makes a task for what is left to do"


class NotLatestAttempt(WrongState):
    """The attempt is not the latest of its task; only that one can be retried (T03)."""

    code = "not_latest_attempt"
    hint = "`fencepost tasks show ID` lists a task's attempts"


class NoRecoveryReason(Refused):
    """A retry says in at least ten characters why it may succeed this time (T03)."""

    code = "no_recovery_reason"
    hint = "give --reason WHY, in ten characters or more"


class BudgetExhausted(Refused):
    """The work order's budget has nothing left for another attempt; a person decides (T11)."""

    code = "budget_exhausted"
    hint = "raise the budget with `fencepost work-orders revise`, and let that be approved"


class WorldFull(Refused):
    """As much work waits in this world as may; when some of it has begun there is room (Q02)."""

    code = "world_full"
    hint = "ask again later; `fencepost queues limit` shows and changes how much may wait"
    is_retryable = True


class SecondPersonNeeded(Refused):
    """The work order asks for another person's approval than its author's (S05)."""

    code = "second_person_needed"
    hint = "let somebody else approve it, with a token of their own"


class ScopeMissing(Refused):
    """Whoever asks lacks the scope that the verb needs (S01, S05)."""

    code = "scope_missing"
    hint = "ask an admin for a token with that scope: `fencepost tokens create`"


class WorldForbidden(Refused):
    """Whoever asks is bound to other worlds (S01)."""

    code = "world_forbidden"
    hint = "ask an admin for a token for that world: `fencepost tokens create`"


class TokenRefused(Refused):
    """No principal has this token, or it was revoked (S01)."""

    code = "token_refused"
    hint = "correct FENCEPOST_TOKEN, or unset it to act as the owner of FENCEPOST_HOME"


class NameTaken(Refused):
    """Another principal has this name; a name is never used again."""

    code = "name_taken"
    hint = "choose another name"


class IdempotencyConflict(Refused):
    """The idempotency key was used for another request; choose a new key (T06)."""

    code = "idempotency_conflict"
    hint = "ask again exactly as before, or give another --key"


class NoOpenGate(Refused):
    """No gate of this name waits for a decision; `fencepost gates list` shows those that do."""

    code = "no_open_gate"


class ReasonMissing(Refused):
    """This verb asks for a reason."""

    code = "reason_missing"


class UnsettledWork(Refused):
    """Work is still unsettled; let it end first (M16)."""

    code = "unsettled_work"


class BadInput(Refused):
    """What the user gave cannot be used as it is."""

    code = "bad_input"


class NotARepository(BadInput):
    """The path or URL is not a git repository."""

    code = "not_a_repository"
    hint = "stand in a git repository, or name one with --repo PATH-or-URL"


class EmptyRepository(BadInput):
    """The repository has no commit to start from."""

    code = "empty_repository"
    hint = "make a first commit"


class BaseMissing(BadInput):
    """The base is neither a branch nor a commit of the repository."""

    code = "base_missing"
    hint = "name an existing branch or commit with --base"


class BaseReserved(BadInput):
    """A branch called `fencepost` leaves no room for Fencepost's own branches."""

    code = "base_reserved"
    hint = "rename the branch, or start from another one with --base"


class BaseDiverged(BadInput):
    """The source and the forge each have commits on the base that the other lacks."""

    code = "base_diverged"
    hint = "merge the forge's base into the source first"


class UnsafePath(BadInput):
    """A path is absolute, leaves the repository, or is not a usable pattern (S03)."""

    code = "unsafe_path"
    hint = "give patterns relative to the repository, without `..`"


class UnfitWorkOrder(BadInput):
    """A work order file says something that cannot be meant; each fault has line and column."""

    code = "unfit_work_order"
    hint = "docs/work-orders.md says what may be written; `fencepost work-orders schema` too"


class UnsafeName(BadInput):
    """A name would be taken for an option, or carries credentials or another transport (S03)."""

    code = "unsafe_name"
    hint = "write a plain name, or an address of https, ssh, git or file without a credential"


class UnsupportedRepository(BadInput):
    """A repository of a form that cannot be used: SHA-256 objects, or a shallow history."""

    code = "unsupported_repository"


# -- providers ----------------------------------------------------------------------------------


class GitFailed(ProviderError):
    """A git command failed for a reason that proves nothing about the remote."""

    code = "git_failed"


class HostFailed(ProviderError):
    """This host could not do its part: a full disk, a missing right, no more processes."""

    code = "host_failed"
    hint = "look at the worker's log; `df` and `ulimit` say what is short"


class DiskFull(HostFailed):
    """This host has too little room to begin or to go on; the work waits until there is more."""

    code = "disk_full"
    hint = "make room, or set FENCEPOST_HOME to another disk; FENCEPOST_LEAST_DISK says how much"


class GitCannotWrite(HostFailed, GitFailed):
    """A git command found no room on this host, or no right to write; it proves nothing else."""


class OurFault(FencepostError):
    """A mistake in Fencepost itself; the worker's log has the whole of it."""

    code = "our_fault"
    hint = "report it, with the worker's log"


class RemoteUnreadable(ProviderError):
    """The remote could not be read; try again later."""

    code = "remote_unreadable"


class PushLost(ProviderError):
    """Somebody else moved a ref first; read again, then decide (PROTOCOL §2)."""

    code = "push_lost"


class PushRefused(ProviderError):
    """The remote refused the push by a rule of its own."""

    code = "push_refused"


class MarkRefused(PushRefused):
    """The remote takes a mark neither as a custom ref nor as a branch; nothing was begun."""


class MergeRefused(Refused):
    """The request cannot be merged as it stands: it is not open, or does not merge cleanly."""

    code = "merge_refused"


class RequestExists(ProviderError):
    """The forge refused a second open request for the same head and base (422)."""

    code = "request_exists"


class ForgeRefused(ProviderError):
    """The forge said no for good: it has done nothing, and the same call would be refused again."""

    code = "forge_refused"


class ForgeUncertain(ProviderError):
    """The forge may or may not have acted; look before anything else (PROTOCOL §6)."""

    code = "forge_uncertain"


# -- setup --------------------------------------------------------------------------------------


class DatabaseUnreachable(SetupError):
    """Postgres does not answer at the given URL."""

    code = "database_unreachable"


class DatabaseUnfit(SetupError):
    """Postgres answers, but its version, schema, login or settings cannot be used."""

    code = "database_unfit"


class RedisUnreachable(SetupError):
    """Redis does not answer at the given URL."""

    code = "redis_unreachable"


class RedisUnfit(SetupError):
    """Redis answers, but its version or settings cannot be used."""

    code = "redis_unfit"


class ServersUnavailable(SetupError):
    """The embedded servers cannot be started here."""

    code = "servers_unavailable"
