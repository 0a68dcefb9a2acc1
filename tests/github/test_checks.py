"""Checks of the exact head are watched until they conclude, and nobody holds a slot meanwhile."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest
from fixtures.github_site import NAME, Site
from fixtures.watching import KIND, SECRET, Watching, a_receiver, watching

from app.store import evidence
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

pytestmark = pytest.mark.contract("O10", "G08")


@pytest.mark.contract("O12")
def test_a_run_ends_once_its_checks_have_passed(site: Site) -> None:
    """Pending, looked at again, passed: done. No start, no call, and no slot between looks."""
    one = watching(site)
    one.check(status="in_progress")
    one.site.door.set_status(NAME, one.sha, "lint", "success")
    one.begin()
    one.stack.until(one.waits)
    assert one.looks() == ["waiting: 2 of 3 checks go on: build, suite of ci"]
    assert one.seen.open_claims() == 0

    one.check(conclusion="success")

    outcome, said = one.end()
    assert outcome == "done"
    assert [(c["name"], c["source"], c["conclusion"]) for c in said["checks"]] == [
        ("build", "check_run", "success"), ("lint", "status", "success"),
    ]  # fmt: skip
    assert (said["watch"]["head_sha"], said["watch"]["seen_head"]) == (one.sha, one.sha)
    with one.stack.store.begin() as tx:
        assert not evidence.starts_of(tx, one.seen.key(KIND))
        assert not evidence.calls_of(tx, one.seen.key(KIND))
    assert site.posts() == 1
    assert site.door.pulls(NAME)[0]["state"] == "open"  # it never merges


@pytest.mark.parametrize("conclusion", ["failure", "timed_out", "action_required", "stale"])
def test_a_check_that_fails_fails_the_attempt_and_is_named(site: Site, conclusion: str) -> None:
    """At once, whatever else goes on; the same input fails again, so nothing is tried again."""
    one = watching(site)
    one.check("build", conclusion=conclusion)
    one.check("slow", status="queued")
    one.begin()

    outcome, said = one.end()

    assert outcome == "failed"
    assert said["frictions"][0] == {
        "code": "forge_check_failed", "detail": f"build: {conclusion}",
    }  # fmt: skip
    assert (one.looks(), one.asked()) == ([], 0)


def test_a_status_that_fails_counts_like_a_check(site: Site) -> None:
    """Only the newest of a context counts, and our own counts not at all."""
    one = watching(site)
    site.door.set_status(NAME, one.sha, "fencepost", "failure")
    site.door.set_status(NAME, one.sha, "ci/old", "failure")
    site.door.set_status(NAME, one.sha, "ci/old", "success")
    site.door.set_status(NAME, one.sha, "ci/new", "error")
    one.begin()

    outcome, said = one.end()

    assert (outcome, said["frictions"][0]["detail"]) == ("failed", "ci/new: error")


def test_skipped_and_neutral_pass(site: Site) -> None:
    """As GitHub's own merge button sees it."""
    one = watching(site)
    one.check("a", conclusion="skipped")
    one.check("b", conclusion="neutral")
    one.begin()

    assert one.end()[0] == "done"


def test_without_any_check_it_is_green_after_the_grace(site: Site) -> None:
    """What comes a moment later is not missed, and what never comes is said."""
    site.stack.settings["FENCEPOST_CHECKS_GRACE"] = "3"
    one = watching(site)
    one.begin()

    outcome, said = one.end()

    assert (outcome, said["watch"]["note"]) == ("done", "the commit has no checks")
    assert len(one.looks()) == 1


def test_a_head_that_moved_is_not_what_was_published(site: Site) -> None:
    """Whatever the checks of the new commit say."""
    one = watching(site)
    one.check(status="in_progress")
    one.begin()
    one.stack.until(one.waits)
    branch = site.door.pulls(NAME)[0]["head"]

    moved = site.door.push(NAME, branch)

    outcome, said = one.end()
    assert (outcome, said["frictions"][0]["code"]) == ("failed", "request_head_replaced")
    assert said["watch"]["seen_head"] == moved


