"""PROTOCOL §4, one test per row: what the remote and the rows permit a claim to do."""

import pytest

from app.domain.digest import canonical, digest
from app.domain.identity import Fence, OperationId
from app.domain.operation import Absent, Foreign, Mark, Tip, Unreadable
from app.domain.recovery import (
    Close,
    ConfirmStart,
    End,
    Execute,
    FailClosed,
    KillFirst,
    Leave,
    NothingToDo,
    PublishAgain,
    Record,
    Release,
    Situation,
    Stop,
    Unknown,
    decide,
)

MINE, OTHER = "a" * 64, "b" * 64
OBSERVATION = canonical({"outcome": "green"})
STOPS = list(Stop)


def tip(mark=Mark.STARTED, fence=2, token=OTHER, sha="1" * 40):
    seen = OBSERVATION if mark is Mark.RESULT else None
    return Tip(sha, mark, OperationId("op"), Fence(fence), token, seen)


def now(operation, **facts):
    return Situation(fence=Fence(3), token_hash=MINE, operation=operation, **facts)


@pytest.mark.parametrize("operation", [Absent(), Unreadable("x"), tip(), tip(Mark.CLOSED)])
def test_row_1_a_recorded_result_leaves_nothing_to_do(operation):
    """A result in the database outranks whatever the remote shows."""
    assert decide(now(operation, recorded=digest(b"x"), write_refused=True)) == NothingToDo()


def test_row_1_another_digest_on_the_ref_is_an_alarm():
    """Two results under one identity can never both be right: a person must look."""
    verdict = decide(now(tip(Mark.RESULT), recorded=digest(b"another")))

    assert isinstance(verdict, Unknown)
    assert verdict.code == "digest_conflict"


@pytest.mark.contract("M13")
def test_row_1_the_same_digest_on_the_ref_is_no_alarm():
    """The exact duplicate is accepted."""
    assert decide(now(tip(Mark.RESULT), recorded=digest(OBSERVATION))) == NothingToDo()


@pytest.mark.contract("M12")
def test_row_2_a_refused_write_stops_the_claim():
    """A stale worker touches nothing."""
    assert isinstance(decide(now(tip(), write_refused=True)), Leave)


def test_row_3_an_unreadable_remote_releases_with_backoff():
    """Nothing is known, so nothing is done; the next claim looks again."""
    assert isinstance(decide(now(Unreadable("timeout"), unreadable_before=3)), Release)


def test_row_3_after_five_tries_a_person_is_asked():
    """A remote that stays away is not retried for ever."""
    assert isinstance(decide(now(Unreadable("timeout"), unreadable_before=4)), Unknown)


@pytest.mark.parametrize("stop", [None, *STOPS])
def test_row_4_a_foreign_ref_is_unknown(stop):
    """What we did not write, we neither build on nor overwrite."""
    assert isinstance(decide(now(Foreign("1" * 40, "malformed"), stop=stop)), Unknown)


@pytest.mark.contract("M07")
@pytest.mark.parametrize("stop", [None, *STOPS])
@pytest.mark.parametrize("fence", [1, 3, 9])
def test_row_5_a_published_result_is_recorded_whatever_its_fence(fence, stop):
    """The first observation comes back byte for byte, under a cancel too."""
    verdict = decide(now(tip(Mark.RESULT, fence=fence), stop=stop, earlier_start=True))

    assert verdict == Record(OBSERVATION, None)


@pytest.mark.parametrize("stop", STOPS)
def test_row_6_a_closed_operation_ends_when_that_was_decided(stop):
    """`closed` is final; with a decision on record it is the end."""
    assert decide(now(tip(Mark.CLOSED, fence=9), stop=stop)) == End()


def test_row_7_a_closed_operation_nobody_decided_is_unknown():
    """Somebody closed it and the database knows nothing of it."""
    assert isinstance(decide(now(tip(Mark.CLOSED))), Unknown)


@pytest.mark.contract("L3")
@pytest.mark.parametrize("stop", [None, *STOPS])
@pytest.mark.parametrize(("fence", "token"), [(4, OTHER), (4, MINE), (3, OTHER)])
def test_row_8_a_higher_fence_at_the_remote_means_the_database_is_behind(fence, token, stop):
    """After a restore of Postgres fences repeat; the remote shows it."""
    verdict = decide(now(tip(fence=fence, token=token), stop=stop))

    assert isinstance(verdict, Unknown)
    assert verdict.code == "database_behind_remote"


