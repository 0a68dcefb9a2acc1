"""Faults, lags and deeds strike where a test says, as often as it says, and are counted."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any

import pytest
from doubles.github import Door, DoorShut, limits, running
from doubles.github.schedule import Patience, schedule
from doubles.hands import REPO, Client, Reply

PULLS = f"/repos/{REPO}/pulls"
CREATE = {"method": "POST", "path": "/repos/*/pulls"}
LOST = (ConnectionError, http.client.HTTPException, TimeoutError)


def ask(client: Client, timeout: float = 10) -> Reply | None:
    """A create; None when no whole answer came."""
    body = {"title": "T", "head": "work", "base": "main"}
    try:
        return client.ask("POST", PULLS, body, timeout=timeout)
    except (*LOST, OSError, json.JSONDecodeError):
        return None


@pytest.mark.parametrize(
    ("kind", "more", "status", "is_stored"),
    [
        ("stored_then_status", {"status": 502}, 502, True),
        ("stored_then_reset", {}, None, True),
        ("stored_then_hang", {"seconds": 0.2}, None, True),
        ("cut_body", {}, None, True),
        ("status", {"status": 500}, 500, False),
        ("status", {"status": 503}, 503, False),
        ("reset", {}, None, False),
        ("hang", {"seconds": 0.2}, None, False),
        ("rate_limit", {"form": "abuse_403"}, 403, False),
    ],
)
def test_fault_strikes_once_and_the_record_knows_what_was_stored(
    client: Client, door: Door, kind: str, more: dict[str, Any], status: int | None, is_stored: bool
) -> None:
    """What the client saw and what happened are two things; both can be read."""
    door.add_fault(kind=kind, **CREATE, **more)

    reply = ask(client)

    assert (reply.status if reply else None) == status
    assert len(door.pulls(full_name=REPO)) == int(is_stored)
    [entry] = door.requests(**CREATE)
    assert (entry["stored"], entry["fault"]) == (is_stored, kind)
    assert entry["sent"] == {"cut_body": "cut"}.get(kind, "yes" if status else "no")
    assert (ask(client) or Reply(0, {}, None)).status == (422 if is_stored else 201)


def test_request_may_be_stored_long_after_its_answer_was_lost(client: Client, door: Door) -> None:
    """It is held until released; the answer that nobody hears is GitHub's own."""
    door.add_fault(kind="late_status", seconds=0, **CREATE)

    reply = ask(client)
    before = door.pulls(full_name=REPO)
    released = door.release_late()

    assert reply is not None
    assert (reply.status, before, released) == (502, [], [201])
    assert door.count(stored=True, **CREATE) == 1


def test_nth_request_is_struck_and_so_many_after_it(client: Client, door: Door) -> None:
    """Matching requests alone are counted."""
    door.add_fault(kind="status", method="GET", path="/repos/*/pulls", nth=2, times=2)

    client.ask("GET", f"/repos/{REPO}")
    statuses = [client.ask("GET", PULLS).status for _ in range(4)]

    assert statuses == [200, 502, 502, 200]
    [fault] = door.faults()
    assert (fault["met"], fault["used"]) == (4, 2)


def test_hanging_request_holds_nobody_else_up(client: Client, door: Door) -> None:
    """Neither before it is stored nor after; and the server can still be closed."""
    for kind in ("hang", "stored_then_hang"):
        door.add_fault(kind=kind, seconds=60, **CREATE)
        assert ask(client, timeout=0.2) is None

    assert [each["state"] for each in door.pulls(full_name=REPO)] == ["open"]
    assert [each["sent"] for each in door.requests(**CREATE)] == ["no", "no"]


@pytest.mark.parametrize("form", limits.NAMES)
def test_rate_limit_has_every_form(client: Client, door: Door, form: str) -> None:
    """403 and 429; with retry-after, with reset, with neither, or not even as JSON."""
    door.add_fault(kind="rate_limit", form=form, seconds=7)

    reply = client.ask("GET", PULLS)

    assert reply.status == int(form[-3:])
    assert ("retry-after" in reply.headers) is ("retry" in form or form.startswith("page_4"))
    is_exhausted = reply.headers["x-ratelimit-remaining"] == "0"
    assert is_exhausted is (form.startswith("primary") or "reset" in form)


def test_redirect_leads_where_it_says(client: Client, door: Door) -> None:
    """301, 302 and 307 alike."""
    for nth, status in enumerate((301, 302, 307), 1):
        where = f"/api/v3{PULLS}"
        door.add_fault(kind="redirect", status=status, where=where, path="/elsewhere", nth=nth)

    replies = [client.ask("GET", "/elsewhere") for _ in range(4)]

    assert [reply.status for reply in replies] == [301, 302, 307, 404]
    assert {reply.headers.get("location") for reply in replies[:3]} == {
        f"{client.github.api}{PULLS}"
    }


@pytest.mark.parametrize("form", ["invalid", "no_commits", "blank_sha"])
def test_pushed_branch_may_not_be_seen_yet(client: Client, door: Door, form: str) -> None:
    """For so many tries a create is refused as GitHub refuses it then."""
    door.add_lag(kind="head", looks=2, form=form)
    door.push(full_name=REPO, branch="work")

    replies = [ask(client) for _ in range(3)]

    assert [reply.status for reply in replies if reply] == [422, 422, 201]


def test_new_request_may_not_be_listed_yet(client: Client, door: Door) -> None:
    """It is there, and a second one is refused, while no list shows it."""
    door.add_lag(kind="list", pattern="wor*", looks=2)
    assert ask(client) is not None

    seen = [len(client.ask("GET", f"{PULLS}?state=all").body) for _ in range(3)]

    assert seen == [0, 0, 1]


