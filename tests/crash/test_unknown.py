"""A call without an answer: what a person may decide, and what the truth does when it comes late.

One operation has one open request at the forge, whoever is late.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.deciding import decide, decided, open_requests
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.domain.decision import Decision
from app.domain.pull_request import RequestState
from app.events import Moment
from app.kinds import pull_request
from app.repository.git import git
from app.repository.requests import open_request

Killed = Callable[[Role], None]
REQUEST = pull_request.NAME
AT_CALL = f"{Moment.CALLED} kind={REQUEST}"


def permitted(what: str) -> str:
    """The moment at which a claim of a pull request is permitted something."""
    return f"{Moment.DECIDED} kind={REQUEST} permission={what}"


@pytest.fixture
def held(stack: Stack, work: tuple[str, str], killed_at: Killed) -> Seen:
    """A worker died between the call's row and the call, and nobody can tell what came of it."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    killed_at(stack.start_worker(AT_CALL))
    stack.build()
    stack.until(lambda: seen.unknown(REQUEST) == "unresolved_call")
    return seen


@pytest.fixture
def late(stack: Stack, work: tuple[str, str]) -> tuple[Seen, Role, Role]:
    """The same with a worker that is only frozen, its call still to come; its successor held."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    frozen = stack.start_worker(AT_CALL)
    stack.until(lambda: frozen.is_stopped)
    successor = stack.start_worker()
    stack.until(lambda: seen.unknown(REQUEST) == "unresolved_call")
    return seen, frozen, successor


@pytest.mark.contract("G02", "L4")
def test_attested_absence_leads_to_one_call_under_a_new_name(stack: Stack, held: Seen) -> None:
    """The old branch is gone before the new call is sent; the author does not run again."""
    decide(stack, held, Decision.ATTEST_ABSENCE)

    stack.until(lambda: held.is_over)
    (request,) = held.requests
    assert (held.outcome, request.state) == ("done", RequestState.OPEN)
    assert request.head == f"{held.request.branch}-2"
    assert (held.head, branches(held)) == ("", [f"{held.request.branch}-2"])
    assert request.head_sha in held.published.decode()
    assert (stack.count("author"), stack.count("check")) == (1, 1)


@pytest.mark.contract("G02", "L9")
def test_abandoned_call_ends_without_a_request(stack: Stack, held: Seen) -> None:
    """The branch is removed, so that the old call can open nothing, and the attempt is over."""
    decide(stack, held, Decision.ABANDON)

    stack.until(lambda: held.is_over)
    assert (held.outcome, held.requests, branches(held)) == ("abandoned", [], [])


@pytest.mark.long
@pytest.mark.contract("G02")
def test_another_look_asks_again_while_nothing_shows(stack: Stack, held: Seen) -> None:
    """To look is always safe: no call is sent, and the work is held once more."""
    first = held.fence(REQUEST)

    decide(stack, held, Decision.LOOK_AGAIN)

    stack.until(lambda: held.fence(REQUEST) > first and held.unknown(REQUEST))
    assert (held.unknown(REQUEST), held.requests) == ("unresolved_call", [])
    assert decided(stack, held) == ["look_again"]


@pytest.mark.contract("G02", "O11")
@pytest.mark.parametrize("decision", [Decision.LOOK_AGAIN, Decision.ATTEST_ABSENCE])
def test_request_that_appears_before_the_next_claim_is_adopted(
    stack: Stack, late: tuple[Seen, Role, Role], decision: Decision
) -> None:
    """The frozen call arrives: whatever was decided, the request that is there is the one."""
    seen, frozen, successor = late
    successor.stop()
    frozen.go_on()
    stack.until(lambda: len(seen.requests) == 1)

    decide(stack, seen, decision)
    successor.go_on()

    stack.until(lambda: seen.is_over)
    (request,) = seen.requests
    assert (seen.outcome, request.state, request.head) == (
        "done", RequestState.OPEN, seen.request.branch,
    )  # fmt: skip
    assert f'"number":{request.number},' in (seen.observation(REQUEST) or b"").decode()


@pytest.mark.contract("G02", "L4")
def test_call_that_arrives_after_attested_absence_opens_nothing(
    stack: Stack, late: tuple[Seen, Role, Role]
) -> None:
    """Thawed after its successor has opened the request: the forge has no such branch any more."""
    seen, frozen, _ = late
    decide(stack, seen, Decision.ATTEST_ABSENCE)
    stack.until(lambda: seen.is_over)

    frozen.go_on()

    stack.until(lambda: frozen.says("claim.lost"))
    (request,) = seen.requests
    assert (request.state, request.head) == (RequestState.OPEN, f"{seen.request.branch}-2")


@pytest.mark.long
@pytest.mark.contract("G02", "L4")
def test_call_that_arrives_after_the_move_opens_nothing(
    stack: Stack, late: tuple[Seen, Role, Role]
) -> None:
    """Thawed while its successor waits for the window: refused, and one request comes of it."""
    seen, frozen, successor = late
    successor.kill()
    mover = stack.start_worker(f"{Moment.HEAD_MOVED} kind={REQUEST}")
    decide(stack, seen, Decision.ATTEST_ABSENCE)
    stack.until(lambda: mover.is_stopped)

    frozen.go_on()
    stack.until(lambda: frozen.says("claim.lost"))
    mover.go_on()

    stack.until(lambda: seen.is_over)
    assert [one.head for one in open_requests(seen)] == [f"{seen.request.branch}-2"]
    assert len(seen.requests) == 1


@pytest.mark.contract("G02", "L4")
def test_request_that_opens_between_look_and_move_is_adopted_as_it_is(
    stack: Stack, late: tuple[Seen, Role, Role]
) -> None:
    """The move closes it; the look after the window finds it, and no second one is opened."""
    seen, frozen, successor = late
    successor.kill()
    mover = stack.start_worker(permitted("MoveHeads"))
    decide(stack, seen, Decision.ATTEST_ABSENCE)
    stack.until(lambda: mover.is_stopped)

    frozen.go_on()
    stack.until(lambda: len(seen.requests) == 1)
    mover.go_on()

    stack.until(lambda: seen.is_over)
    (request,) = seen.requests
    assert (request.state, request.head) == (RequestState.CLOSED, seen.request.branch)
    assert f'"number":{request.number},' in (seen.observation(REQUEST) or b"").decode()


@pytest.mark.contract("G02", "L4", "M12")
def test_stale_move_does_not_close_what_its_successor_adopted(
    stack: Stack, late: tuple[Seen, Role, Role]
) -> None:
    """Frozen between look and move past its lease: the forge refuses it by the new name."""
    seen, frozen, successor = late
    successor.kill()
    stale = stack.start_worker(permitted("MoveHeads"))
    decide(stack, seen, Decision.ATTEST_ABSENCE)
    stack.until(lambda: stale.is_stopped)
    frozen.go_on()
    stack.until(lambda: len(seen.requests) == 1)
    frozen.kill()
    stack.start_worker()
    stack.until(lambda: seen.is_over)

    stale.go_on()

    stack.until(lambda: stale.says("claim.lost"))
    (request,) = seen.requests
    assert (seen.outcome, request.state, request.head) == (
        "done", RequestState.OPEN, seen.request.branch,
    )  # fmt: skip


@pytest.mark.contract("G02", "L4")
@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(f"{Moment.HEAD_MOVED} kind={REQUEST}", id="after the move"),
        pytest.param(
            f"{Moment.OPENED} kind={REQUEST}", id="after the new call", marks=pytest.mark.long
        ),
    ],
)
def test_decision_survives_the_worker_that_carries_it_out(
    stack: Stack, held: Seen, killed_at: Killed, moment: str
) -> None:
    """Killed on the way and everything rebuilt: the next claim goes on from what is there."""
    stack.throw_away()
    stack.start_dispatcher()
    worker = stack.start_worker(moment)
    decide(stack, held, Decision.ATTEST_ABSENCE)
    killed_at(worker)

    stack.build()

    stack.until(lambda: held.is_over)
    assert [one.head for one in held.requests] == [f"{held.request.branch}-2"]
    assert held.outcome == "done"


@pytest.mark.long
@pytest.mark.contract("G02", "L4")
def test_second_call_that_is_lost_too_is_held_and_attested_again(
    stack: Stack, held: Seen, killed_at: Killed
) -> None:
    """Every attested absence has a name of its own; both old ones are gone."""
    stack.throw_away()
    stack.start_dispatcher()
    worker = stack.start_worker(AT_CALL)
    decide(stack, held, Decision.ATTEST_ABSENCE)
    killed_at(worker)
    stack.build()
    stack.until(lambda: held.unknown(REQUEST))
    assert (held.unknown(REQUEST), held.requests) == ("unresolved_call", [])

    decide(stack, held, Decision.ATTEST_ABSENCE)

    stack.until(lambda: held.is_over)
    assert branches(held) == [f"{held.request.branch}-3"]
    assert [one.head for one in open_requests(held)] == [f"{held.request.branch}-3"]


@pytest.mark.contract("G03")
@pytest.mark.parametrize("decision", [Decision.ADOPT, Decision.ABANDON])
def test_request_of_somebody_else_is_adopted_or_left(
    stack: Stack, work: tuple[str, str], killed_at: Killed, decision: Decision
) -> None:
    """A person's own request on the branch is named by number, or the work ends without one."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    killed_at(stack.start_worker(permitted("Create")))
    number = open_request(seen.mirror, "By hand", "Mine.", str(seen.request.branch), "main").number
    stack.build()
    stack.until(lambda: seen.unknown(REQUEST) == "foreign_open")

    decide(stack, seen, decision, number if decision is Decision.ADOPT else None)

    stack.until(lambda: seen.is_over)
    assert [(one.number, one.state) for one in seen.requests] == [(number, RequestState.OPEN)]
    assert seen.outcome == ("done" if decision is Decision.ADOPT else "abandoned")


@pytest.mark.long
@pytest.mark.contract("G03")
def test_only_what_the_forge_holds_is_adopted(
    stack: Stack, work: tuple[str, str], killed_at: Killed
) -> None:
    """A number that is not on the work's branch is not believed: the person is asked again."""
    seen = stack.seen(stack.dispatch(*work))
    stack.start_dispatcher()
    killed_at(stack.start_worker(permitted("Create")))
    open_request(seen.mirror, "By hand", "Mine.", str(seen.request.branch), "main")
    stack.build()
    stack.until(lambda: seen.unknown(REQUEST) == "foreign_open")

    decide(stack, seen, Decision.ADOPT, 99)

    stack.until(lambda: seen.unknown(REQUEST) == "request_missing")
    assert seen.observation(REQUEST) is None


def branches(seen: Seen) -> list[str]:
    """The candidate's branches at the forge, under whatever name."""
    prefix = "refs/heads/"
    found = git(
        "for-each-ref", "--format=%(refname)", f"{prefix}fencepost", git_dir=seen.mirror.git_dir
    )
    return [name.removeprefix(prefix) for name in found.splitlines()]
