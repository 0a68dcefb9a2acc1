"""Git against the double: real repositories, real pushes, GitHub's refusals."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from doubles.github import Door
from doubles.hands import REPO, Client

CREATE = "--force-with-lease=refs/heads/agent/x:"


def push(client: Client, clone: Path, *arguments: str, token: str | None = None) -> Any:
    more = ("--porcelain", "--atomic", *arguments)
    return client.git("push", *more[:2], *more[2:], cwd=clone, token=token)


def test_branch_and_custom_ref_go_in_one_push(client: Client, door: Door, clone: Path) -> None:
    """The record keeps what was asked and what was taken; no pack, no secret."""
    refs = ("HEAD:refs/heads/agent/x", "HEAD:refs/fencepost/operations/1")

    done = push(client, clone, "origin", *refs)

    assert done.returncode == 0, done.stderr
    [entry] = door.requests(method="POST", path="*/git-receive-pack", stored=True)
    assert sorted(entry["note"]["taken"]) == sorted(ref.partition(":")[2] for ref in refs)
    assert (entry["token"], entry["body"]) == ("fleet", None)
    assert client.token not in str(entry)
    assert set(door.refs(full_name=REPO)) >= {ref.partition(":")[2] for ref in refs}


def test_create_only_push_loses_to_who_came_first(client: Client, door: Door, clone: Path) -> None:
    """A lease on absence is kept, and nothing is stored."""
    door.push(full_name=REPO, branch="agent/x")

    done = push(client, clone, CREATE, "origin", "HEAD:refs/heads/agent/x")

    assert done.returncode == 1
    assert "[rejected] (stale info)" in done.stdout


@pytest.mark.parametrize("token", [None, "wrong", "reader", "elsewhere"])
def test_push_needs_a_token_that_may_write(
    client: Client, door: Door, clone: Path, token: str | None
) -> None:
    """Each refusal in GitHub's words."""
    door.add_repository(full_name="acme/other")
    secrets = {
        "reader": door.add_token(permissions={"contents": "read"}),
        "elsewhere": door.add_token(repositories=["acme/other"]),
        "wrong": "wrong",
    }
    if token is None:
        door.revoke_token(value=client.token)
    said = {"reader": "Write access to repository not granted", "elsewhere": "not found"}

    done = push(client, clone, "origin", "HEAD:refs/heads/x", token=secrets.get(token or ""))

    assert done.returncode == 128
    assert said.get(token or "", "could not read Username") in done.stderr
    assert "refs/heads/x" not in door.refs(full_name=REPO)


@pytest.mark.parametrize(
    ("patterns", "refused"),
    [
        (["refs/heads/agent/*"], ["refs/heads/agent/x"]),
        (["refs/fencepost/*"], ["refs/fencepost/1"]),
        (["refs/heads/agent/*", "refs/fencepost/*"], ["refs/heads/agent/x", "refs/fencepost/1"]),
    ],
    ids=["branch only", "custom ref only", "both"],
)
def test_rules_refuse_refs_by_pattern(
    client: Client, door: Door, clone: Path, patterns: list[str], refused: list[str]
) -> None:
    """An atomic push is refused whole; each ref alone shows which rule spoke."""
    for pattern in patterns:
        door.add_rule(full_name=REPO, pattern=pattern)
    refs = ["refs/heads/agent/x", "refs/fencepost/1"]

    both = push(client, clone, "origin", *(f"HEAD:{ref}" for ref in refs))
    alone = {ref: push(client, clone, "origin", f"HEAD:{ref}") for ref in refs}

    assert both.returncode == 1
    assert "push declined due to repository rule violations" in both.stdout
    assert "GH013: Repository rule violations found" in both.stderr
    assert {ref for ref, done in alone.items() if done.returncode} == set(refused)
    assert set(door.refs(full_name=REPO)) & set(refs) == set(refs) - set(refused)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("protected", "protected branch hook declined"),
        ("hook", "pre-receive hook declined"),
        ("hidden", "deny updating a hidden ref"),
    ],
)
def test_other_refusals_have_their_own_words(
    client: Client, door: Door, clone: Path, reason: str, said: str
) -> None:
    """Old branch protection, an enterprise's hook, and refs of the server's own."""
    door.add_rule(full_name=REPO, pattern="refs/heads/*", reason=reason)

    done = push(client, clone, "origin", "HEAD:refs/heads/x")

    assert f"[remote rejected] ({said})" in done.stdout


def test_push_protection_reads_what_is_pushed(client: Client, door: Door, clone: Path) -> None:
    """A push that brings the secret is refused wherever it goes; another one is not."""
    door.add_rule(full_name=REPO, pattern="*", reason="secrets", text="CANARY-1")
    clean = push(client, clone, "origin", "HEAD:refs/heads/x")
    (clone / "key.txt").write_text("CANARY-1\n", "utf-8")
    client.git("add", ".", cwd=clone)
    client.git("commit", "-qm", "Key", cwd=clone)

    done = push(client, clone, "origin", "HEAD:refs/heads/y")

    assert (clean.returncode, done.returncode) == (0, 1)
    assert "Push cannot contain secrets" in done.stderr


