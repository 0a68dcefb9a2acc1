"""PyGithub itself against the double: every address in an answer leads back to it."""

from __future__ import annotations

import github as pygithub
import pytest
from doubles.github import Door
from doubles.hands import REPO, Client


@pytest.mark.usefixtures("described")
def test_library_walks_through_the_api(client: Client, door: Door) -> None:
    """It follows the addresses of answers, and finds nothing amiss with their form."""
    door.add_collaborator(full_name=REPO, login="carol")
    auth = pygithub.Auth.Token(client.token)
    library = pygithub.Github(
        base_url=client.github.api,
        auth=auth,
        retry=None,
        seconds_between_writes=0,
        seconds_between_requests=0,
    )
    repo = library.get_repo(REPO)

    pull = repo.create_pull(base="main", head="work", title="T", body="B", draft=True)
    pull.add_to_labels("fleet")
    pull.create_review_request(reviewers=["carol"])
    comment = pull.create_issue_comment("Hello.")
    comment.edit("Other.")
    commit = repo.get_commit(pull.head.sha)
    commit.create_status("success", context="fencepost", description="Green.")

    assert [each.number for each in repo.get_pulls(state="all", head="acme:work")] == [1]
    assert [each.name for each in pull.get_labels()] == ["fleet"]
    assert [each.body for each in pull.get_issue_comments()] == ["Other."]
    assert commit.get_combined_status().state == "success"
    assert [each.context for each in commit.get_statuses()] == ["fencepost"]
    assert commit.get_check_runs().totalCount == 0
    assert repo.compare("main", "work").ahead_by == 1
    assert repo.get_branch("work").commit.sha == pull.head.sha
    assert door.violations() == []


def test_library_names_refusals_by_their_kind(client: Client, door: Door) -> None:
    """Bad credentials, an unknown name, a rate limit: each its own exception."""
    base = client.github.api

    def library(token: str) -> pygithub.Github:
        return pygithub.Github(base_url=base, auth=pygithub.Auth.Token(token), retry=None)

    with pytest.raises(pygithub.BadCredentialsException):
        library("wrong").get_repo(REPO)
    with pytest.raises(pygithub.UnknownObjectException):
        library(client.token).get_repo("no/where")
    door.add_fault(kind="rate_limit", form="primary_403")
    with pytest.raises(pygithub.RateLimitExceededException):
        library(client.token).get_repo(REPO)


def test_library_buys_tokens_for_an_app(client: Client, door: Door) -> None:
    """Its own way of being an App works here."""
    app = door.add_app(slug="fencepost")
    door.install_app(app_id=app["id"], repositories=[REPO])
    auth = pygithub.Auth.AppAuth(app["client_id"], app["private_key"])
    integration = pygithub.GithubIntegration(auth=auth, base_url=client.github.api)

    installation = integration.get_repo_installation("acme", "widgets")
    repo = installation.get_github_for_installation().get_repo(REPO)
    sha = door.refs(full_name=REPO)["refs/heads/work"]
    run = repo.create_check_run("fencepost", sha, status="completed", conclusion="success")

    assert run.conclusion == "success"
    assert [each["name"] for each in door.check_runs(full_name=REPO, sha=sha)] == ["fencepost"]
