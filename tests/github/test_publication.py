"""One request, whatever GitHub's answers become of; counted at the server."""

from __future__ import annotations

from typing import Any

import pytest
from fixtures.github_site import NAME, PULLS, REQUEST, Site

from app.events import Moment

pytestmark = pytest.mark.contract("G02", "G08")

LOST = [
    {"kind": "stored_then_status", "status": 502},
    {"kind": "stored_then_status", "status": 503},
    {"kind": "stored_then_reset"},
    {"kind": "cut_body"},
]


@pytest.mark.contract("O10", "O11")
def test_a_run_ends_with_one_request(site: Site) -> None:
    """Operation ref, branch and request are at GitHub; the request names its lineage."""
    seen = site.dispatch(site.change())
    site.stack.build()

    pull = site.published_once(seen)

    assert site.posts() == 1
    refs = site.door.refs(NAME)
    assert f"refs/fencepost/operations/{seen.request.operation}" in refs
    assert refs[f"refs/heads/{pull['head']}"] == pull["head_sha"]
    for word in (site.base, pull["head_sha"], seen.attempt.id, "fencepost operation="):
        assert word in pull["body"]
    assert site.door.secrets_seen() == []


@pytest.mark.parametrize(
    "fault", LOST, ids=lambda fault: f"{fault['kind']}{fault.get('status', '')}"
)
def test_a_lost_answer_costs_no_second_request(site: Site, fault: dict[str, Any]) -> None:
    """What was stored is found and adopted; the POST is not repeated, the author does not rerun."""
    site.door.add_fault(method="POST", path=PULLS, **fault)
    seen = site.dispatch(site.change())
    site.stack.build()

    site.published_once(seen)

    assert site.posts() == 1
    assert site.answers(seen) == ["adopted"]


@pytest.mark.contract("O11")
def test_a_worker_that_dies_with_githubs_answer_in_hand_leaves_one_request(site: Site) -> None:
    """GitHub accepted it, nothing was recorded: another process finds it and records its number."""
    seen = site.dispatch(site.change())
    site.stack.start_dispatcher()
    worker = site.stack.start_worker(f"{Moment.OPENED} kind={REQUEST}")
    site.stack.until(lambda: worker.is_stopped)
    assert site.answers(seen) == []
    worker.kill()
    site.stack.throw_away()

    site.stack.build()

    site.published_once(seen)
    assert (site.posts(), site.answers(seen)) == (1, ["adopted"])


def test_a_listing_that_lags_within_the_window_is_waited_for(site: Site) -> None:
    """What was stored shows itself a few looks later, and is adopted."""
    site.door.add_fault("stored_then_status", method="POST", path=PULLS)
    site.door.add_lag("list", looks=3)
    seen = site.dispatch(site.change())
    site.stack.build()

    site.published_once(seen)

    assert (site.posts(), site.answers(seen)) == (1, ["adopted"])


@pytest.mark.parametrize("kind", ["late_status", "reset"])
def test_an_answer_that_proves_nothing_is_for_a_person(site: Site, kind: str) -> None:
    """Nothing appears within the window: it is kept as unknown, and nothing is sent again."""
    site.door.add_fault(kind, method="POST", path=PULLS, seconds=0)
    seen = site.dispatch(site.change())
    site.stack.build()

    site.stack.until(lambda: seen.unknown(REQUEST))

    assert (seen.unknown(REQUEST), site.posts()) == ("unresolved_call", 1)
    assert site.stack.count("author") == 1


@pytest.mark.contract("G04")
@pytest.mark.parametrize(
    "form", ["primary_403", "retry_after_429", "secondary_reset_403", "content_403", "page_429"]
)
def test_a_limit_gives_the_slot_back_until_the_time_that_it_names(site: Site, form: str) -> None:
    """A limited POST has done nothing: its call is answered, and another follows, later."""
    site.door.add_fault("rate_limit", method="POST", path=PULLS, form=form, seconds=2)
    seen = site.dispatch(site.change())
    site.stack.build()

    site.stack.until(lambda: site.pauses(seen))
    (pause,) = site.pauses(seen)

    names_a_time = form != "content_403"
    assert (1 <= pause <= 14) if names_a_time else (60 <= pause <= 71), pause
    assert site.answers(seen) == ["refused"]
    if names_a_time:
        site.published_once(seen)
        assert (site.posts(), site.posts(stored=True)) == (2, 1)


@pytest.mark.contract("G04")
def test_a_limited_look_gives_the_slot_back_too(site: Site) -> None:
    """Looking is no call: there is no row of it, and it waits like any other."""
    site.door.add_fault(
        "rate_limit", method="GET", path=PULLS, form="retry_after_403", seconds=1, times=12
    )
    seen = site.dispatch(site.change())
    site.stack.build()

    site.stack.until(lambda: len(site.pauses(seen)) >= 2, 60)

    assert (site.posts(), seen.unknown(REQUEST)) == (0, None)


@pytest.mark.parametrize("form", ["invalid", "no_commits", "blank_sha"])
def test_a_head_that_is_not_seen_yet_is_waited_for(site: Site, form: str) -> None:
    """The refusals of the first seconds after a push end in one request."""
    site.door.add_lag("head", looks=2, form=form)
    seen = site.dispatch(site.change())
    site.stack.build()

    site.published_once(seen)

    assert (site.posts(), site.posts(stored=True)) == (3, 1)
    assert site.answers(seen) == ["refused", "refused", "created"]


def test_a_head_that_is_never_seen_ends_the_attempt(site: Site) -> None:
    """The wait is bounded; then it is a failure with GitHub's reason, and no agent runs again."""
    site.door.add_lag("head")
    seen = site.dispatch(site.change())
    site.stack.build()

    site.stack.until(lambda: seen.is_over)

    assert (seen.outcome, site.door.pulls(NAME)) == ("failed", [])
    assert "forge_refused" in str(seen.observation(REQUEST))
    assert site.stack.count("author") == 1


@pytest.mark.parametrize("status", [403, 404])
def test_a_refusal_for_good_is_the_result(site: Site, status: int) -> None:
    """Nothing was done and nothing will be: one POST, and the reason in the observation."""
    site.door.add_fault("status", method="POST", path=PULLS, status=status)
    seen = site.dispatch(site.change())
    site.stack.build()

    site.stack.until(lambda: seen.is_over)

    assert (seen.outcome, site.posts()) == ("failed", 1)
    assert site.answers(seen) == ["failed"]


@pytest.mark.contract("G03")
def test_a_strangers_request_on_the_head_is_for_a_person(site: Site) -> None:
    """Any request on the head forbids a create."""
    site.door.add_fault("rate_limit", method="POST", path=PULLS, form="retry_after_403", seconds=2)
    seen = site.dispatch(site.change())
    site.stack.build()
    site.stack.until(lambda: site.pauses(seen))
    site.door.open_pull(NAME, str(seen.request.branch))

    site.stack.until(lambda: seen.unknown(REQUEST))

    assert (seen.unknown(REQUEST), site.posts(stored=True)) == ("foreign_open", 0)