def test_a_closed_request_ends_the_watch(site: Site) -> None:
    """Unmerged; nobody waits for checks of what will never be."""
    one = watching(site)
    one.check(status="in_progress")
    one.begin()
    one.stack.until(one.waits)

    site.door.close_pull(NAME, one.number)

    outcome, said = one.end()
    assert (outcome, said["frictions"][0]["code"]) == ("failed", "request_closed")


def test_a_merged_request_is_watched_to_the_end(site: Site) -> None:
    """Somebody was in a hurry; the checks of what was merged still say what they say."""
    one = watching(site)
    one.check(status="in_progress")
    one.begin()
    one.stack.until(one.waits)
    site.door.merge_pull(NAME, one.number)

    one.check(conclusion="success")

    outcome, said = one.end()
    assert (outcome, said["watch"]["state"]) == ("done", "merged")


def test_the_timeout_of_the_step_ends_the_watch(site: Site) -> None:
    """It fails with a code of its own, and names what it waited for."""
    one = watching(site, timeout_s=3)
    one.check(status="in_progress")
    one.begin()

    outcome, said = one.end()

    assert outcome == "failed"
    assert said["frictions"][0]["code"] == "checks_timed_out"
    assert "build" in said["frictions"][0]["detail"]


@pytest.mark.contract("O12", "O06")
def test_it_waits_for_days_and_through_restarts_of_everything(site: Site) -> None:
    """Dozens of looks, days apart, all processes killed and Redis wiped: nobody is asked."""
    one = watching(site, timeout_s=7 * 24 * 3600)
    one.check(status="in_progress")
    one.begin()
    one.stack.until(one.waits)
    for count in range(2, 14):
        one.hurry(timedelta(hours=6))
        one.stack.until(lambda wanted=count: len(one.looks()) >= wanted and one.waits())
        if count % 6 == 0:
            one.stack.throw_away()
            one.stack.build()
    assert one.asked() == 0

    one.check(conclusion="success")
    one.hurry()

    assert one.end()[0] == "done"
    assert max(one.pauses()) <= 75
    story = explained(one)
    assert "waiting: " in story
    assert f"{len(one.looks()) - 2} looks in between found nothing new" in story
    assert one.pauses()[0] < 8 < one.pauses()[3]


@pytest.mark.contract("G04")
def test_looks_without_news_cost_nothing(site: Site) -> None:
    """Every read of a look is conditional: the second look is answered by 304 alone."""
    one = watching(site)
    one.check(status="in_progress")
    one.begin()
    one.stack.until(one.waits)
    paths = [f"/repos/{NAME}/commits/{one.sha}/{what}"
             for what in ("check-runs", "check-suites", "status")]  # fmt: skip
    assert [site.door.count(path=path, status=304) for path in paths] == [0, 0, 0]

    one.hurry()

    one.stack.until(lambda: len(one.looks()) == 2)
    assert [site.door.count(path=path, status=304) for path in paths] == [1, 1, 1]
    assert [site.door.count(path=path, status=200) for path in paths] == [1, 1, 1]


@pytest.mark.contract("G04")
def test_a_limit_is_waited_for_and_is_no_failed_try(site: Site) -> None:
    """GitHub's own time wins over ours."""
    path = f"/repos/{NAME}/commits/*/check-runs"
    site.door.add_fault("rate_limit", method="GET", path=path, form="retry_after_429", seconds=2)
    one = watching(site)
    one.check(conclusion="success")
    one.begin()

    assert one.end()[0] == "done"
    (told,) = one.looks()
    assert told.startswith("limited: ")


def test_a_forge_that_does_not_answer_is_waited_for(site: Site) -> None:
    """For longer than any retry policy, within the step's own timeout; then all is well."""
    path = f"/repos/{NAME}/commits/*/status"
    site.door.add_fault("status", method="GET", path=path, status=502, times=12)
    one = watching(site)
    one.check(conclusion="success")
    one.begin()
    for count in range(1, 13):
        one.stack.until(lambda wanted=count: len(one.looks()) >= wanted and one.waits())
        one.hurry()

    assert one.end()[0] == "done"
    assert one.asked() == 0


