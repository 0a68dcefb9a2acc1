"""One delivery, from claim to record: the worker's whole road, read top to bottom."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.errors import (
    ClaimNotLive,
    FencepostError,
    HostFailed,
    OurFault,
    StaleFence,
)
from app.domain.identity import Kind
from app.events import Moment, emit
from app.kinds import author, command, pull_request
from app.kinds.request import work_request
from app.store import activities
from app.store.claims import Verdict
from app.transitions.bind import bind
from app.transitions.claim import claim
from workers import publication
from workers.handing_back import hand_back
from workers.journal import Journal
from workers.road import Road
from workers.worker import Message, Run, Worker
from workers.workspace.checkout import open_checkout
from workers.workspace.sweep import sweep


def run(worker: Worker, message: Message) -> None:
    """Claim, and carry the activity as far as it goes; refused claims are recorded and dropped."""
    if worker.keeper.is_leaving:
        return  # the message is replaced, and another worker takes it
    taken = claim(worker.store, message.key, message.delivery, worker.name)
    if isinstance(taken, Verdict):
        return
    with worker.store.begin() as tx:
        activity = activities.get(tx, taken.key)
    with worker.keeper.holding(taken, activity.lease) as held:
        this = Run(worker, held, activity, Journal(worker.store, taken))
        try:
            WORK[taken.key.kind](this)
        except (StaleFence, ClaimNotLive):
            held.lose()
            emit(Moment.LOST, **taken.facts())
        except FencepostError as fault:
            _hand_back(this, fault)
        except OSError as fault:
            _hand_back(this, HostFailed(f"{type(fault).__name__}: {fault}"))
        except Exception as fault:
            _hand_back(this, OurFault(f"{type(fault).__name__}: {fault}"))
            raise
        finally:
            this.journal.close()
    worker.waker.wake()


def work(this: Run) -> None:
    """A command on a checkout: bind, look, do what recovery permits, until there is an ending."""
    request = work_request(this.activity.request)
    mirror = this.worker.mirrors / f"{request.repository}.git"
    bind(this.store, this.claim, request.operation)  # 5
    name = f"{request.attempt}-{request.step}-{this.claim.fence}"
    with open_checkout(
        this.worker.checkouts, name, str(mirror), request.base, mirror / "objects"
    ) as checkout:
        road = Road(this, request, checkout, str(mirror))
        while not road.is_over:
            road.step()
    sweep(this.worker.checkouts)  # what a dead worker left, perhaps of this very activity


#: What a claim of each kind does.
WORK: dict[Kind, Callable[[Run], None]] = {
    author.NAME: work,
    command.NAME: work,
    pull_request.NAME: publication.publish,
}


def _hand_back(this: Run, fault: FencepostError) -> None:
    emit(Moment.TROUBLE, **this.claim.facts(), code=fault.code, what=fault.message)
    try:
        hand_back(this, fault.code, fault.message)
    except FencepostError:
        this.held.lose()  # the lease will run out by itself
