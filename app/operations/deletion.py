"""Deleting refs, each only from the very commit that was read."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from app.domain.errors import GitFailed, PushLost, PushRefused, RemoteUnreadable
from app.domain.pruning import Judged, Seen, Standing
from app.operations.place import Desk
from app.repository import push, refs

#: A remote that has refused so many in a row, each alone, refuses all; the rest is not tried.
MOST_REFUSED = 10
_TRIES = 3


class Deletion:
    """What is deleted at one remote, and how often it has refused."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._refused_in_a_row = 0
        self._why = ""

    def of(self, due: Sequence[Judged], tries: int = _TRIES) -> Iterator[Judged]:
        """Delete all or, where some cannot be, the others; each comes back with its fate.

        One step for all of them, exact leases on each. RemoteUnreadable: nothing is known of the
        rest; asking again later is safe.
        """
        if self._refused_in_a_row >= MOST_REFUSED:
            yield from (_fate(one, Standing.REFUSED, self._why) for one in due)
            return
        try:
            _delete(self._desk, [one.seen for one in due])
        except PushRefused as fault:
            yield from self._refused(due, fault)
        except (PushLost, RemoteUnreadable) as fault:
            still = yield from still_there(self._desk, due)
            if len(still) == len(due) and (isinstance(fault, RemoteUnreadable) or tries <= 1):
                raise
            if still:
                yield from self.of(still, tries - 1)
        else:
            self._refused_in_a_row = 0
            yield from (_fate(one, Standing.DELETED) for one in due)

    def _refused(self, due: Sequence[Judged], fault: PushRefused) -> Iterator[Judged]:
        """A rule for one ref refuses the whole push: the halves are tried."""
        if len(due) > 1:
            middle = len(due) // 2
            yield from self.of(due[:middle])
            yield from self.of(due[middle:])
            return
        self._refused_in_a_row += 1
        self._why = " ".join(fault.message.split())[:600]
        yield _fate(due[0], Standing.REFUSED, self._why)


def _delete(desk: Desk, seen: Sequence[Seen]) -> None:
    """All of them or none; PushLost, PushRefused and RemoteUnreadable as a push says."""
    if not desk.is_mirror:
        push.push(desk.git_dir, desk.remote, [push.Move(one.ref, None, one.sha) for one in seen])
        return
    try:
        # a push into a mirror advertises each of its refs first
        refs.move(desk.git_dir, [refs.Move(one.ref, one.sha, None) for one in seen])
    except GitFailed as fault:
        raise RemoteUnreadable(fault.message) from fault


def still_there(desk: Desk, judged: Sequence[Judged]) -> Generator[Judged, None, list[Judged]]:
    """Tell of those that were deleted or moved meanwhile, and return the others.

    RemoteUnreadable: nothing is known.
    """
    now = push.tips(desk.git_dir, desk.remote, [one.seen.ref for one in judged])
    still = []
    for one in judged:
        at = now.get(one.seen.ref)
        if at == one.seen.sha:
            still.append(one)
        elif at is None:
            yield _fate(one, Standing.GONE)
        else:
            yield _fate(one, Standing.MOVED, f"somebody pushed {at[:12]}")
    return still


def _fate(one: Judged, standing: Standing, why: str = "") -> Judged:
    return replace(one, standing=standing, why=why)
