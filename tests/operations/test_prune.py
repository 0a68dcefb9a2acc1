"""Operation refs go when the database remembers better, and only from where they were read."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest
from fixtures.database import Clock, Database
from fixtures.refs import LONG_AGO, MONTH, Shore, Work, standings
from fixtures.spare import copied, dropped
from fixtures.world import LEASE, a_successor, observe

from app.domain.errors import PushLost, RemoteUnreadable
from app.domain.operation import Mark, ref_of
from app.domain.pruning import Judged, Standing
from app.domain.result import Outcome
from app.events import Event, Moment, subscribers
from app.kinds.ending import ending
from app.operations.place import desk, places
from app.operations.prune import prune
from app.repository.git import git
from app.repository.mirror import open_mirror
from app.repository.push import Move, push, tips
from app.repository.remote import Remote
from app.store.engine import open_store
from app.store.views.fleet import repositories_seen
from app.transitions.add_repository import add_repository
from app.transitions.change import LOCAL
from app.transitions.hold import hold
from app.transitions.record import record
from app.transitions.start import start
from workers.workspace.operation_ref import push_result


@pytest.mark.contract("G08", "M07")
def test_only_what_is_settled_for_longer_than_the_retention_is_deleted(shore: Shore) -> None:
    """Open, held, unsettled and younger work keeps its ref, and no row is changed."""
    old, young = shore.ended(), shore.ended(MONTH - timedelta(hours=1))
    unsettled, open_, held = shore.recorded(), shore.published(), shore.begun()
    shore.age(unsettled, LONG_AGO)
    hold(shore.worker, held.claim, "our_fault", "nobody knows")

    found = shore.prune()

    assert standings(found, [old, young, unsettled, open_, held]) == [
        Standing.DELETED, Standing.YOUNG, Standing.UNSETTLED, Standing.OPEN, Standing.HELD,
    ]  # fmt: skip
    kept = {one.ref: one.tip for one in (young, unsettled, open_, held)}
    assert shore.at_remote() == kept


def test_a_second_time_finds_nothing_to_do(shore: Shore) -> None:
    """Pruning is idempotent."""
    shore.ended()
    shore.prune()

    assert shore.prune() == {}


@pytest.mark.contract("G08")
def test_the_branch_that_stands_in_for_a_ref_goes_like_one(shore: Shore) -> None:
    """Where custom refs are refused the chain is a branch, and it does not stay for ever."""
    one = shore.as_branch(shore.ended())

    assert standings(shore.prune(), [one]) == [Standing.DELETED]
    assert shore.at_remote() == {}


def test_other_installations_and_strangers_are_never_touched(
    shore: Shore, server: Database
) -> None:
    """An operation that this database does not know is somebody else's, however old it is."""
    theirs = shore.ended()
    push(
        shore.git_dir, shore.remote,
        [Move(f"refs/fencepost/operations/probe-{n}", theirs.tip, None) for n in (1, 2)],
    )  # fmt: skip
    before, empty = shore.at_remote(), copied(server, server)
    with (
        closing(open_store(empty.app_url, name="test-other")) as other,
        desk(shore.place, shore.home, shore.hub) as at,
    ):
        assert at is not None
        found = list(prune(other, shore.place, at, timedelta(hours=1)))
    dropped(empty)

    assert {one.standing for one in found} == {Standing.UNKNOWN}
    assert shore.at_remote() == before


def test_a_copy_at_another_repository_is_not_touched(here: Shore) -> None:
    """`git push --mirror` takes our refs along; work of one repository is not pruned at another."""
    one = here.ended()
    copy = add_repository(here.store, here.world, LOCAL, "copy", "/srv/copy.git").id
    remote = Remote(str(open_mirror(here.home / "forge", copy).git_dir))
    push(here.git_dir, remote, [Move(one.ref, one.tip, None)])

    with here.store.begin() as tx:
        (place,) = (one for one in places(repositories_seen(tx)) if one.name == "copy")
    with desk(place, here.home, here.hub) as at:
        assert at is not None
        (found,) = prune(here.store, place, at, timedelta(hours=1))

    assert (found.standing, here.repository in found.why) == (Standing.UNKNOWN, True)
    assert tips(here.git_dir, remote, [one.ref]) == {one.ref: one.tip}


def test_work_that_was_canceled_leaves_a_closed_chain_and_that_goes_too(shore: Shore) -> None:
    """`closed` is as final as a result, where the rows say so."""
    one = shore.begun()
    shore.mark(one, Mark.CLOSED)
    record(shore.worker, one.claim, ending(Outcome.CANCELED, "canceled", "as asked"))
    observe(shore.store, shore.world)
    shore.age(one, LONG_AGO)

    assert standings(shore.prune(), [one]) == [Standing.DELETED]


