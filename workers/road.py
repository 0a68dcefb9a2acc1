"""The author's road under one claim: read, decide, act, until there is an ending (PROTOCOL §4)."""

from __future__ import annotations

from typing import assert_never

from app import secrecy
from app.domain import recovery
from app.domain.digest import text
from app.domain.errors import MarkRefused, PushLost, PushRefused, RemoteUnreadable, Stopped
from app.domain.event import EventType
from app.domain.operation import Mark, Tip, Unreadable, branch_of, mode_of, ref_of
from app.domain.recovery import Stop
from app.domain.result import Observation, Outcome
from app.events import Moment, emit
from app.kinds.ending import ending
from app.kinds.request import WorkRequest
from app.repository.remote import Remote
from app.transitions.hold import hold
from app.transitions.start import start
from workers.certified import certified
from workers.concluding import conclude, conclude_as_found, ended, leave
from workers.execution import Finished, execute
from workers.handing_back import hand_back
from workers.reconcile import Hand, look
from workers.worker import Run
from workers.workspace.checkout import Author, Checkout
from workers.workspace.environment import OPERATION
from workers.workspace.operation_ref import (
    branch_present,
    push_mark,
    push_result,
    write_mark,
)
from workers.workspace.presence import kill_all

#: How often a finished result is kept a while longer, in seconds at most: twelve minutes in all.
MOST_RESTS, LONGEST_REST = 30, 30.0
NOT_PUBLISHED = "not_published"  #: a result was in hand for as long, and is gone with its claim


