"""Apps: what a signed token buys, for how long, and what only an App may do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jwt
import pytest
from doubles.github import Door
from doubles.hands import REPO, Client, Reply

RUNS = f"/repos/{REPO}/check-runs"


@dataclass
class Installed:
    """An App with its key, installed on the repository."""

    app: dict[str, Any]
    number: int
    client: Client

    def signed(self, **claims: Any) -> Client:
        now = int(time.time())
        told = {"iat": now - 10, "exp": now + 300, "iss": str(self.app["id"]), **claims}
        key = self.app["private_key"]
        return Client(self.client.github, jwt.encode(told, key, algorithm="RS256"))

    def buy(self, body: Any = None) -> Reply:
        path = f"/app/installations/{self.number}/access_tokens"
        return self.signed().ask("POST", path, body or {})

    def with_token(self, body: Any = None) -> Client:
        return Client(self.client.github, self.buy(body).body["token"])


@pytest.fixture
def installed(client: Client, door: Door) -> Installed:
    app = door.add_app(slug="fencepost")
    number = door.install_app(app_id=app["id"], repositories=[REPO])
    return Installed(app, number, client)


@pytest.mark.usefixtures("described")
def test_app_finds_its_installation_and_buys_a_token_for_an_hour(
    installed: Installed, door: Door
) -> None:
    """All by GitHub's description; the secret is in no record."""
    signed = installed.signed()
    found = signed.ask("GET", f"/repos/{REPO}/installation").body
    signed.ask("GET", "/app")
    signed.ask("GET", "/app/installations")
    signed.ask("GET", f"/app/installations/{installed.number}")
    bought = installed.buy({"repositories": ["widgets"], "permissions": {"contents": "read"}})
    token = Client(installed.client.github, bought.body["token"])

    assert found["id"] == installed.number
    assert bought.status == 201
    assert token.ask("GET", "/installation/repositories").body["total_count"] == 1
    assert token.open().status == 403
    assert token.ask("GET", "/user").status == 403
    assert door.violations() == []
    assert bought.body["token"] not in str(door.requests())


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        (lambda now: {"exp": 1}, "'Expiration time' claim ('exp') must be"),
        (lambda now: {"exp": now + 3600}, "too far in the future"),
        (lambda now: {"iat": now + 600}, "'Issued at' claim"),
        (lambda now: {"iss": "4711"}, "Integration not found"),
    ],
)
def test_signed_token_must_be_right(
    installed: Installed, claims: Callable[[int], dict[str, Any]], said: str
) -> None:
    """Each fault in GitHub's words."""
    reply = installed.signed(**claims(int(time.time()))).ask("GET", "/app")

    assert reply.status in {401, 404}
    assert said in reply.body["message"]


def test_another_key_is_refused(installed: Installed, door: Door) -> None:
    """The signature decides, not the claims."""
    other = door.add_app(slug="other")
    forged = Installed({**installed.app, "private_key": other["private_key"]}, 0, installed.client)

    assert forged.signed().ask("GET", "/app").status == 401


def test_token_asks_for_no_more_than_was_given(installed: Installed, door: Door) -> None:
    """More permissions, or another repository: 422."""
    door.add_repository(full_name="acme/other")

    assert installed.buy({"permissions": {"administration": "write"}}).status == 422
    assert installed.buy({"repositories": ["other"]}).status == 422


def test_tokens_end_with_their_hour_their_revocation_or_their_installation(
    installed: Installed, door: Door
) -> None:
    """And a new one works again."""
    first, path = installed.with_token(), f"/repos/{REPO}"
    assert first.ask("GET", path).status == 200
    door.advance(seconds=3601)
    assert first.ask("GET", path).status == 401
    door.advance(seconds=-3601)

    second = installed.with_token()
    door.revoke_all()
    assert second.ask("GET", path).status == 401

    third = installed.with_token()
    door.suspend(installation=installed.number)
    assert third.ask("GET", path).status == 401
    assert installed.buy().status == 403


@pytest.mark.usefixtures("described")
def test_check_runs_belong_to_apps_and_are_not_unique(installed: Installed, door: Door) -> None:
    """A second create of one name is a second run; the list shows the latest of each."""
    sha = door.refs(full_name=REPO)["refs/heads/work"]
    app = installed.with_token()
    body = {"name": "fencepost", "head_sha": sha, "status": "in_progress"}

    made = [app.ask("POST", RUNS, body) for _ in range(2)]
    ended = {"conclusion": "success", "output": {"title": "Green", "summary": "All of it."}}
    changed = app.ask("PATCH", f"{RUNS}/{made[1].body['id']}", ended)
    listed = app.ask("GET", f"/repos/{REPO}/commits/{sha}/check-runs").body
    suites = app.ask("GET", f"/repos/{REPO}/commits/{sha}/check-suites").body

    assert [reply.status for reply in made] == [201, 201]
    assert changed.body["status"] == "completed"
    assert [run["id"] for run in listed["check_runs"]] == [made[1].body["id"]]
    assert [suite["status"] for suite in suites["check_suites"]] == ["in_progress"]
    assert len(door.check_runs(full_name=REPO, sha=sha)) == 2
    assert installed.client.ask("POST", RUNS, body).status == 403
    assert door.violations() == []
