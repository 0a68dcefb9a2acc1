"""The worker dies after GitHub has stored the request and before its answer is recorded (O11)."""

from __future__ import annotations

import pytest
from fixtures.command import Fencepost
from fixtures.github_site import PULLS, REQUEST, Site
from fixtures.seen import Seen

from app.kinds.request import pull_request_request
from app.store import activities


@pytest.mark.contract("O11", "G02", "L4")
def test_a_crash_before_the_answer_is_recorded_ends_with_one_request(site: Site) -> None:
    """SIGKILL in mid-call, Redis wiped, all started anew: one POST, and its number is recorded."""
    seen = killed_in_mid_call(site)

    site.stack.build()

    pull = site.published_once(seen)
    assert (pull["number"], pull["head"]) == (1, seen.request.branch)
    assert operation(seen) in pull["body"]
    assert (site.posts(), site.posts(stored=True), seen.starts()) == (1, 1, 1)
    assert site.answers(seen) == ["adopted"]


@pytest.mark.contract("O11")
def test_explain_says_what_prevented_a_second_one(site: Site) -> None:
    """The key, the row that permitted the one call, who lost it, and GitHub's evidence for it."""
    seen = killed_in_mid_call(site)
    site.stack.build()
    pull = site.published_once(seen)

    said = fencepost(site)("explain", seen.attempt.id)

    assert said.code == 0, said.err
    _, _, told = said.out.partition("step pull_request: succeeded")
    for words in (
        f"bound to operation {operation(seen)[:12]}",
        "call 1.1 to the forge: create_pull_request; no other is sent before its answer is known",
        "fence 1 ended: its lease ran out, so nothing it writes is taken any more",
        "fence 2 taken by",
        "fence 2 proves call 1.1 to be adopted: ",
        "fence 2 recorded the result: green",
    ):
        before, found, told = told.partition(words)
        assert found, f"{words!r} does not follow {before!r}"
        if "proves" in words:
            evidence = told.splitlines()[0]
            assert f'"number":{pull["number"]}' in evidence
            assert f'"head_sha":"{pull["head_sha"]}"' in evidence


def killed_in_mid_call(site: Site) -> Seen:
    """An attempt whose request GitHub has, and of whose answer nobody has heard; all are dead."""
    site.door.add_fault("stored_then_hang", method="POST", path=PULLS, seconds=60)
    seen = site.dispatch(site.change())
    site.stack.start_dispatcher()
    worker = site.stack.start_worker()
    site.stack.until(lambda: site.posts(stored=True))
    worker.kill()
    site.stack.throw_away()
    assert (site.answers(seen), seen.observation(REQUEST)) == ([], None)
    return seen


def operation(seen: Seen) -> str:
    """The key under which the request was asked for."""
    with seen.store.begin() as tx:
        return str(pull_request_request(activities.get(tx, seen.key(REQUEST)).request).operation)


def fencepost(site: Site) -> Fencepost:
    """`fencepost` beside the stack."""
    settings = site.stack.environment(site.stack.database.app_url)
    return Fencepost(site.stack.home, settings)
