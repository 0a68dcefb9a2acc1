"""What happens on the way: credentials that run out, rules, people, and what is seen of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.github_site import NAME, REQUEST, Site

from app.domain.work_order import MergeStrategy, Style, Supersede
from app.kinds import author
from app.transitions.change import LOCAL
from app.transitions.dispatch import Base
from app.transitions.retry import retry


def waiting(site: Site) -> str:
    """A command that ends only once there is a file `go` outside."""
    wait = f"until [ -e {site.stack.outside}/go ]; do sleep 0.05; done"
    return f"{site.stack.counted('author')}; {wait}; echo 'y = 2' >> a.py"


def go(site: Site) -> None:
    (site.stack.outside / "go").touch()


@pytest.fixture
def app(site: Site) -> Site:
    """The same stack, as an App."""
    app = site.door.add_app("fencepost")
    site.door.install_app(app["id"], [NAME])
    del site.stack.settings["FENCEPOST_GITHUB_TOKEN"]
    key = site.stack.outside / "key.pem"
    key.write_text(app["private_key"])
    site.stack.settings |= {
        "FENCEPOST_GITHUB_APP": str(app["id"]), "FENCEPOST_GITHUB_APP_KEY_FILE": str(key),
    }  # fmt: skip
    return site


@pytest.mark.contract("G05")
@pytest.mark.parametrize("what", ["revoked", "ran out"])
def test_a_credential_that_ends_in_mid_run_costs_no_second_run(app: Site, what: str) -> None:
    """The push is repeated with a fresh token and the same commit; the agent ran once."""
    seen = app.dispatch(waiting(app))
    app.stack.build()
    app.stack.until(lambda: app.stack.count("author"))

    if what == "revoked":
        app.door.revoke_all()
    else:
        app.door.advance(3700)
    go(app)

    app.published_once(seen)
    assert (seen.starts(), app.posts()) == (1, 1)


@pytest.mark.contract("G05")
def test_an_app_ends_with_one_request(app: Site) -> None:
    """Few tokens are minted, each for the one repository."""
    seen = app.dispatch(app.change())
    app.stack.build()

    pull = app.published_once(seen)

    assert app.door.count(path="*/access_tokens") <= 2
    (run,) = app.door.check_runs(NAME, pull["head_sha"])
    assert (run["name"], run["conclusion"]) == ("fencepost", "success")
    assert run["external_id"] in pull["body"]
    assert app.door.statuses(NAME, pull["head_sha"]) == []


@pytest.mark.contract("G05")
def test_a_credential_that_may_no_longer_push_is_said_and_waited_for(site: Site) -> None:
    """A finished result is pushed again with growing pauses; nothing is run again for it."""
    seen = site.dispatch(waiting(site))
    site.stack.build()
    site.stack.until(lambda: site.stack.count("author"))
    token = site.stack.settings["FENCEPOST_GITHUB_TOKEN"]
    may = {"contents": "write", "pull_requests": "write", "statuses": "write"}
    site.door.change_token(token, permissions={**may, "contents": "read"})
    go(site)

    def tries() -> int:
        return site.stack.logs().count("not published yet: ")

    site.stack.until(lambda: tries() >= 3)
    seen_tries = tries()
    site.door.change_token(token, permissions=may)

    site.published_once(seen)
    assert (seen.starts(), site.posts()) == (1, 1)
    assert seen_tries < 6


@pytest.mark.contract("E02", "S03")
def test_the_credential_is_nowhere_where_it_must_not_be(site: Site) -> None:
    """Not in the agent's environment, an address, an argument, a file, a log or a row."""
    token = site.stack.settings["FENCEPOST_GITHUB_TOKEN"]
    command = f"env > {site.stack.outside}/env; ps axww -o args > {site.stack.outside}/ps"
    seen = site.dispatch(f"{site.change()}; {command}; git config --list --show-origin >> a.py")
    site.stack.build()
    pull = site.published_once(seen)

    assert "FENCEPOST_GITHUB" not in (site.stack.outside / "env").read_text()
    for one in ("env", "ps"):
        assert token not in (site.stack.outside / one).read_text()
    for file in (one for one in site.stack.home.rglob("*") if one.is_file()):
        assert token.encode() not in file.read_bytes(), file
    assert token not in pull["body"] + site.stack.logs()
    assert site.door.secrets_seen() == []


@pytest.mark.contract("G06")
def test_a_lost_answer_about_a_check_run_fails_nothing(app: Site) -> None:
    """It is not sent again; the observation says that it may not be there."""
    app.door.add_fault("stored_then_status", method="POST", path=f"/repos/{NAME}/check-runs")
    app.door.add_fault("stored_then_reset", method="POST", path=f"/repos/{NAME}/pulls")
    seen = app.dispatch(app.change())
    app.stack.build()

    pull = app.published_once(seen)

    assert len(app.door.check_runs(NAME, pull["head_sha"])) == 1
    assert "status: GitHub" in str(seen.observation(REQUEST))


def test_a_credential_that_was_revoked_is_for_a_person(site: Site) -> None:
    """What is at the forge cannot be seen, so nothing is sent; the reason is GitHub's."""
    seen = site.dispatch(waiting(site))
    site.stack.build()
    site.stack.until(lambda: site.stack.count("author"))
    site.door.add_fault("status", path=f"/repos/{NAME}*", status=401, times=1000)
    go(site)

    site.stack.until(lambda: seen.unknown(REQUEST))

    assert (seen.unknown(REQUEST), site.posts()) == ("forge_refused", 0)


