"""The double answers as GitHub does, also where it says no."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from doubles.github import Door
from doubles.hands import REPO, Client

PULLS = f"/repos/{REPO}/pulls"


def errors_of(reply: Any) -> list[Any]:
    assert reply.status == 422, reply
    return list(reply.body.get("errors", [reply.body["message"]]))


@pytest.mark.usefixtures("described")
def test_every_answer_and_request_follows_the_description(client: Client, door: Door) -> None:
    """One walk through the whole API leaves no violation of GitHub's own description."""
    app = door.add_app(slug="ci")
    door.install_app(app_id=app["id"], repositories=[REPO])
    door.add_collaborator(full_name=REPO, login="carol")
    door.add_rule(full_name=REPO, pattern="refs/heads/agent/*", kinds=["creation", "deletion"])
    sha = client.ask("GET", f"/repos/{REPO}/branches/work").body["commit"]["sha"]
    main = client.ask("GET", f"/repos/{REPO}/git/ref/heads/main").body["object"]["sha"]
    door.set_check(full_name=REPO, sha=sha, name="build")
    number = client.open().body["number"]
    one, issue = f"{PULLS}/{number}", f"/repos/{REPO}/issues/{number}"
    new = {"ref": "refs/heads/made", "sha": main}
    wanted = [
        ("POST", f"{issue}/labels", {"labels": ["fleet"]}, 200),
        ("PUT", f"{issue}/labels", {"labels": ["fleet", "two"]}, 200),
        ("GET", f"{issue}/labels", None, 200),
        ("DELETE", f"{issue}/labels/two", None, 200),
        ("GET", issue, None, 200),
        ("POST", f"{issue}/comments", {"body": "Hello."}, 201),
        ("GET", f"{issue}/comments?per_page=5", None, 200),
        ("POST", f"{one}/requested_reviewers", {"reviewers": ["carol"]}, 201),
        ("GET", f"{one}/requested_reviewers", None, 200),
        ("DELETE", f"{one}/requested_reviewers", {"reviewers": ["carol"]}, 200),
        ("GET", one, None, 200),
        ("GET", one, None, 200),
        ("GET", f"{one}/commits", None, 200),
        ("GET", f"{PULLS}?state=all&head=acme:work&base=main&per_page=100", None, 200),
        ("PATCH", one, {"title": "Other", "body": "Text.", "state": "open", "base": "main"}, 200),
        ("POST", f"/repos/{REPO}/statuses/{sha}", {"state": "pending", "context": "f"}, 201),
        ("GET", f"/repos/{REPO}/commits/{sha}/status", None, 200),
        ("GET", f"/repos/{REPO}/commits/work/statuses", None, 200),
        ("GET", f"/repos/{REPO}/commits/{sha}/check-runs", None, 200),
        ("GET", f"/repos/{REPO}/commits/{sha}/check-suites", None, 200),
        ("GET", f"/repos/{REPO}", None, 200),
        ("GET", f"/repos/{REPO}/branches", None, 200),
        ("GET", f"/repos/{REPO}/branches/nowhere", None, 404),
        ("GET", f"/repos/{REPO}/rules/branches/agent/x", None, 200),
        ("GET", f"/repos/{REPO}/compare/main...work", None, 200),
        ("GET", f"/repos/{REPO}/commits", None, 200),
        ("GET", f"/repos/{REPO}/commits/{sha}", None, 200),
        ("GET", f"/repos/{REPO}/git/commits/{sha}", None, 200),
        ("GET", f"/repos/{REPO}/git/matching-refs/heads", None, 200),
        ("POST", f"/repos/{REPO}/git/refs", new, 201),
        ("POST", f"/repos/{REPO}/git/refs", new, 422),
        ("PATCH", f"/repos/{REPO}/git/refs/heads/made", {"sha": sha, "force": True}, 200),
        ("DELETE", f"/repos/{REPO}/git/refs/heads/made", None, 204),
        ("GET", "/user", None, 200),
        ("GET", "/users/carol", None, 200),
        ("GET", "/rate_limit", None, 200),
        ("PUT", f"{one}/merge", {"merge_method": "squash"}, 200),
        ("GET", f"{one}/merge", None, 204),
        ("GET", f"{PULLS}/99", None, 404),
        ("POST", PULLS, {"title": "T", "head": "nowhere", "base": "main"}, 422),
    ]

    statuses = [client.ask(method, path, body).status for method, path, body, _ in wanted]

    assert statuses == [status for *_, status in wanted]
    assert door.violations() == []