def test_row_8_without_a_live_lease_the_claim_just_stops():
    """A late worker that meets its successor has nothing to say."""
    assert isinstance(decide(now(tip(fence=4), lease_live=False)), Leave)


@pytest.mark.parametrize("stop", [None, *STOPS])
def test_row_9_a_missing_ref_after_a_start_is_unknown(stop):
    """Somebody removed the ref; the work may have been done."""
    assert isinstance(decide(now(Absent(), earlier_start=True, stop=stop)), Unknown)


@pytest.mark.contract("G01")
@pytest.mark.parametrize("stop", [None, *STOPS])
def test_row_10_a_branch_without_an_operation_is_a_clash_found_before_any_run(stop):
    """The branch is somebody else's: no run, no overwrite."""
    verdict = decide(now(Absent(), branch_present=True, stop=stop))

    assert isinstance(verdict, Unknown)
    assert verdict.code == "branch_clash"


@pytest.mark.parametrize("stop", STOPS)
def test_row_11_a_stop_before_any_mark_closes_over_absence(stop):
    """A sender that is still under way finds the ref taken."""
    assert decide(now(Absent(), stop=stop)) == Close(expected=None)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("mark", [Mark.STARTED, Mark.GUARDED])
def test_row_12_a_stop_closes_over_an_earlier_tip(mark, stop):
    """Nothing starts after the request; whoever still runs cannot publish."""
    assert decide(now(tip(mark), stop=stop, tree_alive=True)) == Close(expected="1" * 40)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("own_start", [None, "1" * 40])
def test_row_12_a_stop_closes_over_the_own_tip_with_nothing_in_hand(own_start, stop):
    """A claim that was stopped before it had a result closes its own mark."""
    own = tip(fence=3, token=MINE)

    assert decide(now(own, stop=stop, own_start=own_start)) == Close(expected="1" * 40)


@pytest.mark.contract("M04")
def test_row_13_an_absent_ref_and_no_start_permit_the_first_run():
    """Nothing was ever permitted, so nothing can have been done."""
    assert decide(now(Absent())) == Execute(Mark.STARTED, expected=None)


@pytest.mark.contract("M05")
@pytest.mark.parametrize("operation", [Absent(), tip()])
def test_row_13_without_a_stable_identity_the_provider_is_not_called(operation):
    """Fail closed."""
    assert decide(now(operation, may_bind=False)) == FailClosed()


def test_row_14_an_earlier_tree_is_killed_first():
    """Two agents of one activity on one host would only spend money."""
    assert decide(now(tip(), tree_alive=True, earlier_start=True)) == KillFirst()


def test_row_14_a_tree_that_will_not_die_releases_the_work():
    """What cannot be proven gone is left to another host or a later time."""
    assert isinstance(decide(now(tip(), tree_alive=True, tree_immortal=True)), Release)


@pytest.mark.contract("M06")
@pytest.mark.parametrize("earlier_start", [True, False])
@pytest.mark.parametrize("mark", [Mark.STARTED, Mark.GUARDED])
def test_row_15_an_earlier_mark_is_guarded_before_a_fresh_start(mark, earlier_start):
    """Absence of a result counts only with the guard that shuts the earlier claim out."""
    verdict = decide(now(tip(mark), earlier_start=earlier_start))

    assert verdict == Execute(Mark.GUARDED, expected="1" * 40)


def test_row_16_the_own_mark_whose_reply_was_lost_is_confirmed():
    """The push arrived; the start row follows, then the program."""
    assert decide(now(tip(fence=3, token=MINE))) == ConfirmStart("1" * 40)


def test_row_17_a_result_in_hand_is_pushed_again_over_the_permitted_tip():
    """The same commit, so that a push that did arrive is recognised."""
    own = tip(fence=3, token=MINE)

    assert decide(now(own, own_start=own.sha, in_hand=own.sha)) == PublishAgain()


@pytest.mark.parametrize("stop", STOPS)
def test_row_17_a_result_in_hand_beats_a_stop(stop):
    """A result beats every decision."""
    own = tip(fence=3, token=MINE)

    assert decide(now(own, own_start=own.sha, in_hand=own.sha, stop=stop)) == PublishAgain()


def test_row_18_a_start_with_nothing_in_hand_is_left_to_the_next_claim():
    """One start per claim: this one may not run the program twice."""
    own = tip(fence=3, token=MINE)

    assert isinstance(decide(now(own, own_start=own.sha)), Leave)