@pytest.mark.contract("L5", "M13")
@pytest.mark.parametrize("what", ["started", "guarded", "closed", "another result", "foreign"])
def test_a_tip_that_the_rows_contradict_is_said_and_kept(shore: Shore, what: str) -> None:
    """Evidence of what should not be is for a person; it is never swept away."""
    one = shore.ended()
    before = one.tip
    match what:
        case "started":
            one.tip = begun_anew(shore, one)
        case "guarded" | "closed":
            shore.mark(one, Mark(what))
        case "another result":
            shore.mark(one, Mark.RESULT, ending(Outcome.FAILED, "other", "another story"))
        case _:
            other = shore.begun()
            push(shore.git_dir, shore.remote, [Move(one.ref, other.tip, before)])
            one.tip = other.tip

    found = shore.prune()

    assert standings(found, [one]) == [
        {"started": Standing.NOT_FINAL, "guarded": Standing.NOT_FINAL, "foreign": Standing.FOREIGN}
        .get(what, Standing.CONFLICT)
    ]  # fmt: skip
    assert shore.at_remote()[one.ref] == one.tip


def test_a_ref_beside_its_own_branch_is_for_a_person(shore: Shore) -> None:
    """Two chains of one operation are none: neither is deleted."""
    one = shore.ended()
    shore.as_branch(one)
    push(shore.git_dir, shore.remote, [Move(ref_of(one.operation), one.tip, None)])

    found = shore.prune()

    assert {each.standing for each in found.values()} == {Standing.TWICE}
    assert len(shore.at_remote()) == 2


def test_what_cannot_be_a_chain_is_for_a_person(here: Shore) -> None:
    """A ref of our operation's name on something that is no commit of ours."""
    one = here.ended()
    blob = here.home / "forge" / f"{here.repository}.git"
    sha = git("hash-object", "-w", "--stdin", git_dir=blob, stdin=b"not ours\n")
    git("update-ref", one.ref, sha, git_dir=blob)

    assert standings(here.prune(), [one]) == [Standing.FOREIGN]


@pytest.mark.contract("L4")
def test_a_push_between_look_and_deletion_wins(shore: Shore) -> None:
    """The lease names the very commit that was read; a late push of a zombie is left as it is."""
    one, other = shore.ended(), shore.ended()
    first = shore.published()  # is told before anything is deleted
    going = shore.pruning()
    assert next(going).seen.ref == first.ref
    shore.mark(one, Mark.GUARDED)

    found = {each.seen.ref: each for each in going}

    assert standings(found, [one, other]) == [Standing.MOVED, Standing.DELETED]
    assert shore.at_remote() == {one.ref: one.tip, first.ref: first.tip}


@pytest.mark.contract("L4", "L5")
def test_a_zombie_that_wakes_after_the_deletion_publishes_nothing(shore: Shore) -> None:
    """Its push names a commit that is nowhere any more: neither ref nor branch comes back."""
    one = shore.begun()
    start(shore.worker, one.claim, one.tip)
    zombie = replace(one)
    Clock(shore.database).advance(LEASE + timedelta(seconds=1))
    one.claim = a_successor(shore.store, shore.worker, zombie.claim)
    shore.mark(one, Mark.GUARDED)
    start(shore.worker, one.claim, one.tip)
    seen = ending(Outcome.FAILED, "command_failed", "exit 1")
    shore.mark(one, Mark.RESULT, seen)
    record(shore.worker, one.claim, seen)
    observe(shore.store, shore.world)
    shore.age(one, LONG_AGO)
    assert standings(shore.prune(), [one]) == [Standing.DELETED]

    late = shore.commit(zombie, Mark.RESULT, ending(Outcome.FAILED, "late", "by a zombie"))
    with pytest.raises(PushLost):
        push_result(shore.git_dir, shore.remote, one.ref, late, zombie.tip, "fencepost/late", late)

    assert shore.at_remote() == {}


def test_two_prunes_at_once_share_the_work(shore: Shore) -> None:
    """Each ref is deleted by one of them; the other says that it is gone, and nothing fails."""
    those = [shore.ended() for _ in range(8)]
    kept = shore.published()
    going = shore.pruning(batch=3)
    assert next(going).seen.ref == kept.ref

    second = shore.prune(batch=2)
    first = {each.seen.ref: each for each in going}

    assert standings(second, those) == [Standing.DELETED] * 8
    assert standings(first, those) == [Standing.GONE] * 8


