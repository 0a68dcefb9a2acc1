"""Whether a step that is ready may begin now: the bounds on what runs at once (O08)."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.board import StepWaits, WriterEntered, WriterLeft, WriterStays
from app.domain.bounds import Bound, Left, Limits, limits_of, waits_for
from app.domain.digest import Json
from app.domain.identity import EntityId
from app.kinds.order import ORDER
from app.kinds.reading import integer, mapping, string
from app.store import bounds
from app.store.bounds import Place
from app.transitions.change import Change
from app.transitions.step import request_of
from app.workflow.graph import WAITING, Step, StepKind
from app.workflow.progress import Came


def take(
    change: Change, task: EntityId, order: Mapping[str, Json], step: Step, came: Came, *,
    is_at_work: bool,
) -> bool:  # fmt: skip
    """Give a step its place among what runs, or let it wait; what waits for others needs none.

    The attempt's first author step makes it a writer of its base.
    """
    if step.kind in WAITING:
        return True
    tx, world, attempt = change.tx, change.world.id, string(order, "attempt")
    repository = string(mapping(order, "repository"), "id")
    base = string(mapping(order, "base"), "branch")
    at = {Bound.WORLD: "", Bound.REPOSITORY: repository, Bound.MERGE: f"{repository} {base}"}
    writes, overtakes = None, False
    limits = limits_of(change.settings)
    if step.kind is StepKind.AUTHOR and not change.cards.attempt(attempt).is_writer:
        change.cards.flush()
        writes = integer(order, "merge_bound") if "merge_bound" in order else 1
        since = None if came.waits is None else came.waits.since
        overtakes = bounds.somebody_waits(tx, world, Place(Bound.MERGE, at[Bound.MERGE]), since)
    elif limits != Limits():
        change.cards.flush()
    on_base = None if writes is None else base
    load = bounds.load(tx, world, limits, repository, on_base, beside=attempt)
    bound = waits_for(limits, load, is_at_work=is_at_work, writes=writes, overtakes=overtakes)
    if bound is not None:
        wait(change, attempt, step.name, came, Place(bound, at[bound]))
        return False
    if writes is not None:
        change.decide(WriterEntered(attempt, repository, base, writes))
        _start_from_what_was_merged(change, task, order)
    return True


def _start_from_what_was_merged(change: Change, task: EntityId, order: Mapping[str, Json]) -> None:
    """While it waited for its base, others' work was merged there: it builds on that."""
    tx, world = change.tx, change.world.id
    base, repository = mapping(order, "base"), string(mapping(order, "repository"), "id")
    began = change.cards.attempt(string(order, "attempt")).tick
    tip = bounds.seen_tip(tx, world, repository, string(base, "branch"), began)
    if tip not in (None, base["sha"]):
        change.world.put(task, ORDER, 1, {**order, "base": {**base, "sha": tip}})


def wait(change: Change, attempt: str, step: str, came: Came, place: Place | None) -> None:
    """Let a step wait at a place, or nowhere any more; said once."""
    before = None if came.waits is None else Place(came.waits.bound, came.waits.at)
    if before == place:
        return
    if place is None:
        change.decide(StepWaits(attempt, step, None))
    else:
        change.decide(StepWaits(attempt, step, place.bound, place.at))


def leave(change: Change, task: EntityId, attempt: str) -> None:
    """An attempt that ends writes no longer, unless it has a request: that is open until seen."""
    if not change.cards.attempt(attempt).is_writer:
        return
    request = request_of(change.world, task, attempt)
    if request is None:
        change.decide(WriterLeft(attempt, Left.ENDED))
    else:
        change.decide(WriterStays(attempt, integer(request.value, "number")))
