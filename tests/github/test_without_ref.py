"""A remote that takes no mark at all: exactly one branch, or a person (PROTOCOL §7)."""

from __future__ import annotations

import pytest
from fixtures.deciding import decide
from fixtures.github_site import NAME, Site
from fixtures.seen import Seen

from app.cli.report import summary
from app.cli.telling import sentence
from app.domain.decision import UNPUBLISHED, Decision
from app.domain.digest import Json, parse
from app.domain.operation import Mode
from app.events import Moment
from app.kinds import author
from app.store import evidence, results
from app.store.views.story import story_of
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

AUTHOR = f"kind={author.NAME}"
GIT = f"/{NAME}.git/git-receive-pack"


@pytest.fixture
def bare(site: Site) -> Site:
    """The site, whose rules refuse custom refs and the branches that stand in for them."""
    site.door.add_rule(NAME, "refs/fencepost/*")
    site.door.add_rule(NAME, "refs/heads/fencepost/operations/*")
    return site


def branches(site: Site) -> list[str]:
    """Every ref at the remote but the base."""
    return sorted(ref for ref in site.door.refs(NAME, "") if ref != "refs/heads/main")


def branch_of(seen: Seen) -> str:
    return f"refs/heads/{seen.request.branch}"


def begun(site: Site, seen: Seen) -> dict[int, Mode]:
    """The starts of the author and the mode of each."""
    with site.stack.store.begin() as tx:
        return {f: one.mode for f, one in evidence.starts_of(tx, seen.key()).items()}


def payloads(site: Site, seen: Seen) -> list[bytes]:
    with site.stack.store.begin() as tx:
        return [one for _, one in results.deposited(tx, seen.key())]


def killed(site: Site, moment: Moment, command: str | None = None) -> Seen:
    """A worker is killed at a moment of the author's road, and another one takes over."""
    seen = site.dispatch(command or site.change())
    site.stack.start_dispatcher()
    first = site.stack.start_worker(f"{moment} {AUTHOR}")
    site.stack.until(lambda: first.is_stopped)
    first.kill()
    site.stack.start_worker()
    return seen


def held(site: Site, seen: Seen, above: int = 0) -> None:
    """Wait until a claim above a fence is held for a person, and nothing else has happened."""
    site.stack.until(lambda: seen.fence() > above and seen.unknown(author.NAME))
    assert seen.unknown(author.NAME) == UNPUBLISHED


def object_of(data: bytes | None) -> dict[str, Json]:
    value = parse(data or b"")
    assert isinstance(value, dict)
    return value


@pytest.mark.contract("L4", "G01")
def test_one_push_publishes_what_was_kept_before(bare: Site) -> None:
    """One run, one branch, one request; the commit names its operation, the start its mode."""
    seen = bare.dispatch(bare.change())
    bare.stack.build()

    pull = bare.published_once(seen)

    assert branches(bare) == [branch_of(seen)]
    assert begun(bare, seen) == {1: Mode.DATABASE}
    assert payloads(bare, seen) == [seen.observation()]
    (commit,) = object_of(seen.observation())["commits"]
    assert f"Fencepost-Operation: {seen.request.operation}\n" in str(commit["message"])
    shown = summary(bare.stack.store, bare.stack.home, bare.stack.world, seen.attempt.id)
    assert shown["steps"][0]["mode"] == Mode.DATABASE
    with bare.stack.store.begin() as tx:
        told = [sentence(one) for one in story_of(tx, seen.key()) if one.what == "start.recorded"]
    assert "no mark" in told[0]
    assert pull["head_sha"] == commit["sha"]


@pytest.mark.contract("M06")
@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        (Moment.COMMITTED, 0),
        (Moment.DEPOSITED, 1),
        pytest.param(Moment.STARTED, 0, marks=pytest.mark.long),
    ],
)
def test_a_start_without_a_branch_is_never_replayed(bare: Site, moment: Moment, kept: int) -> None:
    """Before the payload, or between it and the push: a person is asked, and nothing runs."""
    seen = killed(bare, moment)

    held(bare, seen)

    assert (len(payloads(bare, seen)), branches(bare), seen.starts()) == (kept, [], 1)
    assert bare.stack.count("author") <= 1


@pytest.mark.contract("M07")
def test_a_branch_that_was_pushed_is_recorded_with_what_its_run_found(bare: Site) -> None:
    """Killed between push and record: neither author nor checks run again."""
    seen = killed(bare, Moment.PUSHED)

    bare.published_once(seen)

    assert (branches(bare), seen.starts()) == ([branch_of(seen)], 1)
    assert payloads(bare, seen) == [seen.observation()]


@pytest.mark.contract("L4")
def test_a_lost_answer_to_the_push_is_looked_for_and_never_pushed_again(bare: Site) -> None:
    """The branch shows that it arrived."""
    bare.door.add_fault("stored_then_reset", path=GIT, text=" refs/heads/fencepost/change")
    seen = bare.dispatch(bare.change())
    bare.stack.build()

    bare.published_once(seen)

    assert bare.door.faults()[0]["used"] == 1
    assert (branches(bare), seen.starts()) == ([branch_of(seen)], 1)


