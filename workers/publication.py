"""`forge.pull_request`: look, adopt or create once, record (PROTOCOL §6)."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from app import secrecy
from app.domain import head
from app.domain.decision import FOUND, Decision, was_abandoned
from app.domain.digest import Json, text
from app.domain.errors import ForgeRefused, PushLost
from app.domain.event import EventType
from app.domain.pull_request import (
    Adopt,
    AskPerson,
    Create,
    EndCanceled,
    ForgeLimited,
    ForgeNotReady,
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
from app.kinds.ending import ending, observation_of
from app.kinds.request import PullRequestRequest, pull_request_request
from app.store import activities, evidence, unknowns
from app.store.evidence import EffectCall
from app.transitions.bind import bind
from app.transitions.hold import hold
from app.transitions.record import record
from app.transitions.release import release
from workers import calling, quarantine
from workers.forges import FORGES
from workers.forges.base import Dress, Forge, RequestDraft
from workers.giving_back import give_back
from workers.keeper import boot_time
from workers.worker import Run

_LOOK_EVERY = timedelta(milliseconds=500)


def publish(run: Run) -> None:
    """Bind, look, and do what the table permits, until there is an ending."""
    request = pull_request_request(run.activity.request)
    bind(run.store, run.claim, request.operation)
    publication = Publication(run, request)
    try:
        while not publication.is_over:
            publication.step()
    except ForgeLimited as fault:
        give_back(run, fault)


class Publication:
    """One claim's way to the request, or to a person."""

    def __init__(self, run: Run, request: PullRequestRequest) -> None:
        self.run, self.request = run, request
        place = run.worker.place(request.repository, request.url)
        self.forge: Forge = FORGES[request.forge](place)
        with run.store.begin() as tx:
            self.decided = unknowns.decided(tx, run.claim.key)  # none is open while this lives
        self.heads = head.heads_of(request.head, self.decided)
        self.looked_since = boot_time()
        self.unanswered = False  #: a call of this claim has not shown its effect
        self.refused_since: float | None = None  #: for now, as the forge sees no branch yet
        self.made: ForgeRequest | None = None
        self.calls: list[EffectCall] = []
        self.is_over = False

    def step(self) -> None:
        """Look once, and do what is permitted."""
        window = self.forge.settle_window.total_seconds()
        window_passed = boot_time() - self.looked_since > window  # before this look began
        found = [self.made] if self.made else self._found()
        stop = self._read_rows()
        ruling = self._ruling(is_stopped=stop is not None)
        vouched = self.heads.answered_for
        unresolved = self.unanswered or any(
            one.outcome is None and one.fence > vouched for one in self.calls
        )
        permission = permit(
            found, Lineage(self.request.operation, self.request.head_sha, self.request.base),
            unresolved=unresolved, window_passed=window_passed,
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
                # the longer nothing shows, the rarer a look: each costs of a forge's limit
                waited = boot_time() - self.looked_since
                if run.held.leave.wait(max(_LOOK_EVERY.total_seconds(), waited / 4)):
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
        if why := quarantine.in_names(self.request):
            self._record(ending(Outcome.FAILED, quarantine.IN_NAME, why))
            return
        try:
            self.made = calling.send(self.run, self.forge, self._draft(self._head))
            self.unanswered = True
        except ForgeNotReady as fault:
            self._wait_for_the_head(fault)
        except ForgeRefused as fault:
            self._record(ending(Outcome.FAILED, fault.code, fault.message))
        self.looked_since = boot_time()

    def _wait_for_the_head(self, fault: ForgeNotReady) -> None:
        """A pushed branch is seen by all of a forge within its window, or there is another cause.

        Each pause is twice as long, for each try is a call.
        """
        now = boot_time()
        self.refused_since = now if self.refused_since is None else self.refused_since
        waited = now - self.refused_since
        if waited > self.forge.settle_window.total_seconds():
            self._record(ending(Outcome.FAILED, ForgeRefused.code, fault.message))
        elif self.run.held.leave.wait(max(_LOOK_EVERY.total_seconds(), waited)):
            self._leave()

    def _adopt(self, known: ForgeRequest, ruling: Ruling) -> None:
        if isinstance(ruling.guard, MoveHeads) and known.state is RequestState.OPEN:
            # a stale claim that is late with the same move fails at the name, and closes nothing
            taken = [one for one in ruling.guard.moves if one.new is not None]
            self.forge.move_heads(taken)
        calling.adopt(self.run, self.calls, self._draft(known.head), known)
        value: dict[str, Json] = {
            "v": 1, "outcome": Outcome.GREEN, "pull_request": calling.shown(known),
            "frictions": self._dressed(known),
        }  # fmt: skip
        self._record(observation_of(Outcome.GREEN, value))

    def _dressed(self, known: ForgeRequest) -> list[Json]:
        """Labels, reviewers, a status on what is open; what is refused fails nothing."""
        if known.state is not RequestState.OPEN:
            return []
        asked = self.request
        status = f"attempt {asked.attempt}: every check passed"
        dress = Dress(asked.labels, asked.reviewers, status, asked.supersedes)
        return [
            {"code": "not_dressed", "detail": text(one)[:2000]}
            for one in self.forge.dress(known, dress)
        ]

    @property
    def _head(self) -> str:
        return self.heads.current or self.request.head

    def _draft(self, branch: str) -> RequestDraft:
        asked = self.request
        title, body = secrecy.redacted(asked.title), secrecy.redacted(asked.body)
        return RequestDraft(title, body, branch, asked.base, asked.operation, asked.draft)

    def _record(self, observation: Observation) -> None:
        record(self.run.store, self.run.claim, observation)
        self.is_over = True

    def _leave(self) -> None:
        if not self.run.held.is_lost:
            release(self.run.store, self.run.claim, "left to the next claim", timedelta(0))
        self.is_over = True


def _ending(stop: str | None) -> Observation:
    if stop == "close_only":
        return ending(Outcome.DEAD, "poison", "no call is left, and there is no answer")
    outcome = Outcome.ABANDONED if stop == "abandon" else Outcome.CANCELED
    code = "abandoned" if stop == "abandon" else "canceled"
    return ending(outcome, code, "asked for, and nothing is at the forge")
