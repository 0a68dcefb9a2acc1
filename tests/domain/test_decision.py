"""Which decision is allowed of which unknown; the tables of §4 and §6 with a person's word."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from app.domain.decision import (
    FOUND,
    Decided,
    Decision,
    DecisionNotAllowed,
    Proof,
    allowed,
    answered_for,
    check,
)
from app.domain.errors import BadInput
from app.domain.failure import CLASS_OF
from app.domain.head import HeadMove, Heads, astray, heads_of, moves
from app.domain.identity import Fence, OperationId
from app.domain.operation import Absent, Mark
from app.domain.pull_request import (
    Adopt,
    AskPerson,
    Create,
    EndCanceled,
    ForgeRequest,
    KeepLooking,
    Lineage,
    MoveHeads,
    RequestState,
    Ruling,
    Trouble,
    permit,
)
from app.domain.recovery import Close, Execute, Situation, Stop, Unknown, decide
from app.verify.unknowns import OF_CALLS, OF_REF, OTHERWISE

OURS = Lineage(OperationId("a" * 64), "1" * 40, "main")
REQUEST = ForgeRequest(
    7, RequestState.OPEN, "Work", "fencepost/work", OURS.head_sha, "main", "url", OURS.operation
)
EVERY_CODE = list(itertools.product(Proof, CLASS_OF))
GUARD = MoveHeads((HeadMove("work", "1" * 40, None),))
VOUCHED = Ruling(is_vouched=True)


def word(decision: Decision, code: str = "unresolved_call", fence: int = 2) -> Decided:
    return Decided(Fence(fence), code, decision)


@pytest.mark.parametrize(("proof", "code"), EVERY_CODE)
def test_whatever_is_held_can_be_decided(proof: Proof, code: str) -> None:
    """Nothing is held for ever: there is a decision for it, and a line of what follows."""
    choices = allowed(proof, code)

    assert choices
    assert all(len(follows) > 20 for follows in choices.values())


@pytest.mark.parametrize(("proof", "code"), EVERY_CODE)
def test_verify_has_the_same_table_in_its_own_words(proof: Proof, code: str) -> None:
    """It is written down a second time there, so that neither can change alone."""
    table = OF_CALLS if proof is Proof.CALLS else OF_REF

    assert set(table.get(code, OTHERWISE)) == {str(one) for one in allowed(proof, code)}


@pytest.mark.parametrize(
    ("proof", "code", "decision"),
    [
        (Proof.REF, "claims_keep_ending", Decision.ATTEST_ABSENCE),
        (Proof.REF, "foreign_operation_ref", Decision.ABANDON),
        (Proof.REF, "closed_without_decision", Decision.LOOK_AGAIN),
        (Proof.CALLS, "unresolved_call", Decision.ADOPT),
        (Proof.CALLS, "foreign_open", Decision.ATTEST_ABSENCE),
    ],
)
def test_what_the_protocol_does_not_allow_is_refused(
    proof: Proof, code: str, decision: Decision
) -> None:
    """The refusal names what is allowed instead."""
    with pytest.raises(DecisionNotAllowed, match="allowed: "):
        check(proof, code, decision, 7 if decision is Decision.ADOPT else None)


@pytest.mark.parametrize(("decision", "number"), [(Decision.ADOPT, None), (Decision.LOOK_AGAIN, 7)])
def test_who_adopts_names_a_request_and_nobody_else_does(
    decision: Decision, number: int | None
) -> None:
    """A number that means nothing is not taken in silence."""
    with pytest.raises(BadInput):
        check(Proof.CALLS, "several", decision, number)


@pytest.mark.contract("M06", "A08")
def test_row_9_needs_a_persons_word_and_then_a_guard() -> None:
    """Without it the missing ref stays unknown; with it the guard comes before the start."""
    now = Situation(Fence(3), "a" * 64, Absent(), earlier_start=True)

    assert isinstance(decide(now), Unknown)
    assert decide(replace(now, attested=True)) == Execute(Mark.GUARDED, None)
    assert decide(replace(now, attested=True, stop=Stop.ABANDON)) == Close(None)
    assert isinstance(decide(replace(now, attested=True, own_start="1" * 40)), Unknown)
    assert isinstance(decide(replace(now, attested=True, branch_present=True)), Unknown)


@pytest.mark.contract("G01")
def test_row_10_is_closed_by_who_gave_the_work_up_over_the_branch() -> None:
    """Any other stop still asks about it."""
    now = Situation(Fence(3), "a" * 64, Absent(), branch_present=True, stop=Stop.ABANDON)

    assert isinstance(decide(now), Unknown)
    assert decide(replace(now, clash_abandoned=True)) == Close(None)
    assert isinstance(decide(replace(now, clash_abandoned=True, stop=None)), Unknown)


def test_a_word_counts_up_to_the_claim_that_it_is_about() -> None:
    """What a later claim began is not answered for."""
    said = [word(Decision.ATTEST_ABSENCE), word(Decision.LOOK_AGAIN, fence=5)]

    assert answered_for(said, "unresolved_call") == 2
    assert answered_for(said, "operation_ref_missing") == 0


@pytest.mark.contract("G01")
def test_each_attested_absence_has_the_next_name() -> None:
    """Names are a function of the activity and its decisions, whichever claim comes to them."""
    attested, abandoned = word(Decision.ATTEST_ABSENCE), word(Decision.ABANDON, fence=9)
    again = replace(attested, fence=Fence(5))

    assert heads_of("w", []) == Heads((), "w", Fence(0))
    assert heads_of("w", [attested]) == Heads(("w",), "w-2", Fence(2))
    assert heads_of("w", [attested, again]) == Heads(("w", "w-2"), "w-3", Fence(5))
    assert heads_of("w", [attested, abandoned]) == Heads(("w", "w-2"), None, Fence(9))
    assert heads_of("w", [word(Decision.ABANDON, "several")]) == Heads((), "w", Fence(0))


@pytest.mark.contract("L4")
def test_the_old_name_goes_in_the_step_in_which_the_new_one_comes() -> None:
    """What is left to do follows from what is there, so that a crash in between goes on."""
    heads, sha = heads_of("w", [word(Decision.ATTEST_ABSENCE)]), "1" * 40
    gone, made = HeadMove("w", sha, None), HeadMove("w-2", None, sha)

    assert moves(heads, {"w": sha}, sha, stop=False) == [gone, made]
    assert moves(heads, {"w": sha, "w-2": sha}, sha, stop=False) == [gone]
    assert moves(heads, {}, sha, stop=False) == [made]
    assert moves(heads, {"w-2": sha}, sha, stop=False) == []
    assert moves(heads, {"w": sha}, sha, stop=True) == [gone]
    assert astray(heads, {"w": "2" * 40}, sha) == "w"
    assert astray(heads, {"w": sha}, sha) is None


@pytest.mark.contract("G02")
def test_after_a_persons_word_the_branch_goes_the_window_passes_and_then_one_call() -> None:
    """In this order, each only when nothing is found."""
    free = {"unresolved": False, "stop": False}

    guarded = replace(VOUCHED, guard=GUARD)
    assert permit([], OURS, **free, window_passed=True, ruling=guarded) == GUARD
    assert permit([], OURS, **free, window_passed=False, ruling=VOUCHED) == KeepLooking()
    assert permit([], OURS, **free, window_passed=True, ruling=VOUCHED) == Create()
    assert permit([REQUEST], OURS, **free, window_passed=False, ruling=guarded) == Adopt(REQUEST)
    stopped = permit([], OURS, unresolved=False, window_passed=True, stop=True, ruling=VOUCHED)
    assert stopped == EndCanceled()


@pytest.mark.contract("G02", "G03")
@pytest.mark.parametrize("unresolved", [True, False])
def test_a_named_request_is_adopted_only_where_it_is(unresolved: bool) -> None:
    """By whoever it is; one that is not on the head is not believed, and forbids a create."""
    foreign = replace(REQUEST, marker=None)
    facts = {"unresolved": unresolved, "window_passed": True, "stop": False}

    assert permit([foreign], OURS, **facts, ruling=Ruling(adopts=7)) == Adopt(foreign)
    for found in ([], [foreign]):
        answer = permit(found, OURS, **facts, ruling=Ruling(adopts=8))
        assert isinstance(answer, AskPerson)
        assert answer.trouble is Trouble.MISSING
    assert permit([REQUEST], OURS, **facts, ruling=Ruling(adopts=8)) == Adopt(REQUEST)


@pytest.mark.contract("G03", "L9")
def test_abandoned_work_ends_only_without_a_request_of_ours_that_lives() -> None:
    """Others' requests stay as they are; a result that is found wins."""
    stopped = {"unresolved": False, "window_passed": False, "stop": True}
    ruling = Ruling(is_abandoned=True)
    moved = replace(REQUEST, head_sha="2" * 40)

    assert permit([replace(REQUEST, marker=None)], OURS, **stopped, ruling=ruling) == EndCanceled()
    assert isinstance(permit([moved], OURS, **stopped, ruling=ruling), AskPerson)
    closed = replace(moved, state=RequestState.CLOSED)
    assert permit([closed], OURS, **stopped, ruling=ruling) == EndCanceled()
    assert permit([REQUEST], OURS, **stopped, ruling=ruling) == Adopt(REQUEST)


@pytest.mark.contract("G03")
def test_a_strangers_open_request_is_not_closed_by_who_abandons() -> None:
    """Its branch stays; while it is open the forge refuses a second one there."""
    ruling = Ruling(is_abandoned=True, is_vouched=True, guard=GUARD)
    stopped = {"unresolved": False, "window_passed": True, "stop": True}
    foreign = replace(REQUEST, marker=None)

    assert permit([foreign], OURS, **stopped, ruling=ruling) == EndCanceled()
    closed = replace(foreign, state=RequestState.CLOSED)
    assert permit([closed], OURS, **stopped, ruling=ruling) == GUARD


def test_every_trouble_on_the_head_may_be_adopted_or_left() -> None:
    """But for those that have tables of their own."""
    apart = {Trouble.UNRESOLVED, Trouble.CLASH}

    assert {str(one) for one in Trouble if one not in apart} == set(FOUND)
