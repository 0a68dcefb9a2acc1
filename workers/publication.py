"""`forge.pull_request`: look, adopt or create once, record (PROTOCOL §6)."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from app.domain import head
from app.domain.decision import FOUND, Decision, was_abandoned
from app.domain.digest import Json, canonical, digest, text
from app.domain.errors import ForgeRefused, ForgeUncertain, PushLost, RequestExists
from app.domain.event import EventType
from app.domain.pull_request import (
    Adopt,
    AskPerson,
    Create,
    EndCanceled,
    ForgeRequest,
    KeepLooking,
    Lineage,
    MoveHeads,
    RequestPermission,
    RequestState,
    Ruling,
    Trouble,
    permit,
)
from app.domain.result import Observation, Outcome
from app.events import Moment, emit
from app.kinds.ending import ending
from app.kinds.request import PullRequestRequest, pull_request_request
from app.store import activities, evidence, unknowns
from app.store.evidence import EffectCall
from app.transitions.answer import answer
from app.transitions.bind import bind
from app.transitions.call import call
from app.transitions.hold import hold
from app.transitions.record import record
from app.transitions.release import release
from workers.forges import FORGES
from workers.forges.base import Forge, Place, RequestDraft
from workers.keeper import boot_time
from workers.worker import Run

_LOOK_EVERY = timedelta(milliseconds=500)


def publish(run: Run) -> None:
    """Bind, look, and do what the table permits, until there is an ending."""
    request = pull_request_request(run.activity.request)
    bind(run.store, run.claim, request.operation)
    publication = Publication(run, request)
    while not publication.is_over:
        publication.step()


class Publication:
    """One claim's way to the request, or to a person."""

    def __init__(self, run: Run, request: PullRequestRequest) -> None:
        self.run, self.request = run, request
        self.forge: Forge = FORGES[request.forge](Place(run.worker.mirrors, request.repository))
        with run.store.begin() as tx:
            self.decided = unknowns.decided(tx, run.claim.key)  # none is open while this lives
        self.heads = head.heads_of(request.head, self.decided)
        self.looked_since = boot_time()
        self.unanswered = False  #: a call of this claim has not shown its effect
        self.made: ForgeRequest | None = None
        self.calls: list[EffectCall] = []
        self.is_over = False

    def step(self) -> None:
        """Look once, and do what is permitted."""
        found = [self.made] if self.made else self._found()
        stop = self._read_rows()
        ruling = self._ruling(is_stopped=stop is not None)
        vouched = self.heads.answered_for
        unresolved = self.unanswered or any(
            one.outcome is None and one.fence > vouched for one in self.calls
        )
        window = self.forge.settle_window.total_seconds()
        permission = permit(
            found, Lineage(self.request.operation, self.request.head_sha, self.request.base),
            unresolved=unresolved, window_passed=boot_time() - self.looked_since > window,
            stop=stop is not None, ruling=ruling,
        )  # fmt: skip
        name = type(permission).__name__
        emit(Moment.DECIDED, **self.run.claim.facts(), permission=name)
        try:
            self._act(permission, ruling, stop)
        except PushLost:
            return  # somebody was first: look again

    def _act(self, permission: RequestPermission, ruling: Ruling, stop: str | None) -> None:
        run = self.run
        match permission:
            case Adopt(request=known):
                self._adopt(known, ruling)
            case Create():
                self._create()
            case MoveHeads(moves):
                self._move(moves)
            case KeepLooking():
                if run.held.leave.wait(_LOOK_EVERY.total_seconds()):
                    self._leave()
            case AskPerson(trouble, reason):
                hold(run.store, run.claim, trouble, reason)
                self.is_over = True
            case EndCanceled():
                self._record(_ending(stop))
            case _:
                assert_never(permission)

    def _found(self) -> list[ForgeRequest]:
        return [one for name in self.heads.names for one in self.forge.find(name)]

    def _read_rows(self) -> str | None:
        with self.run.store.begin() as tx:
            self.calls = evidence.calls_of(tx, self.run.claim.key)
            return activities.get(tx, self.run.claim.key).stop

    def _ruling(self, *, is_stopped: bool) -> Ruling:
        newest = self.decided[-1] if self.decided else None
        adopts = newest.adopts if newest and newest.decision is Decision.ADOPT else None
        return Ruling(
            adopts, was_abandoned(self.decided, *FOUND), bool(self.heads.given_up),
            self._guard(is_stopped=is_stopped) if self.heads.given_up else None,
        )  # fmt: skip

    def _guard(self, *, is_stopped: bool) -> MoveHeads | AskPerson | None:
        """What must be done before anything is created: the heads that were given up are gone."""
        sha = self.request.head_sha
        tips = self.forge.tips(self.heads.names)
        if (branch := head.astray(self.heads, tips, sha)) is not None:
            why = f"{branch} is at {tips[branch]}, not as published"
            return AskPerson(Trouble.HEAD_MOVED, why)
        current = self.heads.current
        if current is not None and not is_stopped and tips.get(current, sha) != sha:
            return AskPerson(Trouble.CLASH, f"{current} was made by somebody else")
        moves = head.moves(self.heads, tips, sha, stop=is_stopped)
        return MoveHeads(tuple(moves)) if moves else None

    def _move(self, moves: tuple[head.HeadMove, ...]) -> None:
        self.forge.move_heads(moves)
        for one in moves:
            branch = text(one.branch)
            self.run.journal.tell(EventType.STEP, step="head", branch=branch, sha=one.new)
        emit(Moment.HEAD_MOVED, **self.run.claim.facts(), heads=len(moves))
        self.looked_since = boot_time()

    def _create(self) -> None:
        """One call under one row. What it made is judged like any other.

        Refused or uncertain: what is there must show itself; no second call follows either way.
        """
        run, sent = self.run, self._draft(self.heads.current or self.request.head)
        row = call(run.store, run.claim, "create_pull_request", _sent(sent))
        self.unanswered = True
        try:
            self.made = self.forge.create(sent)
        except RequestExists as fault:
            answer(run.store, run.claim, row, "refused", _evidence(fault.message))
        except ForgeRefused as fault:
            answer(run.store, run.claim, row, "failed", _evidence(fault.message))
            self._record(ending(Outcome.FAILED, fault.code, fault.message))
        except ForgeUncertain:
            pass  # the call stays unresolved: look, and never send another
        else:
            emit(Moment.OPENED, **run.claim.facts(), number=self.made.number)
            answer(run.store, run.claim, row, "created", canonical(_shown(self.made)))
        self.looked_since = boot_time()

    def _adopt(self, known: ForgeRequest, ruling: Ruling) -> None:
        if isinstance(ruling.guard, MoveHeads) and known.state is RequestState.OPEN:
            # a stale claim that is late with the same move fails at the name, and closes nothing
            taken = [one for one in ruling.guard.moves if one.new is not None]
            self.forge.move_heads(taken)
        of_it = digest(_sent(self._draft(known.head)))
        for one in self.calls:
            if one.outcome is None and one.digest == of_it:
                shown = canonical(_shown(known))
                answer(self.run.store, self.run.claim, one, "adopted", shown)
        value: dict[str, Json] = {
            "v": 1, "outcome": Outcome.GREEN, "pull_request": _shown(known), "frictions": [],
        }  # fmt: skip
        self._record(Observation(Outcome.GREEN, canonical(value)))

    def _draft(self, branch: str) -> RequestDraft:
        asked = self.request
        return RequestDraft(asked.title, asked.body, branch, asked.base, asked.operation)

    def _record(self, observation: Observation) -> None:
        record(self.run.store, self.run.claim, observation)
        self.is_over = True

    def _leave(self) -> None:
        if not self.run.held.is_lost:
            release(self.run.store, self.run.claim, "left to the next claim", timedelta(0))
        self.is_over = True


def _sent(draft: RequestDraft) -> bytes:
    """What the row of a call says of it; the same for the same head, whoever calls."""
    return canonical(
        {
            "title": draft.title, "head": draft.head, "base": draft.base,
            "body_digest": digest(draft.marked_body.encode()),
        }
    )  # fmt: skip


def _shown(request: ForgeRequest) -> dict[str, Json]:
    """What identifies the request; its state changes later and is no part of it."""
    return {
        "number": request.number,
        "url": text(request.url),
        "head": text(request.head),
        "head_sha": request.head_sha,
        "base": text(request.base),
    }


def _evidence(message: str) -> bytes:
    return canonical({"message": text(message)[:4000]})


def _ending(stop: str | None) -> Observation:
    if stop == "close_only":
        return ending(Outcome.DEAD, "poison", "no call is left, and there is no answer")
    outcome = Outcome.ABANDONED if stop == "abandon" else Outcome.CANCELED
    code = "abandoned" if stop == "abandon" else "canceled"
    return ending(outcome, code, "asked for, and nothing is at the forge")
