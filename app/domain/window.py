"""How much of a queue may be out at once, and the word for how it stands (Q02)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

#: The usual window: no fewer messages than this, and so many for every live slot.
LEAST, PER_SLOT = 64, 8


class QueueState(StrEnum):
    """Whether a queue lets anything out, and why not."""

    OPEN = "open"
    PAUSED = "paused"  #: somebody paused it
    LIMITED = "limit reached"  #: as much is out or runs as a limit allows
    FULL = "window full"  #: Redis holds as many messages as it may


@dataclass(frozen=True, slots=True)
class Load:
    """What a queue has under way."""

    out: int  #: deliveries that were sent, or are being sent, and that nobody has claimed
    running: int  #: live claims
    depth: int  #: messages in Redis; more than `out` where some are doubled or superseded


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a queue may have under way."""

    window: int
    most_running: int | None  #: of this queue, deliveries that are out included; None: no limit
    left: int | None  #: of what all queues together may run; None: no limit
    is_paused: bool


def window(slots: int, decided: int | None) -> int:
    """How many messages a queue may hold in Redis: as decided, else as the live slots need."""
    return max(LEAST, PER_SLOT * slots) if decided is None else decided


def room(bounds: Bounds, load: Load) -> int:
    """How many more deliveries may be sent now."""
    if bounds.is_paused:
        return 0
    return max(0, min([_in_window(bounds, load), *_in_limits(bounds, load)]))


def state(bounds: Bounds, load: Load) -> QueueState:
    """The word for how a queue stands; what no larger window would mend comes first."""
    if bounds.is_paused:
        return QueueState.PAUSED
    if min(_in_limits(bounds, load), default=1) <= 0:
        return QueueState.LIMITED
    return QueueState.FULL if _in_window(bounds, load) <= 0 else QueueState.OPEN


def _in_window(bounds: Bounds, load: Load) -> int:
    return bounds.window - max(load.out, load.depth)


def _in_limits(bounds: Bounds, load: Load) -> list[int]:
    own = [] if bounds.most_running is None else [bounds.most_running - load.running - load.out]
    return own if bounds.left is None else [*own, bounds.left]
