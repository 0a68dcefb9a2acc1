"""The double is hostile enough: a careless client fails against it, a careful one does not."""

from __future__ import annotations

import http.client
import json
from concurrent.futures import ThreadPoolExecutor

from doubles.github import GitHub
from doubles.github.schedule import Patience, schedule
from doubles.hands import Client, Reply
from fixtures.waiting import until

SEEDS = range(60)
QUICK = Patience(hang=0.3, late=0.05, limit=0.05)
TRIES = 12


def walk(github: GitHub, seed: int, careful: bool) -> int:
    """One branch, one wish for a request, one schedule; the requests that were made for it."""
    door, repo = github.door, f"acme/w{seed}-{careful:d}"
    door.add_repository(full_name=repo)
    door.push(full_name=repo, branch="work")
    client = Client(github, door.add_token(login="fleet-bot"), f"/repos/{repo}")
    for step in schedule(seed, repo, QUICK):
        getattr(door, step.door)(**step.arguments)
    carefully(client) if careful else carelessly(client)
    until(lambda: not github.faults.held())
    return sum(pull["by"] == "fleet-bot" for pull in door.pulls(full_name=repo))


def carelessly(client: Client) -> None:
    """Look for an open one, else create; again until it works."""
    for _ in range(TRIES):
        listed = attempt(client, "GET", "?head=acme:work")
        if listed is not None and listed.status == 200 and listed.body:
            return
        made = attempt(client, "POST")
        if made is not None and made.status == 201:
            return


def carefully(client: Client) -> None:
    """Create only where nothing is listed in any state, and never after an unresolved call."""
    for _ in range(TRIES):
        listed = attempt(client, "GET", "?state=all&head=acme:work")
        if listed is None or listed.status != 200:
            continue
        if listed.body:
            return
        made = attempt(client, "POST")
        if made is None or made.status >= 500 or made.status == 201:
            return


def attempt(client: Client, method: str, query: str = "") -> Reply | None:
    """One request; None when no whole answer came."""
    body = {"title": "T", "body": "B", "head": "work", "base": "main"}
    try:
        where = f"{client.path}/pulls{query}"
        return client.ask(method, where, body if method == "POST" else None, timeout=0.2)
    except (OSError, http.client.HTTPException, json.JSONDecodeError):
        return None


def test_careless_client_makes_doubles_where_a_careful_one_makes_none(github: GitHub) -> None:
    """The same schedules for both, counted at the server."""
    with ThreadPoolExecutor(8) as pool:
        careless = list(pool.map(lambda seed: walk(github, seed, careful=False), SEEDS))
        careful = list(pool.map(lambda seed: walk(github, seed, careful=True), SEEDS))

    print("doubles of a careless client:", sum(ours > 1 for ours in careless), "of", len(careless))
    assert max(careful) == 1
    assert sum(ours > 1 for ours in careless) >= 3
