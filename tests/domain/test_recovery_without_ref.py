"""PROTOCOL §7, one test per row: what is permitted where the remote takes no mark."""

import itertools

import pytest

from app.domain.decision import CLASH, LOST_PAYLOAD, UNPUBLISHED
from app.domain.digest import canonical, digest
from app.domain.operation import Unreadable
from app.domain.recovery import (
    End,
    FailClosed,
    KillFirst,
    Leave,
    NothingToDo,
    Record,
    Release,
    Stop,
    Unknown,
)
from app.domain.recovery_without_ref import (
    Begin,
    Marked,
    NoBranch,
    Published,
    Situation,
    Stray,
    decide,
)

OBSERVATION = canonical({"outcome": "green"})
HEAD = "1" * 40
PUBLISHED = Published(OBSERVATION, HEAD)
OURS, THEIRS = Stray(HEAD, is_ours=True), Stray(HEAD, is_ours=False)
MARKED = Marked("refs/fencepost/operations/x")
BRANCHES = [NoBranch(), PUBLISHED, OURS, THEIRS, MARKED, Unreadable("x")]
STOPS = [None, *Stop]


def now(branch, **facts):
    return Situation(branch, **facts)


@pytest.mark.parametrize("branch", BRANCHES)
def test_row_1_a_recorded_result_leaves_nothing_to_do(branch):
    """A result in the database outranks whatever the remote shows."""
    recorded = digest(OBSERVATION)

    assert decide(now(branch, recorded=recorded, write_refused=True)) == NothingToDo()


@pytest.mark.contract("M13")
def test_row_1_another_published_digest_is_an_alarm():
    """Two results under one identity can never both be right: a person must look."""
    verdict = decide(now(PUBLISHED, recorded=digest(b"another")))

    assert (type(verdict), verdict.code) == (Unknown, "digest_conflict")


@pytest.mark.contract("M12")
@pytest.mark.parametrize("branch", BRANCHES)
def test_row_2_a_refused_write_stops_the_claim(branch):
    """A stale worker touches nothing."""
    assert isinstance(decide(now(branch, write_refused=True)), Leave)


@pytest.mark.parametrize(("before", "verdict"), [(3, Release), (4, Unknown)])
def test_row_3_an_unreadable_remote_proves_nothing(before, verdict):
    """The next claim looks again; after five tries a person is asked."""
    assert isinstance(decide(now(Unreadable("x"), unreadable_before=before)), verdict)


def test_row_4_a_mark_before_any_start_is_the_next_claims_matter():
    """Another claim could push one after all; nothing was begun without."""
    assert isinstance(decide(now(MARKED)), Leave)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("facts", [{"own_start": True}, {"earlier_start": True, "attested": True}])
def test_row_5_the_modes_are_never_mixed(facts, stop):
    """A mark beside a start without one is for a person, whatever was attested."""
    verdict = decide(now(MARKED, stop=stop, **facts))

    assert (type(verdict), verdict.code) == (Unknown, "modes_mixed")


@pytest.mark.contract("M07")
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("facts", [{}, {"earlier_start": True}, {"own_start": True}])
def test_row_6_what_was_published_is_recorded(facts, stop):
    """The payload that was kept before the push comes back, under a cancel too."""
    assert decide(now(PUBLISHED, stop=stop, tree_alive=True, **facts)) == Record(OBSERVATION, HEAD)


@pytest.mark.parametrize("stray", [OURS, THEIRS])
def test_row_7_a_branch_that_was_given_up_over_stays_as_it_is(stray):
    """The work ends as abandoned; with no stop on record, abandoning is still to come."""
    assert decide(now(stray, abandoned=True, stop=Stop.ABANDON)) == End()
    assert isinstance(decide(now(stray, abandoned=True)), Unknown)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("earlier_start", [True, False])
@pytest.mark.parametrize(("stray", "code"), [(OURS, LOST_PAYLOAD), (THEIRS, CLASH)])
def test_rows_8_and_9_a_branch_that_no_payload_names_is_unknown(stray, code, earlier_start, stop):
    """Ours without its payload, or somebody else's: neither is built on or overwritten."""
    verdict = decide(now(stray, stop=stop, earlier_start=earlier_start, attested=True))

    assert (type(verdict), verdict.code) == (Unknown, code)


def test_row_10_work_that_was_begun_by_a_mark_does_not_go_on_without():
    """Its earlier claims are shut out by a guard alone, and none can be pushed."""
    verdict = decide(now(NoBranch(), marked_start=True, earlier_start=True, attested=True))

    assert (type(verdict), verdict.code) == (Unknown, "modes_mixed")


def test_row_11_a_claim_that_is_over_leaves_its_start_to_the_next():
    """It may not even ask a person."""
    assert isinstance(decide(now(NoBranch(), own_start=True, lease_live=False)), Leave)


@pytest.mark.contract("M06")
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize(
    "facts",
    [{"earlier_start": True}, {"own_start": True}, {"own_start": True, "attested": True}],
)
def test_row_12_no_branch_after_a_start_is_unknown_under_a_stop_too(facts, stop):
    """A push may still be under way, or its branch was merged and deleted."""
    for kept in (False, True):
        verdict = decide(now(NoBranch(), stop=stop, tree_alive=True, kept=kept, **facts))

        assert (type(verdict), verdict.code) == (Unknown, UNPUBLISHED)


@pytest.mark.parametrize("stop", list(Stop))
@pytest.mark.parametrize("facts", [{}, {"earlier_start": True, "attested": True}])
def test_row_13_a_stop_ends_what_was_never_started(facts, stop):
    """Or what a person vouches for; nothing is pushed for it."""
    assert decide(now(NoBranch(), stop=stop, **facts)) == End()


def test_row_14_an_earlier_tree_is_ended_first():
    """A person's word is held against this host; what will not die is left to another."""
    vouched = {"earlier_start": True, "attested": True, "tree_alive": True}

    assert decide(now(NoBranch(), **vouched)) == KillFirst()
    assert isinstance(decide(now(NoBranch(), **vouched, tree_immortal=True)), Release)


@pytest.mark.contract("M05")
def test_row_15_without_a_stable_identity_nothing_begins():
    """Fail closed."""
    assert decide(now(NoBranch(), may_bind=False)) == FailClosed()


@pytest.mark.contract("M04")
@pytest.mark.parametrize("facts", [{}, {"earlier_start": True, "attested": True}])
def test_row_16_only_what_was_never_started_or_is_vouched_for_begins(facts):
    """Nothing was permitted, so nothing can have been pushed."""
    assert decide(now(NoBranch(), **facts)) == Begin()


def test_nothing_begins_in_any_other_situation():
    """Over every combination of facts: no run after a start that nobody vouches for."""
    flags = ("marked_start", "earlier_start", "attested", "own_start", "abandoned", "write_refused",
             "tree_alive", "tree_immortal", "may_bind", "lease_live")  # fmt: skip
    recorded = (None, digest(OBSERVATION), digest(b"another"))
    for branch, stop, result in itertools.product(BRANCHES, STOPS, recorded):
        for values in itertools.product((False, True), repeat=len(flags)):
            facts = dict(zip(flags, values, strict=True))
            verdict = decide(now(branch, stop=stop, recorded=result, **facts))

            if isinstance(verdict, Begin):
                assert (branch, stop, result) == (NoBranch(), None, None)
                assert not any(facts[one] for one in ("own_start", "marked_start", "write_refused"))
                assert facts["attested"] or not facts["earlier_start"]
            if isinstance(verdict, End):
                assert stop is not None
                assert branch != NoBranch() or not facts["own_start"]
