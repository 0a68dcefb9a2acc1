"""A hint lets who waits look sooner, once, and nothing else follows (G07)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fixtures.lived import CHECKED, carry_out, dispatched, gated, propose
from fixtures.world import HEAD, Attempt, a_claim, a_world, activity_of, author_observation
from sqlalchemy import func, select

from app.domain.checks import WAITING
from app.domain.hint import Hint
from app.domain.identity import ActivityKey
from app.domain.recovery import Stop
from app.kinds import checks
from app.store import activities, claims, hints, unknowns
from app.store.deliveries import Cause
from app.store.engine import Store
from app.store.fencing import of_key
from app.store.schema import deliveries
from app.transitions.add_repository import add_repository
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
from app.transitions.deliver import MOST_FRUITLESS, deliver
from app.transitions.draft import draft
from app.transitions.hint import forget, hint
from app.transitions.release import release

URL = "https://github.com/acme/widgets.git"
MINUTE = timedelta(minutes=1)

pytestmark = pytest.mark.contract("G07")


@pytest.fixture
def attempt(store: Store, worker_store: Store) -> Attempt:
    """An attempt at a repository of GitHub whose request is open and whose checks are watched."""
    world = a_world(store)
    known = add_repository(store, world, LOCAL, "widgets", URL, "github")
    one = dispatched(store, world, draft(store, world, LOCAL, known.id, gated("Tidy", CHECKED)))
    carry_out(store, worker_store, one, author_observation())
    propose(store, worker_store, one)
    return one


@pytest.fixture
def key(store: Store, attempt: Attempt) -> ActivityKey:
    return activity_of(store, attempt, checks.NAME)


def look(store: Store, worker_store: Store, key: ActivityKey) -> None:
    """One look in vain; the next one is a minute away."""
    held = a_claim(store, worker_store, key)
    release(worker_store, held, f"{WAITING}: build goes on", MINUTE)
    deliver(store, key, Cause.RELEASED, MINUTE)


def waits(store: Store, key: ActivityKey) -> float:
    """For how many seconds the newest delivery waits."""
    with store.begin() as tx:
        query = select(deliveries.c.not_before - func.clock_timestamp()).where(
            of_key(deliveries, key)
        )
        left = tx.execute(query.order_by(deliveries.c.number.desc()).limit(1)).scalar_one()
    return float(left.total_seconds())


def told(delivery: str = "d-1", repository: str | None = URL, sha: str = HEAD) -> Hint:
    return Hint(delivery, "check_run", repository, (sha,))


def test_a_hint_brings_the_look_forward(
    store: Store, worker_store: Store, key: ActivityKey
) -> None:
    """To a moment after the last one: however many hints come, looks are bounded."""
    look(store, worker_store, key)
    assert waits(store, key) > 50

    assert hint(store, told()) == 1

    assert -1 < waits(store, key) <= hints.PAUSE.total_seconds()


def test_a_hint_is_heeded_once(store: Store, worker_store: Store, key: ActivityKey) -> None:
    """The same delivery again finds that it was heard."""
    hint(store, told())
    look(store, worker_store, key)
    before = waits(store, key)

    assert hint(store, told()) is None

    # it came before that look began, so it says nothing new
    assert waits(store, key) > before - 5


@pytest.mark.parametrize(
    "other",
    [
        told(repository="https://github.com/acme/gadgets.git"), told(repository=None),
        told(sha="8" * 40), Hint("d-1", "ping", URL, ()),
    ],
)  # fmt: skip
def test_a_hint_about_something_else_moves_nothing(
    store: Store, worker_store: Store, key: ActivityKey, other: Hint
) -> None:
    """Another repository, another commit, or none."""
    look(store, worker_store, key)

    assert hint(store, other) == 0

    assert waits(store, key) > 50


def test_a_hint_during_a_look_is_not_lost(
    store: Store, worker_store: Store, key: ActivityKey
) -> None:
    """What it tells of may be newer than what was read."""
    held = a_claim(store, worker_store, key)
    assert hint(store, told()) == 0

    release(worker_store, held, f"{WAITING}: build goes on", MINUTE)
    deliver(store, key, Cause.RELEASED, MINUTE)

    assert waits(store, key) <= hints.PAUSE.total_seconds()


@pytest.mark.contract("O12")
def test_looks_in_vain_are_no_failed_tries(
    store: Store, worker_store: Store, key: ActivityKey
) -> None:
    """However many there are, nobody is asked; and trouble before a good look counts no more."""
    for _ in range(MOST_FRUITLESS - 2):
        release(worker_store, a_claim(store, worker_store, key), "this worker ends", timedelta(0))
        deliver(store, key, Cause.RELEASED)
    for _ in range(2 * MOST_FRUITLESS):
        look(store, worker_store, key)

    with store.begin() as tx:
        assert (claims.fruitless(tx, key), claims.looks(tx, key)) == (0, 2 * MOST_FRUITLESS)
        assert unknowns.find_open(tx, key) is None
        assert activities.get(tx, key).stop is None


@pytest.mark.contract("Q08")
def test_a_watch_that_waits_is_canceled_by_the_control_plane(
    store: Store, worker_store: Store, attempt: Attempt, key: ActivityKey
) -> None:
    """It only looks, so nothing has to be reconciled; no worker is needed."""
    look(store, worker_store, key)

    cancel(store, attempt.world, LOCAL, attempt.id, "not any more")

    with store.begin() as tx:
        assert activities.get(tx, key).stop is Stop.CANCEL
        assert not activities.is_waiting(tx, key)  # its result is recorded


def test_old_hints_are_forgotten(store: Store) -> None:
    """Those that may be sent again are not."""
    hint(store, told())

    assert forget(store) == 0
