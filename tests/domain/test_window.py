"""How much of a queue may be out, and what a queue is called that lets nothing out."""

from __future__ import annotations

import pytest

from app.domain.window import Bounds, Load, QueueState, room, state, window

NOTHING = Load(out=0, running=0, depth=0)


@pytest.mark.contract("Q02")
@pytest.mark.parametrize(("slots", "size"), [(0, 64), (8, 64), (9, 72), (1000, 8000)])
def test_the_usual_window_is_eight_times_the_live_slots_and_no_less_than_64(
    slots: int, size: int
) -> None:
    """A fleet never waits for the relay, and a small one still has something at hand."""
    assert window(slots, None) == size


def test_a_decided_window_holds_whatever_the_slots() -> None:
    """Whoever sets it has a reason."""
    assert window(1000, 3) == 3


@pytest.mark.contract("Q02")
@pytest.mark.parametrize(
    ("bounds", "load", "free", "said"),
    [
        (Bounds(64, None, None, False), NOTHING, 64, QueueState.OPEN),
        (Bounds(64, None, None, False), Load(60, 500, 60), 4, QueueState.OPEN),
        (Bounds(64, None, None, False), Load(64, 0, 10), 0, QueueState.FULL),
        (Bounds(64, None, None, False), Load(10, 0, 64), 0, QueueState.FULL),
        (Bounds(64, None, None, False), Load(80, 0, 80), 0, QueueState.FULL),
        (Bounds(64, 10, None, False), Load(2, 5, 2), 3, QueueState.OPEN),
        (Bounds(64, 10, None, False), Load(2, 8, 2), 0, QueueState.LIMITED),
        (Bounds(64, 10, 1, False), Load(2, 5, 2), 1, QueueState.OPEN),
        (Bounds(64, None, 0, False), NOTHING, 0, QueueState.LIMITED),
        (Bounds(64, None, -4, False), Load(64, 0, 64), 0, QueueState.LIMITED),
        (Bounds(64, None, None, True), NOTHING, 0, QueueState.PAUSED),
    ],
)
def test_the_tightest_bound_decides_and_names_the_state(
    bounds: Bounds, load: Load, free: int, said: QueueState
) -> None:
    """A queue without room is named by what no larger window would mend, else by its window."""
    assert (room(bounds, load), state(bounds, load)) == (free, said)
