"""The check run of an App: one of ours on a commit, whatever was repeated."""

from __future__ import annotations

import pytest
from doubles.github.server import GitHub
from fixtures.github_site import NAME

from app.config import Secret
from app.domain.identity import OperationId
from app.domain.pull_request import ForgeRequest, RequestState
from app.github.account import Account
from app.github.hub import Hub, Repository
from workers.forges.github.marking import mark

pytestmark = pytest.mark.contract("G06")


@pytest.fixture
def at(github: GitHub) -> Repository:
    """The repository, as an App sees it."""
    app = github.door.add_app("fencepost")
    github.door.install_app(app["id"], [NAME])
    account = Account(github.api, None, str(app["id"]), Secret("KEY", app["private_key"]))
    return Hub(account).repository(f"{github.url}/{NAME}.git")


@pytest.fixture
def request_(github: GitHub) -> ForgeRequest:
    """A request of ours."""
    sha = github.door.push(NAME, "work")
    operation = OperationId("a" * 64)
    return ForgeRequest(1, RequestState.OPEN, "T", "work", sha, "main", "http://x", operation)


def conclusions(github: GitHub, request: ForgeRequest) -> list[str]:
    return [one["conclusion"] for one in github.door.check_runs(NAME, request.head_sha)]


def test_a_second_mark_adds_nothing(github: GitHub, at: Repository, request_: ForgeRequest) -> None:
    """It is looked for before it is made."""
    assert (mark(at, request_, "passed"), mark(at, request_, "passed")) == (0, 0)

    assert conclusions(github, request_) == ["success"]


def test_a_double_is_taken_back_and_counted(
    github: GitHub, at: Repository, request_: ForgeRequest
) -> None:
    """The first one stays; nobody else's is touched."""
    twice = {
        "name": "fencepost", "head_sha": request_.head_sha, "external_id": request_.marker,
        "status": "completed", "conclusion": "success",
    }  # fmt: skip
    for _ in range(2):
        assert at.write("POST", f"{at.root}/check-runs", twice).is_good
    github.door.set_check(NAME, request_.head_sha, "build")

    assert mark(at, request_, "passed") == 1
    assert mark(at, request_, "passed") == 0
    assert sorted(conclusions(github, request_)) == ["neutral", "success", "success"]


def test_an_app_without_the_right_to_checks_gives_a_status(
    github: GitHub, request_: ForgeRequest
) -> None:
    """What is shown is the same."""
    app = github.door.add_app("plain", {"contents": "write", "statuses": "write"})
    github.door.install_app(app["id"], [NAME])
    account = Account(github.api, None, str(app["id"]), Secret("KEY", app["private_key"]))

    assert mark(Hub(account).repository(f"{github.url}/{NAME}.git"), request_, "passed") == 0

    assert [one["context"] for one in github.door.statuses(NAME, request_.head_sha)] == [
        "fencepost"
    ]