@pytest.mark.usefixtures("described")
def test_request_outside_the_description_is_a_violation(client: Client, door: Door) -> None:
    """A field, a value or a parameter that GitHub does not know is kept for the test to read.

    Also when a fault spoilt the answer; and a route that this server lacks.
    """
    door.add_fault(kind="status", method="POST")
    client.open(drafty=True)
    client.ask("POST", "/repos/acme/widgets/forks")
    client.ask("GET", f"{PULLS}?status=open")
    client.ask("GET", f"{PULLS}?state=merged")

    found = door.violations()

    assert len(found) == 4
    assert "unknown field drafty" in found[0]
    assert "no such route" in found[1]
    assert "no query parameter status" in found[2]
    assert "'merged' is not one of" in found[3]


def test_second_open_request_is_refused_and_after_an_end_it_is_not(
    client: Client, door: Door
) -> None:
    """GitHub looks at open ones for the same head and base alone."""
    first = client.open()

    again = client.open()

    message = "A pull request already exists for acme:work."
    assert errors_of(again) == [{"resource": "PullRequest", "code": "custom", "message": message}]
    door.close_pull(full_name=REPO, number=first.body["number"])
    assert client.open().status == 201
    assert door.created_per_head(full_name=REPO) == {"work": 2}


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"head": "nowhere"}, {"field": "head", "code": "invalid"}),
        ({"head": "else:work"}, {"field": "head", "code": "invalid"}),
        ({"base": "nowhere"}, {"field": "base", "code": "invalid"}),
        ({"head": "main"}, {"code": "custom", "message": "No commits between main and main"}),
        ({"title": ""}, {"field": "title", "code": "missing_field"}),
    ],
)
def test_request_that_cannot_be_is_refused(
    client: Client, door: Door, more: dict[str, Any], error: dict[str, str]
) -> None:
    """Each with GitHub's own error, and nothing is made."""
    [found] = errors_of(client.open(**more))

    assert {name: found[name] for name in error} == error
    assert door.pulls(full_name=REPO) == []


def test_draft_is_refused_where_the_plan_has_none(client: Client, door: Door) -> None:
    """And taken elsewhere."""
    door.repo(REPO).drafts = False
    assert errors_of(client.open(draft=True)) == [
        "Draft pull requests are not supported in this repository."
    ]

    door.repo(REPO).drafts = True
    assert client.open(draft=True).body["draft"] is True


def test_listing_filters_by_state_head_and_base(client: Client, door: Door) -> None:
    """A head without its owner filters nothing: a trap of the real API."""
    door.push(full_name=REPO, branch="other")
    first, second = client.open().body["number"], client.open(head="other").body["number"]
    door.close_pull(full_name=REPO, number=first)

    def numbers(query: str) -> list[int]:
        return [each["number"] for each in client.ask("GET", f"{PULLS}?{query}").body]

    assert numbers("") == [second]
    assert numbers("state=all") == [second, first]
    assert numbers("state=all&head=acme:work") == [first]
    assert numbers("state=closed&base=other") == []
    assert numbers("state=all&head=work") == [second, first]


