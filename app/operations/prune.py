"""Listing and deleting operation refs: the remote is read first, then the rows.

What is written down after a ref was read is newer than it, so that no end is taken for older than
it is. Nothing is kept between two times: whoever dies in the middle simply begins anew.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import timedelta
from itertools import islice

from app.domain.errors import RemoteUnreadable
from app.domain.identity import OperationId
from app.domain.pruning import Judged, Known, Seen, Standing, judge, judge_tip
from app.events import Moment, emit
from app.operations.deletion import Deletion, still_there
from app.operations.documents import read_documents
from app.operations.place import Desk, Place, seen_at
from app.store.engine import Store
from app.store.views.operations import operations_known

BATCH = 100  #: refs in one push
_ASKED = 5000  #: operations in one question


def listed(store: Store, place: Place, desk: Desk, retention: timedelta) -> list[Judged]:
    """Every operation ref at a remote, and what the rows say of it; no tip is looked at."""
    return list(_judged(store, place, seen_at(desk), retention))


def prune(
    store: Store, place: Place, desk: Desk, retention: timedelta, *, most: int | None = None,
    is_rehearsal: bool = False, batch: int = BATCH, may_go_on: Callable[[], bool] = lambda: True,
) -> Iterator[Judged]:  # fmt: skip
    """Delete what is due, at most so many, and tell of every ref what came of it, each once.

    A rehearsal tells the same and deletes nothing. Refs beyond `most` stay DUE. RemoteUnreadable:
    what was told so far is done; asking again goes on from there.
    """
    judged = listed(store, place, desk, retention)
    due = [one for one in judged if one.standing is Standing.DUE]
    yield from (one for one in judged if one.standing is not Standing.DUE)
    # in any order: what a remote refuses for ever must not keep the rest from its turn
    chosen = iter(random.sample(due, len(due)))
    deletion, done = Deletion(desk), 0
    while may_go_on() and (most is None or done < most):
        some = list(islice(chosen, batch if most is None else min(batch, most - done)))
        if not some:
            break
        fit = []
        for one in looked_at(desk, some):
            if one.standing is Standing.DUE:
                fit.append(one)
            else:
                yield one
        if is_rehearsal:
            yield from fit
            done += len(fit)
        elif fit:
            done += yield from _deleted(deletion, place, fit)
    yield from chosen


def _deleted(
    deletion: Deletion, place: Place, fit: Sequence[Judged]
) -> Generator[Judged, None, int]:
    """Tell of each what came of it, and return how many are deleted."""
    number = 0
    for one in deletion.of(fit):
        number += one.standing is Standing.DELETED
        yield one
    if number:
        emit(Moment.REFS_PRUNED, repository=place.name, refs=number)
    return number


def looked_at(desk: Desk, due: Sequence[Judged]) -> Iterator[Judged]:
    """The same refs after a look at their tips."""
    try:
        found = read_documents(desk, [one.seen.sha for one in due])
    except RemoteUnreadable:
        still = yield from still_there(desk, due)
        if len(still) == len(due):
            raise
        if still:
            yield from looked_at(desk, still)
        return
    for one in due:
        yield judge_tip(one, found[one.seen.sha])


def _judged(
    store: Store, place: Place, seen: Sequence[Seen], retention: timedelta
) -> Iterator[Judged]:
    count = Counter(one.operation for one in seen)
    named = sorted({one.operation for one in seen if one.operation is not None})
    known: dict[OperationId, Known] = {}
    for first in range(0, len(named), _ASKED):
        with store.ask() as tx:
            known |= operations_known(tx, named[first : first + _ASKED])
    for one in seen:
        rows = known.get(one.operation) if one.operation is not None else None
        is_twice = count[one.operation] > 1
        yield judge(one, rows, place.repositories, retention, is_twice=is_twice)