@pytest.fixture
def late(bare: Site) -> Seen:
    """A push is under way when its worker is killed, and the work is held."""
    # curl may send a request again by itself when a connection that it had kept is reset
    bare.door.add_fault("late_reset", path=GIT, text=" refs/heads/fencepost/change", times=9)
    seen = bare.dispatch(bare.change())
    bare.stack.start_dispatcher()
    first = bare.stack.start_worker()
    bare.stack.until(bare.door.held_late)
    first.kill()
    bare.stack.start_worker()
    held(bare, seen)
    bare.door.clear_faults()
    return seen


@pytest.mark.contract("M07", "L4")
def test_a_push_that_lands_late_is_recorded_once_a_person_looks_again(
    bare: Site, late: Seen
) -> None:
    """Exactly one branch, exactly one run; before that the work is unknown."""
    seen = late
    assert branches(bare) == []

    bare.door.release_late()
    decide(bare.stack, seen, Decision.LOOK_AGAIN, kind=author.NAME)

    bare.published_once(seen)
    assert (branches(bare), seen.starts()) == ([branch_of(seen)], 1)


@pytest.mark.contract("M07")
@pytest.mark.parametrize("decision", [Decision.ATTEST_ABSENCE, Decision.ABANDON])
def test_what_has_landed_outranks_a_persons_word(
    bare: Site, late: Seen, decision: Decision
) -> None:
    """They vouched for an absence, and the next claim finds the branch: it is recorded."""
    seen = late

    bare.door.release_late()
    decide(bare.stack, seen, decision, kind=author.NAME)

    bare.stack.until(lambda: seen.observation() is not None)
    assert payloads(bare, seen) == [seen.observation()]
    assert (branches(bare), bare.stack.count("author")) == ([branch_of(seen)], 1)


@pytest.mark.contract("L4")
def test_a_push_later_than_a_wrong_word_fails_at_the_branch(bare: Site, late: Seen) -> None:
    """The branch was expected absent: there is one, and what is recorded is what it holds."""
    seen = late
    decide(bare.stack, seen, Decision.ATTEST_ABSENCE, kind=author.NAME)
    bare.stack.until(lambda: seen.is_over)
    at = bare.door.refs(NAME)[branch_of(seen)]

    bare.door.release_late()

    assert bare.door.refs(NAME)[branch_of(seen)] == at
    assert len(bare.door.pulls(NAME)) == 1
    assert at in str(seen.observation())
    assert bare.stack.count("author") == 2


@pytest.mark.contract("M06", "A08")
def test_an_attested_absence_begins_anew_and_an_abandoned_one_ends(bare: Site) -> None:
    """With a person's word, and only with it."""
    seen = killed(bare, Moment.COMMITTED)
    held(bare, seen)
    fence = seen.fence()

    decide(bare.stack, seen, Decision.LOOK_AGAIN, kind=author.NAME)
    held(bare, seen, above=fence)
    assert bare.stack.count("author") == 1
    decide(bare.stack, seen, Decision.ATTEST_ABSENCE, kind=author.NAME)

    bare.stack.until(lambda: seen.is_over)
    assert (seen.outcome, branches(bare)) == ("done", [branch_of(seen)])
    assert bare.stack.count("author") == 2


@pytest.mark.contract("L9")
def test_a_cancel_after_a_start_is_unknown_until_a_person_gives_it_up(bare: Site) -> None:
    """What was started cannot be closed at the remote, so nobody says that nothing came of it."""
    go = bare.stack.outside / "go"
    wait = f"{bare.stack.counted('author')}; until [ -e {go} ]; do sleep 0.05; done"
    seen = bare.dispatch(f"{wait}; echo 'y = 2' >> a.py")
    bare.stack.build()
    bare.stack.until(lambda: bare.stack.count("author"))

    cancel(bare.stack.store, bare.stack.world, LOCAL, seen.attempt.id, "not any more")

    held(bare, seen)
    decide(bare.stack, seen, Decision.ABANDON, kind=author.NAME)
    bare.stack.until(lambda: seen.is_over)
    assert (branches(bare), bare.stack.count("author"), seen.starts()) == ([], 1, 1)


@pytest.mark.contract("L9")
def test_a_cancel_before_any_start_ends_the_work(bare: Site) -> None:
    """No start row, no process, nothing to close."""
    seen = bare.dispatch(bare.change())
    bare.stack.start_dispatcher()
    bare.stack.until(lambda: seen.kinds)
    cancel(bare.stack.store, bare.stack.world, LOCAL, seen.attempt.id, "not any more")
    bare.stack.start_worker()

    bare.stack.until(lambda: seen.is_over)

    assert (seen.outcome, seen.starts(), branches(bare)) == ("canceled", 0, [])


@pytest.mark.contract("M06")
def test_other_rights_later_do_not_mix_the_modes(bare: Site) -> None:
    """Begun without a mark, it goes on without: a guard would shut nobody out."""
    seen = bare.dispatch(bare.change())
    bare.stack.start_dispatcher()
    first = bare.stack.start_worker(f"{Moment.COMMITTED} {AUTHOR}")
    bare.stack.until(lambda: first.is_stopped)
    first.kill()
    bare.door.clear_rules(NAME)
    bare.stack.start_worker()

    held(bare, seen)
    decide(bare.stack, seen, Decision.ATTEST_ABSENCE, kind=author.NAME)

    bare.stack.until(lambda: seen.is_over)
    assert branches(bare) == [branch_of(seen)]
    assert set(begun(bare, seen).values()) == {Mode.DATABASE}
