"""One run under one seed: from the dispatch until nothing is left to do, all of it for real.

Transitions, Postgres, git and the code of the worker are the product's own. Claims are carried by
threads, so that one can be frozen in the middle of a call while another takes over.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from doubles.github.schedule import Patience, schedule
from fixtures.deciding import held_fence
from fixtures.world import Attempt, catch_up, newest_delivery
from schedules.plan import Back, Fate, Interruption, plan
from schedules.site import Site

from app.domain.board import Column
from app.domain.decision import Decision, allowed
from app.domain.errors import WrongState
from app.domain.identity import ActivityKey
from app.domain.work_order import MOST_PARALLEL, MergeStrategy, Specification
from app.events import Event, Moment
from app.kinds import pull_request
from app.store import activities, attempts, batches, claims, deliveries, results, unknowns
from app.store.deliveries import Cause
from app.transitions.add_repository import add_repository
from app.transitions.approve import approve
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
from app.transitions.deliver import deliver
from app.transitions.dispatch import Base, dispatch
from app.transitions.draft import draft
from app.transitions.expire import expire
from app.transitions.move import move
from app.transitions.open_world import open_world
from app.transitions.resolve import Word, proof_of, resolve
from app.transitions.stage import stage
from app.transitions.submit import submit
from app.transitions.tick import tick
from workers import runner
from workers.worker import Message

PATIENCE = Patience(hang=0.3, late=0.3, limit=1.0)
COMMAND = ("sh", "-c", "echo 'y = 2' >> a.py")
_MOST_TURNS = 120  #: claims and decisions of one run
_LONGEST = 60.0  #: seconds that one claim may take
_CAUSES = {"expired": Cause.LOST_WORKER, "released": Cause.RELEASED}


class Stuck(AssertionError):
    """Work is left, and nobody does it."""


class Killed(BaseException):
    """A worker that does nothing any more; no code of ours can answer it."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision of the operator's."""

    key: ActivityKey
    code: str
    decision: Decision
    number: int | None


class Carrier(threading.Thread):
    """One claim, carried by the real runner; it may be frozen, and it may be killed."""

    def __init__(self, run: Run, message: Message) -> None:
        super().__init__(name=f"seed {run.seed}", daemon=True)
        self._run, self._message = run, message
        self.stands = threading.Event()  #: it ended, or it is frozen
        self.go = threading.Event()
        self.back: Back | None = None  #: it is frozen until then
        self.fault: BaseException | None = None

    def run(self) -> None:
        """Carry the claim as far as it goes."""
        try:
            runner.run(self._run.site.new_worker(), self._message)
        except Killed:
            pass
        except BaseException as fault:  # noqa: BLE001  it is told where the run is judged
            self.fault = fault
        finally:
            self.stands.set()

    def freeze(self, back: Back) -> None:
        """Stand still, in this thread, until somebody lets it go on."""
        self.go.clear()
        self.back = back
        self.stands.set()
        assert self.go.wait(4 * _LONGEST), "nobody let a frozen worker go on"

    def thaw(self) -> None:
        """Let it go on."""
        self.stands.clear()
        self.back = None
        self.go.set()


