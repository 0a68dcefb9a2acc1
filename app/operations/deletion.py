"""Deleting refs, each only from the very commit that was read."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from app.domain.errors import PushLost, PushRefused, RemoteUnreadable
from app.domain.pruning import Judged, Standing
from app.operations.place import Desk
from app.repository.push import Move, push, tips

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

        One push for all of them, exact leases on each. RemoteUnreadable: nothing is known of the
        rest; asking again later is safe.
        """
        if self._refused_in_a_row >= MOST_REFUSED:
            yield from (_fate(one, Standing.REFUSED, self._why) for one in due)
            return
        try:
            push(
                self._desk.git_dir, self._desk.remote,
                [Move(one.seen.ref, None, one.seen.sha) for one in due],
            )  # fmt: skip
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


def still_there(desk: Desk, judged: Sequence[Judged]) -> Generator[Judged, None, list[Judged]]:
    """Tell of those that were deleted or moved meanwhile, and return the others.

    RemoteUnreadable: nothing is known.
    """
    now = tips(desk.git_dir, desk.remote, [one.seen.ref for one in judged])
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
