"""One delivery, from claim to record: the worker's whole road, read top to bottom."""

from __future__ import annotations

from app.domain.errors import (
    ClaimNotLive,
    FencepostError,
    HostFailed,
    OurFault,
    RemoteUnreadable,
    StaleFence,
)
from app.events import Moment, emit
from app.kinds import author, pull_request
from app.kinds.request import author_request
from app.store import activities
from app.store.claims import Verdict
from app.transitions.bind import bind
from app.transitions.claim import claim
from app.transitions.release import release
from workers import publication
from workers.journal import Journal
from workers.reconcile import UNREADABLE
from workers.road import Road
from workers.worker import BACKOFF, Message, Run, Worker
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
            if taken.key.kind == author.NAME:
                write(this)
            elif taken.key.kind == pull_request.NAME:
                publication.publish(this)
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


def write(this: Run) -> None:
    """The author's road: bind, look, and do what recovery permits, until there is an ending."""
    request = author_request(this.activity.request)
    mirror = this.worker.mirrors / f"{request.repository}.git"
    bind(this.store, this.claim, request.operation)  # 5
    name = f"{request.attempt}-author-{this.claim.fence}"
    with open_checkout(
        this.worker.checkouts, name, str(mirror), request.base, mirror / "objects"
    ) as checkout:
        road = Road(this, request, checkout, str(mirror))
        while not road.is_over:
            road.step()
    sweep(this.worker.checkouts)  # what a dead worker left, perhaps of this very activity


def _hand_back(this: Run, fault: FencepostError) -> None:
    """Release with the reason; the chain at the provider stays open for the next claim."""
    emit(Moment.TROUBLE, **this.claim.facts(), code=fault.code, what=fault.message)
    prefix = f"{UNREADABLE}: " if isinstance(fault, RemoteUnreadable) else ""
    try:
        release(this.store, this.claim, f"{prefix}{fault.code}: {fault.message}", BACKOFF)
    except FencepostError:
        this.held.lose()  # the lease will run out by itself