class Run:
    """One attempt at one repository, under the faults of one seed."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site, self.seed = site, seed
        self.name = f"acme/r{seed}"
        self.operator = plan(seed).operator
        self.decided: list[Decided] = []
        self.is_canceled = False
        self.told: list[str] = []  #: what happened, for people who look at a failure
        self._waiting: list[Interruption] = list(plan(seed).interruptions)
        self._counts: Counter[Moment] = Counter()
        self._carriers: list[Carrier] = []
        self._lock = threading.Lock()
        self.attempt = self._dispatched()
        site.hearers[self.attempt.world] = self
        for step in schedule(seed, self.name, PATIENCE):
            getattr(site.door, step.door)(**step.arguments)

    def carry(self) -> None:
        """Claim, and decide what is held, until nothing is left to do."""
        for _ in range(_MOST_TURNS):
            if not self._turn():
                self._all_stand()
                if not self._turn():
                    return
        raise Stuck(f"seed {self.seed}: still not over after {_MOST_TURNS} turns")

    @property
    def ending(self) -> str:
        """How the attempt ended, or why it is held."""
        with self.site.store.begin() as tx:
            outcome = attempts.get(tx, self.attempt.world, self.attempt.id).outcome
        held = [code for key in self.keys if (code := self.held(key))]
        return str(outcome) if outcome is not None else f"held: {', '.join(held)}"

    @property
    def faults(self) -> list[BaseException]:
        """What no claim may end with: faults of our own."""
        return [one.fault for one in self._carriers if one.fault is not None]

    def hear(self, event: Event) -> None:
        """A moment of this run, in the thread that came to it."""
        self.told.append(f"{event.moment} {event.facts}")
        carrier = threading.current_thread()
        if event.facts.get("kind") != pull_request.NAME or not isinstance(carrier, Carrier):
            return
        if event.moment is Moment.DECIDED:
            self._thaw(Back.RACING)
        with self._lock:
            self._counts[event.moment] += 1
            now = (event.moment, self._counts[event.moment])
            met = [one for one in self._waiting if (one.moment, one.nth) == now]
            self._waiting = [one for one in self._waiting if one not in met]
        for one in met:
            self._strike(carrier, one)

    @property
    def keys(self) -> list[ActivityKey]:
        """Every activity that was admitted so far."""
        with self.site.store.begin() as tx:
            return activities.of_attempt(tx, self.attempt.world, self.attempt.id)

    def held(self, key: ActivityKey) -> str | None:
        """For which reason it is held for a person."""
        with self.site.store.begin() as tx:
            found = unknowns.find_open(tx, key)
        return found[0] if found else None

    def has_result(self, key: ActivityKey) -> bool:
        with self.site.store.begin() as tx:
            return results.find(tx, key) is not None

    def _turn(self) -> bool:
        """Do the next thing; False: nothing is left."""
        self._observe()
        open_ones = [key for key in self.keys if not self.has_result(key)]
        held = {key: code for key in open_ones if (code := self.held(key))}
        for key in open_ones:
            if key not in held and not self._is_over():
                self._claim(key)
                return True
        if held and self._thaw(Back.HELD, Back.RACING):
            return self._all_stand()
        for key, code in held.items():
            if self._decide(key, code):
                self._thaw(Back.DECIDED)
                return True
        return self._thaw(*Back) and self._all_stand()

    def _all_stand(self) -> bool:
        """Wait for every claim that goes on by itself."""
        for one in self._carriers:
            self._see_it_stand(one)
        return True

    def _observe(self) -> None:
        """What the dispatcher does with receipts and results, for this world alone."""
        store, world = self.site.store, self.attempt.world
        catch_up(store, world)
        with store.begin() as tx:
            recorded = [one for one in batches.unstaged(tx) if one.key.world == world]
        if recorded:
            stage(store, recorded)
            tick(store, world)
            catch_up(store, world)

    def _claim(self, key: ActivityKey) -> None:
        """One claim, until it ends or stands still; then its lease is over, if it has one left."""
        site, world = self.site, self.attempt.world
        with site.store.begin() as tx:
            waiting = [one for one in deliveries.undelivered(tx) if one[0].world == world]
        for one, ended, delay in waiting:
            deliver(site.store, one, _CAUSES.get(ended or "", Cause.DECIDED), delay)
        site.hasten(world)
        if self.held(key):
            return  # no further delivery: a person is asked
        carrier = Carrier(self, Message(key, newest_delivery(site.store, key)))
        self._carriers.append(carrier)
        carrier.start()
        self._see_it_stand(carrier)
        site.lapse(world)
        with site.store.begin() as tx:
            lost = [one for one in claims.expired(tx) if one.key.world == world]
        for claim in lost:
            expire(site.store, claim)

    def _decide(self, key: ActivityKey, code: str) -> bool:
        pulls = self.site.door.pulls(full_name=self.name)
        found = self.operator.decide(
            allowed(proof_of(key.kind), code), [pull["number"] for pull in pulls]
        )
        if found is None:
            return False
        decision, number = found
        fence = held_fence(self.site.store, key)
        resolve(self.site.store, LOCAL, key, fence, Word(decision, "by the seed", number))
        self.decided.append(Decided(key, code, decision, number))
        return True

    def _strike(self, carrier: Carrier, one: Interruption) -> None:
        self.told.append(f"-- {one.fate} {one.back}")
        match one.fate:
            case Fate.KILLED:
                raise Killed
            case Fate.FROZEN:
                carrier.freeze(one.back)
            case Fate.CANCELED:
                self._cancel()

    def _cancel(self) -> None:
        try:
            cancel(self.site.store, self.attempt.world, LOCAL, self.attempt.id, "in mid-call")
            self.is_canceled = True
        except WrongState:
            pass  # it has ended

    def _thaw(self, *which: Back) -> bool:
        """Let those that are frozen until now go on; whether there were any."""
        with self._lock:
            those = [one for one in self._carriers if one.back in which]
            for one in those:
                one.thaw()
        return bool(those)

    def _see_it_stand(self, carrier: Carrier) -> None:
        if not carrier.stands.wait(_LONGEST):
            raise Stuck(f"seed {self.seed}: a claim does not end")

    def _is_over(self) -> bool:
        with self.site.store.begin() as tx:
            return attempts.get(tx, self.attempt.world, self.attempt.id).ended_at is not None

    def _dispatched(self) -> Attempt:
        store, door, limit = self.site.store, self.site.door, timedelta(minutes=2)
        made = door.add_repository(full_name=self.name, files={"a.py": "x = 1\n"})
        world = open_world(store, f"seed-{self.seed}")
        known = add_repository(store, world, LOCAL, f"r{self.seed}", made["url"], "github")
        work = Specification(
            "Change it", "main", (), COMMAND, (), limit, limit,
            merge=MergeStrategy.PARALLEL, merge_bound=MOST_PARALLEL,
        )  # fmt: skip
        new = draft(store, world, LOCAL, known.id, work)
        submit(store, world, LOCAL, new.work_order)
        approve(store, world, LOCAL, new.work_order)
        move(store, world, LOCAL, new.task, Column.READY, "it is approved")
        base = Base("main", made["sha"])
        return Attempt(world, new.task, dispatch(store, world, LOCAL, new.task, base))
