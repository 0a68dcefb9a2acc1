"""The table of PROTOCOL §6, one test per row."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from app.domain.identity import OperationId
from app.domain.pull_request import (
    Adopt,
    AskPerson,
    Create,
    EndCanceled,
    ForgeRequest,
    KeepLooking,
    Lineage,
    RequestState,
    Trouble,
    permit,
)

OURS = Lineage(OperationId("a" * 64), "1" * 40, "main")
REQUEST = ForgeRequest(
    7, RequestState.OPEN, "Work", "fencepost/work", OURS.head_sha, "main", "url", OURS.operation
)
EVERY_SITUATION = [
    dict(zip(("unresolved", "window_passed", "stop"), values, strict=True))
    for values in itertools.product((False, True), repeat=3)
]
every_situation = pytest.mark.parametrize("situation", EVERY_SITUATION, ids=str)
every_state = pytest.mark.parametrize("state", RequestState)


@pytest.mark.contract("G02")
@every_situation
@every_state
def test_one_request_that_is_ours_is_adopted_as_it_is(state, situation):
    """Open, closed or merged, with or without an open call or a stop: what exists is recorded."""
    found = replace(REQUEST, state=state)

    assert permit([found], OURS, **situation) == Adopt(found)


@pytest.mark.contract("G03")
@every_situation
@pytest.mark.parametrize("marker", [None, OperationId("b" * 64)])
@pytest.mark.parametrize(
    ("state", "trouble"),
    [
        (RequestState.OPEN, Trouble.FOREIGN_OPEN),
        (RequestState.CLOSED, Trouble.FOREIGN_CLOSED),
        (RequestState.MERGED, Trouble.FOREIGN_MERGED),
    ],
)
def test_request_of_somebody_else_is_for_a_person(state, trouble, marker, situation):
    """A request without our marker has its own answer per state, and it is never a create."""
    answer = permit([replace(REQUEST, state=state, marker=marker)], OURS, **situation)

    assert isinstance(answer, AskPerson)
    assert answer.trouble is trouble
    assert "#7" in answer.reason


@pytest.mark.contract("G03")
@every_situation
@pytest.mark.parametrize(
    ("other", "trouble"),
    [({"head_sha": "2" * 40}, Trouble.HEAD_MOVED), ({"base": "develop"}, Trouble.BASE_CHANGED)],
)
def test_our_request_of_another_lineage_is_for_a_person(other, trouble, situation):
    """Our marker alone is not enough: head commit and base must be those of this attempt."""
    answer = permit([replace(REQUEST, **other)], OURS, **situation)

    assert isinstance(answer, AskPerson)
    assert answer.trouble is trouble


@pytest.mark.contract("G03")
@every_situation
def test_several_requests_are_for_a_person_even_if_one_is_ours(situation):
    """More than one request on a head is never resolved by choosing."""
    answer = permit([REQUEST, replace(REQUEST, number=8, marker=None)], OURS, **situation)

    assert isinstance(answer, AskPerson)
    assert answer.trouble is Trouble.SEVERAL
    assert "#7, #8" in answer.reason


@pytest.mark.contract("G02")
@pytest.mark.parametrize("window_passed", [False, True])
def test_nothing_found_and_no_open_call_permits_one_create(window_passed):
    """Only an empty head without an unresolved call is written to."""
    answer = permit([], OURS, unresolved=False, window_passed=window_passed, stop=False)

    assert answer == Create()


@pytest.mark.contract("G02")
@pytest.mark.parametrize("window_passed", [False, True])
def test_nothing_found_under_a_stop_ends(window_passed):
    """A cancel before any call has nothing to reconcile."""
    answer = permit([], OURS, unresolved=False, window_passed=window_passed, stop=True)

    assert answer == EndCanceled()


@pytest.mark.contract("G02")
@pytest.mark.parametrize("stop", [False, True])
def test_nothing_found_after_an_open_call_is_looked_for_within_the_window(stop):
    """An unresolved call is never followed by another; under a stop too it may still show."""
    answer = permit([], OURS, unresolved=True, window_passed=False, stop=stop)

    assert answer == KeepLooking()


@pytest.mark.contract("G02")
@pytest.mark.parametrize("stop", [False, True])
def test_nothing_found_after_the_window_of_an_open_call_is_unknown(stop):
    """Absence after the window proves nothing; a person decides, and a stop does not hide it."""
    answer = permit([], OURS, unresolved=True, window_passed=True, stop=stop)

    assert isinstance(answer, AskPerson)
    assert answer.trouble is Trouble.UNRESOLVED