def test_a_refusal_is_for_a_person(site: Site) -> None:
    """A credential that may not read checks is mended by somebody, and then it goes on."""
    one = watching(site)
    token = site.stack.settings["FENCEPOST_GITHUB_TOKEN"]
    site.door.change_token(
        token, permissions={"contents": "write", "pull_requests": "write", "metadata": "read"}
    )
    one.begin()

    one.stack.until(lambda: one.seen.unknown(KIND))

    assert one.seen.unknown(KIND) == "forge_refused"


@pytest.mark.contract("Q08")
@pytest.mark.parametrize("who", ["a worker", "no worker"])
def test_a_cancel_while_it_waits_ends_it_at_once_without_a_look(site: Site, who: str) -> None:
    """With no worker listening too: nothing is outside that would have to be reconciled."""
    one = watching(site)
    one.check(status="in_progress")
    one.begin()
    one.stack.until(one.waits)
    if who == "no worker":
        one.stack.roles[-1].kill()
    path = f"/repos/{NAME}/commits/{one.sha}/check-runs"
    before = site.door.count(path=path)

    cancel(one.stack.store, one.stack.world, LOCAL, one.seen.attempt.id, "not any more")

    outcome, said = one.end()
    assert (outcome, said["outcome"]) == ("canceled", "canceled")
    assert site.door.count(path=path) == before


@pytest.mark.contract("Q08")
def test_a_cancel_while_it_looks_ends_it_too(site: Site) -> None:
    """What the look saw is not recorded: somebody has said stop."""
    path = f"/repos/{NAME}/commits/*/status"
    site.door.add_fault("hang", method="GET", path=path, seconds=3)
    one = watching(site)
    one.check(conclusion="success")
    one.begin()
    one.stack.until(lambda: site.door.count(path=f"/repos/{NAME}/commits/{one.sha}/check-suites"))

    cancel(one.stack.store, one.stack.world, LOCAL, one.seen.attempt.id, "not any more")

    assert one.end()[0] == "canceled"


@pytest.mark.contract("G07")
def test_a_webhook_brings_the_look_forward(site: Site) -> None:
    """The next look would be half a minute away; the event makes it now, and the look decides."""
    one = hooked(site)
    slow(one)

    one.check(conclusion="success")

    assert one.end()[0] == "done"
    site.door.drain_deliveries()
    told = [each for each in site.door.deliveries() if each["statuses"]]
    assert {status for each in told for status in each["statuses"]} == {202}
    assert one.pauses()[-1] > 30  # it came before its time


@pytest.mark.contract("G07")
@pytest.mark.parametrize("what", ["repeated", "missing", "out of order"])
def test_webhooks_change_no_outcome(site: Site, what: str) -> None:
    """Lost, doubled or late: the look alone decides, sooner or later."""
    one = hooked(site)
    if what == "missing":
        site.door.skip_deliveries(100)
    if what == "repeated":
        site.door.repeat_deliveries(3)
    slow(one, hears=what != "missing")

    one.check(conclusion="success")
    if what == "out of order":
        site.door.drain_deliveries()
        for each in reversed(site.door.deliveries()):
            site.door.redeliver(each["id"])
    one.hurry()

    assert one.end()[0] == "done"
    site.door.drain_deliveries()
    assert one.heard() <= len(site.door.deliveries())


def explained(one: Watching) -> str:
    """What `fencepost explain` says of the attempt."""
    words = [sys.executable, "-P", "-m", "app.cli", "explain", one.seen.attempt.id]
    environment = dict(one.stack.environment(one.stack.database.app_url))
    return subprocess.run(
        words, env=environment, cwd=one.stack.home, capture_output=True, text=True, check=True
    ).stdout


def hooked(site: Site) -> Watching:
    """An attempt whose watch goes on, and a receiver that hears of it."""
    _, address = a_receiver(site)
    site.door.add_webhook(NAME, address, SECRET)
    one = watching(site)
    one.check(status="in_progress")
    one.begin()
    one.stack.until(one.waits)
    return one


def slow(one: Watching, *, hears: bool = True) -> None:
    """Look until the next look is far away; every change is heard of, or its time is brought on."""
    for turn in range(3):
        known = len(one.looks())
        one.check(status=("queued", "in_progress")[turn % 2])
        if not hears:
            one.hurry()
        one.stack.until(lambda than=known: len(one.looks()) > than and one.waits(), 60)