def test_many_prunes_at_once_end(here: Shore) -> None:
    """The same without an order: four threads, and at the end there is nothing left."""
    those = [here.ended() for _ in range(12)]
    ends: list[dict[str, Judged] | Exception] = []

    def go() -> None:
        try:
            ends.append(here.prune(batch=2))
        except Exception as fault:  # noqa: BLE001  # shown below
            ends.append(fault)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    found = [end for end in ends if isinstance(end, dict)]
    assert len(found) == 4, ends
    fates = [each.standing for end in found for each in end.values()]
    assert set(fates) <= {Standing.DELETED, Standing.GONE}
    assert 1 <= fates.count(Standing.DELETED) <= len(those)
    assert here.at_remote() == {}


def test_a_rehearsal_tells_what_would_go_and_deletes_nothing(shore: Shore) -> None:
    """The tips are looked at, so that alarms are said beforehand."""
    due, odd = shore.ended(), shore.ended()
    shore.mark(odd, Mark.GUARDED)

    found = shore.prune(is_rehearsal=True)

    assert standings(found, [due, odd]) == [Standing.DUE, Standing.NOT_FINAL]
    assert len(shore.at_remote()) == 2


def test_no_more_is_deleted_than_was_asked_for(here: Shore) -> None:
    """What is beyond the number stays due, for another time."""
    those = [here.ended() for _ in range(5)]

    found = standings(here.prune(most=2), those)

    assert sorted(found) == [Standing.DELETED] * 2 + [Standing.DUE] * 3
    assert len(here.at_remote()) == 3


def test_each_push_is_told_once_it_is_done(here: Shore) -> None:
    """The moment follows the push, and says how many refs it has deleted."""
    for _ in range(5):
        here.ended()
    told: list[Event] = []
    subscribers.append(told.append)
    try:
        here.prune(batch=2)
    finally:
        subscribers.remove(told.append)

    pushes = [one.facts["refs"] for one in told if one.moment is Moment.REFS_PRUNED]
    assert pushes == [2, 2, 1]


def test_what_a_remote_will_not_delete_is_said_and_the_rest_goes(there: Shore) -> None:
    """A rule for one ref refuses a whole push at GitHub; it keeps no other ref from its end."""
    those = [there.ended() for _ in range(6)]
    there.github.door.add_rule("acme/widgets", those[2].ref, ["deletion"])

    found = there.prune()

    assert standings(found, those) == [
        Standing.REFUSED if one is those[2] else Standing.DELETED for one in those
    ]
    assert "Cannot delete this protected ref" in found[those[2].ref].why
    assert there.at_remote() == {those[2].ref: those[2].tip}


def test_a_remote_that_refuses_all_is_not_asked_for_each(
    there: Shore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a few refusals in a row the rest is not tried, this time."""
    monkeypatch.setattr("app.operations.deletion.MOST_REFUSED", 2)
    those = [there.ended() for _ in range(8)]
    there.github.door.add_rule("acme/widgets", "refs/fencepost/*", ["deletion"])
    pushes = there.github.door.count(method="POST", path="*/git-receive-pack")

    found = there.prune()

    assert standings(found, those) == [Standing.REFUSED] * 8
    # the whole, a half of it, a quarter, and two alone
    assert there.github.door.count(method="POST", path="*/git-receive-pack") - pushes <= 10
    assert len(there.at_remote()) == 8


@pytest.mark.contract("G08")
@pytest.mark.parametrize("kind", ["stored_then_reset", "stored_then_status"])
def test_a_reply_that_is_lost_is_looked_up(there: Shore, kind: str) -> None:
    """The push was done: its refs are gone, and the rest goes in its turn."""
    those = [there.ended() for _ in range(4)]
    there.github.door.add_fault(kind=kind, method="POST", path="*/git-receive-pack", nth=2)

    found = there.prune(batch=2)

    assert set(standings(found, those)) <= {Standing.GONE, Standing.DELETED}
    assert there.at_remote() == {}


def test_a_remote_that_does_not_answer_loses_nothing(there: Shore) -> None:
    """An error, and another time it goes on."""
    one = there.ended()
    there.github.door.add_fault(kind="status", method="*", path="*.git*", times=50)

    with pytest.raises(RemoteUnreadable):
        there.prune()

    there.github.door.clear_faults()
    assert standings(there.prune(), [one]) == [Standing.DELETED]


def begun_anew(shore: Shore, one: Work) -> str:
    """What a worker does that slept since before its first push: the ref was pruned meanwhile."""
    push(shore.git_dir, shore.remote, [Move(one.ref, None, one.tip)])
    one.tip = ""
    return shore.mark(one, Mark.STARTED).tip