def test_pages_are_linked(client: Client, door: Door) -> None:
    """Links name the repository by its id and lead to the rest."""
    for index in range(3):
        door.push(full_name=REPO, branch=f"b{index}")
        assert client.open(head=f"b{index}").status == 201

    first = client.ask("GET", f"{PULLS}?per_page=2")
    links = dict(reversed(each.split("; ")) for each in first.headers["link"].split(", "))
    second = client.ask("GET", links['rel="next"'].strip("<>"))

    assert [each["number"] for each in first.body + second.body] == [3, 2, 1]
    assert "/repositories/" in links['rel="next"']
    assert 'rel="next"' not in second.headers["link"]


def test_unchanged_answer_is_a_304_that_costs_nothing(client: Client) -> None:
    """By its ETag; the next change answers in full."""
    first = client.ask("GET", PULLS)

    again = client.ask("GET", PULLS, headers={"If-None-Match": first.headers["etag"]})

    assert (again.status, again.body) == (304, b"")
    left = [client.ask("GET", "/rate_limit").body["rate"]["remaining"] for _ in range(2)]
    assert left[0] == int(first.headers["x-ratelimit-remaining"]) - 1
    client.open()
    assert client.ask("GET", PULLS, headers={"If-None-Match": first.headers["etag"]}).status == 200


def test_token_may_do_what_it_was_given(client: Client, door: Door) -> None:
    """401 without a good one, 404 for what it may not know of, 403 for what it may not do."""
    door.add_repository(full_name="acme/secret")
    number = client.open().body["number"]

    def status(token: str, method: str, path: str, body: Any = None) -> int:
        return Client(client.github, token).ask(method, path, body).status

    reader = door.add_token(permissions={"contents": "read", "pull_requests": "read"})
    elsewhere = door.add_token(repositories=["acme/secret"])
    body = {"title": "T", "head": "work", "base": "main"}
    assert status("wrong", "GET", PULLS) == 401
    assert status(elsewhere, "GET", PULLS) == 404
    assert status(reader, "GET", PULLS) == 200
    assert status(reader, "POST", PULLS, body) == 403
    assert status(reader, "PATCH", f"{PULLS}/{number}", {"state": "closed"}) == 403
    assert status(reader, "POST", f"/repos/{REPO}/statuses/{'0' * 40}", {"state": "error"}) == 403
    assert status(client.token, "POST", f"/repos/{REPO}/check-runs", {"name": "x"}) == 403


def test_token_ends_when_its_time_is_over_or_it_is_revoked(client: Client, door: Door) -> None:
    """Then it is as if it had never been."""
    short = Client(client.github, door.add_token(expires_in=60))
    assert short.ask("GET", PULLS).status == 200

    door.advance(seconds=61)
    door.revoke_token(value=client.token)

    assert short.ask("GET", PULLS).body["message"] == "Bad credentials"
    assert client.ask("GET", PULLS).status == 401


def test_hourly_limit_is_kept(client: Client, door: Door) -> None:
    """Past it everything is 403 with nothing left, until the hour is over."""
    door.change_token(value=client.token, limit=1)
    assert client.ask("GET", PULLS).status == 200

    refused = client.ask("GET", PULLS)

    assert (refused.status, refused.headers["x-ratelimit-remaining"]) == (403, "0")
    assert "API rate limit exceeded" in refused.body["message"]
    door.advance(seconds=3601)
    assert client.ask("GET", PULLS).status == 200


def test_renamed_repository_redirects(client: Client, door: Door) -> None:
    """To its id: 301 for a read, 307 for a write."""
    door.rename_repository(full_name=REPO, new_name="acme/gadgets")

    read, write = client.ask("GET", f"{PULLS}?state=all"), client.open()

    assert (read.status, write.status) == (301, 307)
    found = client.ask("GET", read.headers["location"])
    assert (found.status, found.body) == (200, [])