def test_lag_ends_with_its_time_or_when_it_is_lifted(client: Client, door: Door) -> None:
    """By the server's clock."""
    door.add_lag(kind="list", seconds=60)
    assert ask(client) is not None
    assert client.ask("GET", PULLS).body == []
    door.advance(seconds=61)
    assert len(client.ask("GET", PULLS).body) == 1

    door.add_lag(kind="compare")
    door.push(full_name=REPO, branch="work")
    where = f"/repos/{REPO}/compare/main...work"
    assert client.ask("GET", where).status == 404
    door.lift_lags()
    assert client.ask("GET", where).status == 200


def test_head_of_a_request_may_lag_behind_the_push(client: Client, door: Door) -> None:
    """It shows the commit before."""
    reply = ask(client)
    assert reply is not None
    old = reply.body["head"]["sha"]
    door.add_lag(kind="head_sha", looks=1)
    new = door.push(full_name=REPO, branch="work")

    seen = [client.ask("GET", f"{PULLS}/1").body["head"]["sha"] for _ in range(2)]

    assert seen == [old, new]


def test_write_on_a_fresh_request_may_not_find_it(client: Client, door: Door) -> None:
    """Labels right after a create are refused once."""
    door.add_lag(kind="node", looks=1)
    assert ask(client) is not None
    where = f"/repos/{REPO}/issues/1/labels"

    replies = [client.ask("POST", where, {"labels": ["x"]}) for _ in range(2)]

    assert [reply.status for reply in replies] == [422, 200]
    assert "Could not resolve to a node" in replies[0].body["message"]


@pytest.mark.parametrize(
    ("deed", "states"),
    [
        ("close_newest", ["closed"]),
        ("merge_newest", ["merged"]),
        ("delete_newest_head", ["closed"]),
        ("double_newest", ["open", "open"]),
    ],
)
def test_people_act_between_a_request_and_its_answer(
    client: Client, door: Door, deed: str, states: list[str]
) -> None:
    """The answer still tells of the moment before."""
    door.add_deed(name=deed, arguments={"full_name": REPO}, when="after", **CREATE)

    reply = ask(client)

    assert reply is not None
    assert (reply.status, reply.body["state"]) == (201, "open")
    assert [each["state"] for each in door.pulls(full_name=REPO)] == states


def test_stranger_may_be_quicker(client: Client, door: Door) -> None:
    """A request on our head, opened just before ours arrives."""
    arguments = {"full_name": REPO, "prefix": "wor"}
    door.add_deed(name="open_on_unrequested", arguments=arguments, **CREATE)

    reply = ask(client)

    assert reply is not None
    assert reply.status == 422
    assert [each["by"] for each in door.pulls(full_name=REPO)] == ["stranger"]


def test_ledger_counts_by_head_and_by_the_marker_as_first_sent(client: Client, door: Door) -> None:
    """Whatever people do to the body afterwards."""
    mark = "a" * 64
    client.open(body=f"Done.\n<!-- fencepost operation={mark} -->")
    door.edit_pull(full_name=REPO, number=1, body="Mine now.")
    door.close_pull(full_name=REPO, number=1)
    client.open(body=f"<!-- fencepost operation={mark} -->")

    assert door.created_per_marker(full_name=REPO) == {mark: 2}
    assert door.created_per_head(full_name=REPO) == {"work": 2}


def test_record_is_a_file_that_only_grows_and_holds_no_secret(
    client: Client, door: Door, tmp_path: Path
) -> None:
    """Each request twice: when it came, and when it was decided."""
    client.ask("GET", f"{PULLS}?state=all&page=1")
    ask(client)
    door.forget_requests()

    text = (tmp_path / "github" / "record.jsonl").read_text("utf-8")

    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["event"] for row in rows] == ["received", "decided"] * 2
    assert client.token not in text
    assert door.count() == 0


def test_secret_in_an_address_is_noticed(client: Client, door: Door) -> None:
    """A token in a query would be in every log on the way."""
    client.ask("GET", f"{PULLS}?access_token={client.token}")

    assert door.secrets_seen() == [f"GET /api/v3{PULLS}: query"]


def test_server_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    """The same door, over HTTP; what fails there says so here; it ends with the block."""
    with running(tmp_path / "own") as door:
        made = door.add_repository(full_name=REPO)
        token = door.add_token()
        sha = door.push(full_name=REPO, branch="work")
        with pytest.raises(DoorShut, match="KeyError"):
            door.pulls(full_name="no/where")
        with pytest.raises(DoorShut, match="no door"):
            door.nothing()

        assert made["url"].startswith(door.url)
        assert door.refs(full_name=REPO)["refs/heads/work"] == sha
        assert token.startswith("github_pat_")

    with pytest.raises(OSError, match="refused"):
        door.add_token()


def test_schedule_is_a_function_of_its_seed(door: Door) -> None:
    """Two thousand of them, all of which the door takes; most differ."""
    made = [schedule(seed, REPO, Patience(limit=3)) for seed in range(2000)]

    assert made == [schedule(seed, REPO, Patience(limit=3)) for seed in range(2000)]
    assert len({repr(each) for each in made}) > 1800
    for step in (step for each in made for step in each):
        getattr(door, step.door)(**step.arguments)
    kinds = {fault["kind"] for fault in door.faults()}
    assert kinds >= {"stored_then_status", "stored_then_reset", "late_reset", "rate_limit", "hang"}