@pytest.mark.contract("L4")
def test_a_refused_branch_is_the_observation(site: Site) -> None:
    """A rule against the branch is published alone, and nothing runs again."""
    site.door.add_rule(NAME, "refs/heads/fencepost/*")
    seen = site.dispatch(site.change())
    site.stack.build()

    site.stack.until(lambda: seen.is_over)

    assert (seen.outcome, site.door.pulls(NAME)) == ("failed", [])
    assert "publication_refused" in str(seen.observation())
    assert site.stack.count("author") == 1


@pytest.mark.contract("L4")
def test_where_custom_refs_are_refused_the_chain_is_a_branch(site: Site) -> None:
    """The same commits and the same compare-and-swap, under refs/heads (PROTOCOL §7)."""
    site.door.add_rule(NAME, "refs/fencepost/*")
    seen = site.dispatch(site.change())
    site.stack.build()

    site.published_once(seen)

    operation = seen.request.operation
    assert f"refs/heads/fencepost/operations/{operation}" in site.door.refs(NAME)
    assert not site.door.refs(NAME, "refs/fencepost/")


@pytest.mark.contract("L4")
def test_where_every_push_is_refused_the_refusal_is_the_observation(site: Site) -> None:
    """No mark and no branch: the one push says so, and nothing runs again (PROTOCOL §7)."""
    site.door.add_rule(NAME, "refs/fencepost/*")
    site.door.add_rule(NAME, "refs/heads/fencepost/*")
    seen = site.dispatch(site.change())
    site.stack.build()

    site.stack.until(lambda: seen.is_over)

    assert (seen.outcome, site.door.pulls(NAME)) == ("failed", [])
    assert "publication_refused" in str(seen.observation())
    assert site.stack.count("author") == 1


@pytest.mark.contract("O08")
def test_the_next_writer_waits_until_the_request_is_merged_there(site: Site) -> None:
    """What a person does at GitHub is seen, and the next one begins from what was merged."""
    serial = {"merge": MergeStrategy.SERIAL, "merge_bound": 1}
    first = site.dispatch(site.change(), **serial)
    site.stack.build()
    site.stack.until(lambda: first.is_over)
    second = site.dispatch(f"{site.stack.counted('second')}; cat a.py > b.py", **serial)
    site.stack.until(lambda: site.door.count(path=f"/repos/{NAME}/pulls/1", status=304) >= 2)
    assert site.stack.count("second") == 0

    site.door.merge_pull(NAME, 1)

    site.stack.until(lambda: second.is_over)
    assert site.door.refs(NAME)["refs/heads/main"] == second.request.base
    assert len(site.door.pulls(NAME)) == 2


def test_a_request_wears_what_its_work_order_asks_for(site: Site) -> None:
    """Draft, labels, reviewers and a status; what GitHub will not have fails nothing."""
    site.door.add_collaborator(NAME, "ann")
    style = Style(draft=True, labels=("codemod",), reviewers=("ann", "nobody-here"))
    seen = site.dispatch(site.change(), style=style)
    site.stack.build()

    pull = site.published_once(seen)

    assert (pull["draft"], pull["labels"]) == (True, ["codemod"])
    assert "reviewers: GitHub says" in str(seen.observation(REQUEST))
    (status,) = site.door.statuses(NAME, pull["head_sha"])
    assert (status["context"], status["state"]) == ("fencepost", "success")


def test_a_later_attempt_closes_the_request_of_an_earlier_one(site: Site) -> None:
    """Where the work order says so; a stranger's request stays as it is."""
    stranger = site.door.push(NAME, "stranger")
    assert stranger
    by_hand = site.door.open_pull(NAME, "stranger")
    failing = {
        "steps": [
            {"name": "author", "kind": "author", "command": ["sh", "-c", site.change()]},
            {"name": "pull_request", "kind": "pull_request", "needs": ["author"]},
            {"name": "after", "kind": "command", "needs": ["pull_request"],
             "command": ["sh", "-c", f"[ -e {site.stack.outside}/go ]"]},
        ]
    }  # fmt: skip
    style = Style(supersede=Supersede.CLOSE)
    first = site.dispatch(site.change(), style=style, workflow=failing)
    site.stack.build()
    site.stack.until(lambda: first.is_over)
    assert first.outcome == "failed"
    go(site)

    base = Base("main", site.base)
    retry(site.stack.store, site.stack.world, LOCAL, first.attempt.task, base, "it may go on now")

    site.stack.until(lambda: len(site.door.pulls(NAME)) == 3)
    site.stack.until(lambda: site.door.pulls(NAME)[1]["state"] == "closed")
    states = {one["number"]: one["state"] for one in site.door.pulls(NAME)}
    assert states == {by_hand: "open", 2: "closed", 3: "open"}


def test_no_credential_in_the_worker_is_for_a_person(site: Site, tmp_path: Path) -> None:
    """It says what is missing; nothing is tried without it."""
    del site.stack.settings["FENCEPOST_GITHUB_TOKEN"]
    seen = site.dispatch(site.change())
    site.stack.build()

    site.stack.until(lambda: seen.unknown(author.NAME))

    assert (seen.unknown(author.NAME), seen.starts()) == ("credential_missing", 0)
