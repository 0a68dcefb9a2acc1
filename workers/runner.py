"""One delivery, from claim to record: the worker's whole road, read top to bottom."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from app.domain.errors import (
    ClaimNotLive,
    FencepostError,
    GitFailed,
    HostFailed,
    MarkRefused,
    OurFault,
    StaleFence,
)
from app.domain.failure import failure_class
from app.domain.identity import Kind
from app.domain.retry import POLICY
from app.events import Moment, emit
from app.kinds import author, checks, command, pull_request
from app.kinds.registry import KINDS
from app.kinds.request import WorkRequest, work_request
from app.repository.git import Interrupted
from app.repository.remote import Remote
from app.store import activities
from app.store.claims import Verdict
from app.transitions.bind import bind
from app.transitions.claim import claim
from app.transitions.release import release
from workers import checking, publication
from workers.concluding import leave
from workers.forges import FORGES
from workers.forges.base import Forge, Ground
from workers.handing_back import hand_back
from workers.journal import Journal
from workers.reconcile import is_without_ref
from workers.road import Road
from workers.road_without_ref import RoadWithoutRef
from workers.worker import Message, Run, Worker
from workers.workspace import large_files, submodules
from workers.workspace.checkout import Checkout, open_checkout, open_empty
from workers.workspace.sweep import sweep


def run(worker: Worker, message: Message) -> None:
    """Claim, and carry the activity as far as it goes; refused claims are recorded and dropped."""
    taken = claim(worker.store, message.key, message.delivery, worker.name)
    if isinstance(taken, Verdict):
        return
    if worker.keeper.is_draining:  # the message was on its way already
        release(worker.store, taken, "this worker ends", timedelta(0))
        worker.waker.wake()
        return
    with worker.store.ask() as tx:
        activity = activities.get(tx, taken.key)
    heartbeat = KINDS[taken.key.kind].limits.beat(activity.lease)
    with worker.keeper.holding(taken, activity.lease, heartbeat) as held:
        this = Run(worker, held, activity, Journal(worker.store, taken))
        try:
            held.await_renewal()
            worker.disk.check()  # the message was read before it was full
            WORK[taken.key.kind](this)
        except (StaleFence, ClaimNotLive) as fault:
            if not held.is_lost:  # else the keeper has said so
                emit(Moment.LOST, **taken.facts(), code=fault.code)
            held.lose()
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
    bind(this.store, this.claim, request.operation)  # 5
    forge = FORGES[request.forge](this.worker.place(request.repository, request.url))
    with this.worker.disk.heeded():
        try:
            _on_files(this, request, forge)
        except Interrupted:  # before anything was begun
            if this.held.leave.is_set():
                leave(this)
            else:
                _without_files(this, request, forge)
    sweep(this.worker.checkouts)  # what a dead worker left, perhaps of this very activity


def _on_files(this: Run, request: WorkRequest, forge: Forge) -> None:
    stop = this.held.interrupt
    with (
        forge.ground(request.base, request.checkout.depth, stop) as ground,
        _opened(this, request, ground) as checkout,
        this.worker.disk.heeded(),  # before what filled it is removed
    ):
        _fill(this, request, checkout, ground.remote)
        _walk(this, request, checkout, ground.remote)


def _without_files(this: Run, request: WorkRequest, forge: Forge) -> None:
    """After a stop was asked for nothing starts; the least that closes it is made (Q08)."""
    with (
        forge.edge() as ground,
        open_empty(
            this.worker.checkouts, _name(this, request), request.base, ground.objects,
            shallow=ground.shallow,
        ) as checkout,
    ):  # fmt: skip
        _walk(this, request, checkout, ground.remote)


def _name(this: Run, request: WorkRequest) -> str:
    return f"{request.attempt}-{request.step}-{this.claim.fence}"


def _opened(this: Run, request: WorkRequest, ground: Ground) -> Checkout:
    try:
        return open_checkout(
            this.worker.checkouts, _name(this, request), ground.remote, request.base,
            ground.objects, shallow=ground.shallow, extent=request.checkout,
            stop=this.held.interrupt,
        )  # fmt: skip
    except HostFailed:
        raise
    except GitFailed:
        ground.doubt()
        raise


def _fill(this: Run, request: WorkRequest, checkout: Checkout, remote: Remote) -> None:
    """What the work order allows beside the repository itself.

    What another try cannot better is the run's trouble: it fails, and is not held for a person.
    """
    if request.source is None:
        return
    try:
        if request.checkout.submodules:
            submodules.fill(checkout, request.source, this.worker.caches)
        if request.checkout.lfs:
            large_files.fill(checkout, remote, request.source)
    except FencepostError as fault:
        if failure_class(fault.code) in POLICY:
            raise
        checkout.trouble = fault


def _walk(this: Run, request: WorkRequest, checkout: Checkout, remote: Remote) -> None:
    """By marks at the remote; or, where it takes none and nothing was begun by one, without."""
    road: Road | RoadWithoutRef = (
        RoadWithoutRef(this, request, checkout, remote)
        if is_without_ref(this)
        else Road(this, request, checkout, remote)
    )
    while not road.is_over:
        try:
            road.step()
        except MarkRefused as fault:
            road = RoadWithoutRef(this, request, checkout, remote, fault.message)


#: What a claim of each kind does.
WORK: dict[Kind, Callable[[Run], None]] = {
    author.NAME: work,
    command.NAME: work,
    pull_request.NAME: publication.publish,
    checks.NAME: checking.watch,
}


def _hand_back(this: Run, fault: FencepostError) -> None:
    emit(Moment.TROUBLE, **this.claim.facts(), code=fault.code, what=fault.message)
    try:
        hand_back(this, fault.code, fault.message)
    except FencepostError:
        this.held.lose()  # the lease will run out by itself
