"""Lease, heartbeat, deadline and stall limit are checked against each other when they are set."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fixtures.command import Fencepost
from fixtures.stack import Stack, a_repository

from app.domain.errors import SetupError
from app.kinds import registry
from app.kinds.base import ORDINARY, LimitsUnfit
from app.kinds.registry import KINDS

pytestmark = pytest.mark.contract("T08")

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"heartbeat": ORDINARY.lease / 3 + SECOND}, "a heartbeat is at most a third of its lease"),
        ({"heartbeat": timedelta(0)}, "a heartbeat takes some time"),
        ({"lease": timedelta(hours=2)}, "a lease is from a second to an hour"),
        ({"deadline": ORDINARY.lease}, "a delivery lives longer than a lease"),
        ({"stall": ORDINARY.lease - SECOND}, "a run may be silent for as long as a lease"),
        ({"most_starts": 0}, "work may be started at least once"),
    ],
)
def test_limits_that_do_not_go_together_are_refused(change: dict[str, Any], rule: str) -> None:
    """Each bad combination is named, under one code, by whoever makes it."""
    with pytest.raises(LimitsUnfit) as refused:
        replace(ORDINARY, **change)

    assert refused.value.message.startswith(f"{rule}: lease")
    assert (refused.value.code, isinstance(refused.value, SetupError)) == ("limits_unfit", True)


@pytest.mark.parametrize("kind", KINDS)
def test_another_lease_keeps_the_heartbeats_share(kind: str) -> None:
    """A shorter FENCEPOST_LEASE shortens both, so that as many beats fit into it as before."""
    own = registry.KINDS[registry.Kind(kind)].limits

    other = own.with_lease(3 * SECOND)

    assert other.lease == 3 * SECOND
    assert other.lease / other.heartbeat == pytest.approx(own.lease / own.heartbeat)


@pytest.mark.contract("O09")
@pytest.mark.parametrize("kind", KINDS)
def test_a_longer_lease_makes_no_cancel_slower(kind: str) -> None:
    """A worker hears of a cancel with its next beat, so none comes later than is usual."""
    own = registry.KINDS[registry.Kind(kind)].limits

    assert own.with_lease(10 * own.lease).heartbeat == own.heartbeat


def test_a_dispatcher_refuses_a_lease_that_outlasts_a_delivery(stack: Stack) -> None:
    """A combination of setting and kind is checked at the start: exit 2 and the code."""
    stack.settings = {"FENCEPOST_LEASE": "3000"}

    dispatcher = stack.start_dispatcher()

    assert dispatcher.process.wait(30) == 2
    assert dispatcher.says("code=limits_unfit what='a delivery lives longer than a lease")


@pytest.mark.parametrize("words", [["up", "--detach"], ["run", "--", "true"]])
def test_a_stack_with_such_a_lease_is_not_begun(tmp_path: Path, words: list[str]) -> None:
    """`up` and `run` refuse it before any server or role is started."""
    fencepost = Fencepost(tmp_path / "home", {"FENCEPOST_LEASE": "3000"})
    source = a_repository(tmp_path / "source", {"a.py": "x = 1\n"})

    said = fencepost(*words, at=source)

    assert (said.code, "(limits_unfit)" in said.err) == (2, True), said.err
    assert not (fencepost.home / "embedded").exists()