class Road:
    """Steps 6 to 10 of one claim; whatever is refused on the way means: read again."""

    def __init__(self, run: Run, request: WorkRequest, checkout: Checkout, remote: Remote) -> None:
        self.run, self.request, self.checkout, self.remote = run, request, checkout, remote
        self.hand = Hand()
        self.ref = ref_of(request.operation)  #: where the chain is, or begins
        self.finished: Finished | None = None
        self.rests = 0  #: with a finished result in hand
        self.is_over = False

    def step(self) -> None:
        """Ask once, and do what is permitted."""
        now = look(self.run, self.request, self.checkout, self.remote, self.hand)  # 6
        if isinstance(now.operation, Tip):
            self.ref = now.operation.ref
        permission = recovery.decide(now)
        emit(Moment.DECIDED, **self.run.claim.facts(), permission=type(permission).__name__)
        self.run.journal.tell(EventType.STEP, step="decide", permission=type(permission).__name__)
        if self.finished is not None and isinstance(now.operation, Unreadable):
            self._rest(now.operation.reason)
            return
        try:
            self._act(permission, now)
        except PushLost:
            return  # somebody was first: read again
        except RemoteUnreadable as fault:
            if self.finished is None:
                raise
            self._rest(fault.message)
        except Stopped:
            self.run.held.heed(Stop.CANCEL)  # the next look closes the chain

    def _rest(self, why: str) -> None:
        """Keep a finished result while the remote is away, or does not take it; said each time.

        Each pause is longer. When all are over a person is asked: another claim would run again.
        Whoever is interrupted hands back.
        """
        run, self.rests = self.run, self.rests + 1
        code = RemoteUnreadable.code
        emit(Moment.TROUBLE, **run.claim.facts(), code=code, what=f"not published yet: {why}")
        run.journal.tell(EventType.STEP, step="publish", why=text(why)[:2000])
        if run.held.interrupt.wait(min(2.0 ** (self.rests - 2), LONGEST_REST)):
            if not run.held.is_lost:
                hand_back(run, code, why)
        elif self.rests < MOST_RESTS:
            return
        else:
            hold(run.store, run.claim, NOT_PUBLISHED, why)
        self.is_over = True

    def _act(  # noqa: C901  # one arm a row of the table
        self, permission: recovery.Permission, now: recovery.Situation
    ) -> None:
        run = self.run
        match permission:
            case recovery.Execute() | recovery.ConfirmStart() if run.is_leaving:
                self._leave()  # a start here would only be cut short, and it would count
            case recovery.Execute(mark, expected):
                run.worker.disk.check()  # a start here would fail, and it would count
                sha = self._push_mark(mark, expected)  # 7
                self._start(sha)
            case recovery.ConfirmStart(sha):
                run.worker.disk.check()
                self._start(sha)
            case recovery.PublishAgain():
                self._publish_again()
            case recovery.Record(observation):
                conclude_as_found(run, observation)  # row 4 where none of ours wrote it
                self.is_over = True
            case recovery.Close(expected):
                self._end_earlier(now)
                self._push_mark(Mark.CLOSED, expected)
                emit(Moment.CLOSED, **run.claim.facts())
            case recovery.End():
                assert now.stop is not None
                self._end_earlier(now)
                self._record(ended(run, now.stop))
            case recovery.KillFirst():
                self.hand.tree_immortal = not kill_all(OPERATION, self.request.operation)
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

    def _end_earlier(self, now: recovery.Situation) -> None:
        """What is over has no process on this host (E06); tried once, for nothing rests on it."""
        if now.tree_alive:
            kill_all(OPERATION, self.request.operation)

    def _push_mark(self, mark: Mark, expected: str | None) -> str:
        sha = write_mark(
            self.checkout.git_dir, self.request.operation, self.run.claim, mark, expected,
            self._signature(),
        )  # fmt: skip
        try:
            push_mark(self.checkout.git_dir, self.remote, self.ref, sha, expected)
        except PushRefused as refused:
            if expected is not None or self.ref == branch_of(self.request.operation):
                raise
            self._begin_as_a_branch(sha, refused)
        emit(Moment.MARKED, **self.run.claim.facts(), mark=mark, sha=sha)
        return sha

    def _begin_as_a_branch(self, sha: str, refused: PushRefused) -> None:
        """Nothing is there, and custom refs are refused: the same chain begins as a branch."""
        self.ref = branch_of(self.request.operation)
        try:
            push_mark(self.checkout.git_dir, self.remote, self.ref, sha, None)
        except PushRefused as too:
            raise MarkRefused(f"{refused.message}; {too.message}") from too
        why = text(refused.message)[:500]
        self.run.journal.tell(EventType.STEP, step="operations_as_branches", because=why)

    def _start(self, sha: str) -> None:
        start(self.run.store, self.run.claim, sha, mode_of(self.ref))
        self.finished = execute(self.run, self.request, self.checkout)  # 8
        if self.finished is None:
            return  # interrupted: the next look leaves, or closes
        self.hand.in_hand = sha
        self._publish()

    def _publish_again(self) -> None:
        """The tip is still ours, so the push did not arrive, or the branch is somebody else's."""
        branch = self.request.branch
        if branch is None or branch_present(self.checkout.git_dir, self.remote, branch) is None:
            self._publish()
        else:
            self._publish_refusal("branch_clash", f"{branch} was made by somebody else meanwhile")

    def _publish(self) -> None:  # 9
        assert self.finished is not None
        self.finished = certified(self.request, self.checkout, self.finished)
        try:
            self._push_result()
        except PushRefused as fault:
            self._publish_refusal("publication_refused", fault.message)

    def _publish_refusal(self, code: str, why: str) -> None:
        """What the remote will not publish while the tip is ours: that is the observation."""
        self.finished = Finished(ending(Outcome.FAILED, code, why), None)
        self._push_result()

    def _push_result(self) -> None:
        assert self.finished is not None
        assert self.hand.in_hand is not None
        tip = self.hand.in_hand
        observation, candidate = self.finished.observation, self.finished.candidate
        sha = write_mark(
            self.checkout.git_dir, self.request.operation, self.run.claim, Mark.RESULT, tip,
            self._signature(), observation=observation.bytes, candidate=candidate,
        )  # fmt: skip
        branch = self.request.branch if candidate else None
        push_result(self.checkout.git_dir, self.remote, self.ref, sha, tip, branch, candidate)
        emit(Moment.PUSHED, **self.run.claim.facts(), outcome=observation.outcome)
        self._record(observation)

    def _record(self, observation: Observation) -> None:  # 10
        conclude(self.run, observation)
        self.is_over = True

    def _leave(self) -> None:
        leave(self.run)
        self.is_over = True

    def _signature(self) -> Author:
        signature = self.request.signature
        name, email = secrecy.redacted(signature.name), secrecy.redacted(signature.email)
        return Author(name, email, signature.when)