def test_push_moves_and_deletion_closes_an_open_request(
    client: Client, door: Door, clone: Path
) -> None:
    """Its head follows the branch, and it is closed with it."""
    push(client, clone, "origin", "HEAD:refs/heads/agent/x")
    number = client.open(head="agent/x").body["number"]
    client.git("commit", "-q", "--allow-empty", "-m", "More", cwd=clone)

    push(client, clone, "origin", "HEAD:refs/heads/agent/x")
    [moved] = door.pulls(full_name=REPO)
    push(client, clone, "origin", ":refs/heads/agent/x")
    [closed] = door.pulls(full_name=REPO)

    tip = client.git("rev-parse", "HEAD", cwd=clone).stdout.strip()
    assert (moved["number"], moved["state"], moved["head_sha"]) == (number, "open", tip)
    assert closed["state"] == "closed"
    assert door.requests(path="*/git-receive-pack")[-1]["note"]["taken"] == ["refs/heads/agent/x"]


def test_the_forge_keeps_refs_of_its_own(client: Client, door: Door, clone: Path) -> None:
    """refs/pull can be fetched and not pushed."""
    number = client.open().body["number"]

    fetched = client.git("fetch", "-q", "origin", f"refs/pull/{number}/head", cwd=clone)
    pushed = push(client, clone, "origin", f"+HEAD:refs/pull/{number}/head")

    assert fetched.returncode == 0
    assert "deny updating a hidden ref" in pushed.stdout
    assert door.count(stored=True, path="*/git-receive-pack") == 0


def test_renamed_repository_is_followed(client: Client, door: Door, clone: Path) -> None:
    """Git follows the redirect of its first request."""
    door.rename_repository(full_name=REPO, new_name="acme/gadgets")

    done = push(client, clone, "origin", "HEAD:refs/heads/x")

    assert done.returncode == 0, done.stderr
    assert "refs/heads/x" in door.refs(full_name="acme/gadgets")


@pytest.mark.parametrize(
    ("kind", "more", "is_stored"),
    [
        ("stored_then_status", {"status": 502}, True),
        ("stored_then_reset", {}, True),
        ("stored_then_hang", {"seconds": 0.2}, True),
        ("cut_body", {}, True),
        ("status", {"status": 502}, False),
        ("status", {"status": 401}, False),
        ("reset", {}, False),
        ("hang", {"seconds": 0.2}, False),
        ("rate_limit", {"form": "retry_after_429"}, False),
    ],
)
def test_faults_strike_pushes(
    client: Client, door: Door, clone: Path, kind: str, more: dict[str, Any], is_stored: bool
) -> None:
    """Git fails either way; the repository tells whether the push was taken."""
    door.add_fault(kind=kind, path="*/git-receive-pack", method="POST", times=9, **more)

    done = push(client, clone, "origin", "HEAD:refs/heads/x")

    assert done.returncode != 0
    assert ("refs/heads/x" in door.refs(full_name=REPO)) is is_stored
    assert door.count(path="*/git-receive-pack", stored=True) == int(is_stored)


def test_push_may_land_after_its_sender_gave_up(client: Client, door: Door, clone: Path) -> None:
    """A lost request that is carried out later: the ref appears when nobody waits any more.

    Git's HTTP library sends a request again by itself when a connection that it kept alive is
    reset: one push may arrive twice, and the second finds what the first has done.
    """
    door.add_fault(kind="late_reset", path="*/git-receive-pack", method="POST", seconds=0, times=2)

    done = push(client, clone, "origin", "HEAD:refs/heads/x")
    before = "refs/heads/x" in door.refs(full_name=REPO)
    door.release_late()

    assert (done.returncode != 0, before) == (True, False)
    assert "refs/heads/x" in door.refs(full_name=REPO)
    assert door.count(path="*/git-receive-pack") == 2
    assert door.count(path="*/git-receive-pack", stored=True) == 1


def test_fetch_can_fail_too(client: Client, door: Door, clone: Path) -> None:
    """Also once in the middle, with credentials refused that were good before."""
    door.add_fault(kind="status", status=503, path="*/info/refs")
    door.add_fault(kind="status", status=401, path="*/info/refs", nth=2)

    codes = [client.git("fetch", "-q", "origin", cwd=clone).returncode for _ in range(3)]

    assert codes == [128, 128, 0]


def test_large_push_comes_in_pieces(client: Client, door: Door, clone: Path) -> None:
    """Git sends it chunked, after a probe that carries nothing; both are told apart."""
    (clone / "large.bin").write_bytes(os.urandom(3_000_000))
    client.git("add", ".", cwd=clone)
    client.git("commit", "-qm", "Large", cwd=clone)

    done = push(client, clone, "origin", "HEAD:refs/heads/x")

    assert done.returncode == 0, done.stderr
    assert door.count(path="*/git-receive-pack", method="POST") == 2
    assert door.count(path="*/git-receive-pack", stored=True) == 1


def test_of_many_pushes_at_once_one_wins(client: Client, door: Door, clone: Path) -> None:
    """Real git decides, as it does at GitHub."""
    tree = client.git("rev-parse", "HEAD^{tree}", cwd=clone).stdout.strip()
    commits = [
        client.git("commit-tree", tree, "-m", str(index), cwd=clone).stdout.strip()
        for index in range(6)
    ]

    with ThreadPoolExecutor(6) as pool:
        done = list(
            pool.map(
                lambda sha: push(client, clone, CREATE, "origin", f"{sha}:refs/heads/agent/x"),
                commits,
            )
        )

    assert [each.returncode for each in done].count(0) == 1
    assert door.count(path="*/git-receive-pack", stored=True) == 1
