"""The author's road where the remote takes no mark: one push a claim, and a person (PROTOCOL §7).

What a run found is in the database before its one push. A branch that is there then proves its run;
no branch after a start proves nothing, and the work is held.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from app.domain import recovery, recovery_without_ref
from app.domain.digest import text
from app.domain.errors import PushLost, PushRefused, RemoteUnreadable, Stopped
from app.domain.event import EventType
from app.domain.operation import Mode, Unreadable
from app.domain.recovery import Stop
from app.domain.recovery_without_ref import Begin, NoBranch
from app.domain.result import Observation, Outcome
from app.events import Moment, emit
from app.kinds.ending import ending
from app.kinds.request import WorkRequest
from app.repository.remote import Remote
from app.transitions.deposit import deposit
from app.transitions.hold import hold
from app.transitions.start import start
from workers.certified import certified
from workers.concluding import conclude, conclude_as_found, ended, leave
from workers.execution import execute
from workers.handing_back import hand_back
from workers.reconcile import look_without_ref
from workers.worker import Run
from workers.workspace.candidate_branch import push_candidate, trailers
from workers.workspace.checkout import Checkout
from workers.workspace.environment import OPERATION
from workers.workspace.presence import kill_all

#: Looks, a second apart, for the branch of a push whose answer was lost.
MOST_LOOKS = 20


class RoadWithoutRef:
    """Steps 6 to 10 of one claim; after its push it only looks."""

    def __init__(
        self, run: Run, request: WorkRequest, checkout: Checkout, remote: Remote,
        because: str | None = None,
    ) -> None:  # fmt: skip
        self.run, self.checkout, self.remote = run, checkout, remote
        message = request.message + trailers(request.operation, run.claim)
        self.request = replace(request, message=message)
        self.because = because  #: the remote's own words; None: an earlier claim heard them
        self.is_sent = False  #: the one push
        self.tree_immortal = False
        self.looks = 0
        self.is_over = False

    def step(self) -> None:
        """Ask once, and do what is permitted."""
        now = look_without_ref(
            self.run, self.request, self.checkout, self.remote, tree_immortal=self.tree_immortal
        )
        permission = recovery_without_ref.decide(now)
        emit(Moment.DECIDED, **self.run.claim.facts(), permission=type(permission).__name__)
        self.run.journal.tell(EventType.STEP, step="decide", permission=type(permission).__name__)
        if self._may_still_show(now):
            return
        try:
            self._act(permission, now)
        except PushLost:
            return  # the branch is there: look whose it is
        except RemoteUnreadable:
            if not self.is_sent:
                raise
        except Stopped:
            self.run.held.heed(Stop.CANCEL)  # nothing was begun; the next look ends it

    def _may_still_show(self, now: recovery_without_ref.Situation) -> bool:
        """The answer to the push was lost: it is worth waiting for the branch, for a while."""
        if not self.is_sent or not isinstance(now.branch, NoBranch | Unreadable):
            return False
        self.looks += 1
        return self.looks <= MOST_LOOKS and not self.run.held.leave.wait(1.0)

    def _act(
        self, permission: recovery_without_ref.Permission, now: recovery_without_ref.Situation
    ) -> None:
        run = self.run
        match permission:
            case Begin() if run.is_leaving:
                self._leave()  # a start here would only be cut short, and hold the work
            case Begin():
                run.worker.disk.check()
                self._begin()
            case recovery.Record(observation):
                conclude_as_found(run, observation)
                self.is_over = True
            case recovery.End():
                assert now.stop is not None
                self._record(ended(run, now.stop))
            case recovery.KillFirst():
                self.tree_immortal = not kill_all(OPERATION, self.request.operation)
            case recovery.Release(code, why):
                run.worker.disk.check(why)
                hand_back(run, code, why)
                self.is_over = True
            case recovery.Unknown(code, why):
                hold(run.store, run.claim, code, why)
                self.is_over = True
            case recovery.FailClosed():
                self._record(ending(Outcome.FAILED, "cannot_bind", "no stable identity to bind"))
            case recovery.Leave() | recovery.NothingToDo():
                self._leave()
            case _:
                assert_never(permission)

    def _begin(self) -> None:
        if self.because is not None:
            why = text(self.because)[:500]
            self.run.journal.tell(EventType.STEP, step="without_operation_ref", because=why)
        start(self.run.store, self.run.claim, None, Mode.DATABASE)  # 7
        finished = execute(self.run, self.request, self.checkout)  # 8
        if finished is None:
            return  # interrupted: the next look leaves it, or asks a person
        finished = certified(self.request, self.checkout, finished)
        branch, candidate = self.request.branch, finished.candidate
        if branch is None or candidate is None:
            self._record(finished.observation)  # nothing to push, and so nothing to prove
            return
        deposit(self.run.store, self.run.claim, finished.observation)
        if self.run.held.is_lost:
            return  # no ref would decide between this push and what a person has decided since
        try:
            self._push(branch, candidate, finished.observation)
        except PushRefused as fault:
            self._record(ending(Outcome.FAILED, "publication_refused", fault.message))

    def _push(self, branch: str, candidate: str, observation: Observation) -> None:  # 9
        self.is_sent = True
        push_candidate(self.checkout.git_dir, self.remote, branch, candidate)
        emit(Moment.PUSHED, **self.run.claim.facts(), outcome=observation.outcome)
        self._record(observation)

    def _record(self, observation: Observation) -> None:  # 10
        conclude(self.run, observation)
        self.is_over = True

    def _leave(self) -> None:
        leave(self.run)
        self.is_over = True