def test_people_end_and_move_requests(client: Client, door: Door) -> None:
    """Merged, retargeted, reopened, and closed with its head branch."""
    door.push(full_name=REPO, branch="develop")
    for name in ("one", "two"):
        door.push(full_name=REPO, branch=name)
    numbers = [client.open(head=name).body["number"] for name in ("work", "one", "two")]

    door.merge_pull(full_name=REPO, number=numbers[0])
    door.retarget_pull(full_name=REPO, number=numbers[1], base="develop")
    door.delete_branch(full_name=REPO, branch="two")

    seen = [client.ask("GET", f"{PULLS}/{number}").body for number in numbers]
    assert [each["state"] for each in seen] == ["closed", "open", "closed"]
    assert [each["merged"] for each in seen] == [True, False, False]
    assert seen[1]["base"]["ref"] == "develop"
    reopened = client.ask("PATCH", f"{PULLS}/{numbers[2]}", {"state": "open"})
    assert "has been deleted" in errors_of(reopened)[0]["message"]


def test_second_open_request_can_be_forced_in(client: Client, door: Door) -> None:
    """As GitHub's own lag can; then both are listed."""
    client.open()

    door.open_pull(full_name=REPO, head="work", force=True)

    assert len(client.ask("GET", f"{PULLS}?head=acme:work").body) == 2


def test_reviewers_are_collaborators_and_not_the_author(client: Client, door: Door) -> None:
    """Anybody else is refused."""
    where = f"{PULLS}/{client.open().body['number']}/requested_reviewers"
    door.add_collaborator(full_name=REPO, login="carol")

    replies = [
        client.ask("POST", where, {"reviewers": [who]}) for who in ("fleet-bot", "eve", "carol")
    ]

    assert [reply.status for reply in replies] == [422, 422, 201]
    assert "author" in replies[0].body["message"]
    assert "collaborator" in replies[1].body["message"]


def test_latest_status_of_a_context_counts(client: Client, door: Door) -> None:
    """All are kept; the combined state sees the last of each context."""
    sha = door.refs(full_name=REPO)["refs/heads/work"]
    where = f"/repos/{REPO}/statuses/{sha}"
    for state, context in (("pending", "a"), ("failure", "b"), ("success", "a")):
        assert client.ask("POST", where, {"state": state, "context": context}).status == 201

    combined = client.ask("GET", f"/repos/{REPO}/commits/{sha}/status").body

    assert combined["state"] == "failure"
    assert {each["context"]: each["state"] for each in combined["statuses"]} == {
        "a": "success", "b": "failure",
    }  # fmt: skip
    assert len(door.statuses(full_name=REPO, sha=sha)) == 3


def test_two_comments_with_one_text_are_two(client: Client, door: Door) -> None:
    """Nothing at GitHub keeps a comment from being made twice."""
    number = client.open().body["number"]
    where = f"/repos/{REPO}/issues/{number}/comments"
    ids = [client.ask("POST", where, {"body": "Same."}).body["id"] for _ in range(2)]

    edited = client.ask("PATCH", f"/repos/{REPO}/issues/comments/{ids[0]}", {"body": "Other."})
    gone = client.ask("DELETE", f"/repos/{REPO}/issues/comments/{ids[1]}")

    assert (edited.status, gone.status) == (200, 204)
    assert [each["body"] for each in door.comments(full_name=REPO, number=number)] == ["Other."]


def test_of_many_creates_at_once_one_wins(client: Client, door: Door) -> None:
    """Each request of the API is one step."""
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: client.open().status, range(16)))

    assert sorted(statuses) == [201, *[422] * 15]
    assert len(door.pulls(full_name=REPO)) == 1


def test_rules_of_a_branch_can_be_asked(client: Client, door: Door) -> None:
    """For names that do not exist yet as well; hooks and secrets show at a push alone."""
    door.add_rule(full_name=REPO, pattern="refs/heads/agent/*", kinds=["creation"])
    door.add_rule(full_name=REPO, pattern="*", reason="hook")

    def rules(branch: str) -> list[str]:
        return [
            each["type"]
            for each in client.ask("GET", f"/repos/{REPO}/rules/branches/{branch}").body
        ]

    assert (rules("agent/new"), rules("main")) == (["creation"], [])
