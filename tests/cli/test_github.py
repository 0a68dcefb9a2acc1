"""GitHub as people type it, against the server of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from doubles.github.server import GitHub
from fixtures.command import Fencepost, Said

NAME = "acme/widgets"
CHANGE = ("sh", "-c", "echo y = 2 >> a.py")


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHub]:
    """A server with one private repository."""
    with GitHub(tmp_path / "github") as server:
        server.door.add_repository(NAME, files={"a.py": "x = 1\n"})
        yield server


@pytest.fixture
def told(github: GitHub) -> dict[str, str]:
    """What a reader sets."""
    return {"FENCEPOST_GITHUB_URL": github.api, "FENCEPOST_GITHUB_TOKEN": github.door.add_token()}


@pytest.mark.contract("O10")
def test_a_run_ends_with_a_request_at_github(
    own: Fencepost, github: GitHub, told: dict[str, str]
) -> None:
    """One command with an address and a token; then the request is listed and shown, not merged."""
    said = own("run", "--repo", f"{github.url}/{NAME}", "--draft", "--", *CHANGE, **told)

    assert said.code == 0, said.err
    assert said.out.startswith(f"pull request #1  {github.url}/{NAME}/pull/1")
    assert f"git fetch {github.url}/{NAME}.git fencepost/" in said.out
    (pull,) = github.door.pulls(NAME)
    assert pull["draft"]
    listed = own("pull-requests", "list", "--json", **told).value
    assert [(one["number"], one["state"]) for one in listed] == [(1, "open")]
    shown = own("pull-requests", "show", "1", **told)
    assert f"{github.url}/{NAME}/pull/1" in shown.out
    for verb in ("merge", "close"):
        refused = own("pull-requests", verb, "1", **told)
        assert (refused.code, "(not_ours)" in refused.err) == (2, True)
    assert github.door.pulls(NAME)[0]["state"] == "open"
    assert own("verify", **told).code == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--repo", "{url}/acme/nowhere"), "not_a_repository"),
        (("--repo", "{url}/acme/widgets", "--base", "nowhere"), "base_missing"),
    ],
)
def test_what_github_does_not_have_is_refused_before_anything(
    own: Fencepost, github: GitHub, told: dict[str, str], words: tuple[str, ...], code: str
) -> None:
    """With its code and exit 2; no server is started for it."""
    said = own("run", *(word.format(url=github.url) for word in words), "--", "true", **told)

    assert (said.code, f"({code})" in said.err) == (2, True), said.err
    assert not own.home.exists()


def test_a_commit_is_no_base_at_github(
    own: Fencepost, github: GitHub, told: dict[str, str]
) -> None:
    """A request goes into a branch, and there is none for a commit."""
    sha = github.door.refs(NAME)["refs/heads/main"]

    said = own("run", "--repo", f"{github.url}/{NAME}", "--base", sha, "--", "true", **told)

    assert (said.code, "(base_missing)" in said.err) == (2, True), said.err


def doctor(own: Fencepost, github: GitHub, told: dict[str, str]) -> tuple[Said, dict[str, str]]:
    said = own("doctor", "--json", "--repo", f"{github.url}/{NAME}", **told)
    return said, {one["name"]: one["code"] or "ok" for one in said.value["checks"]}


def test_doctor_says_what_is_allowed_and_leaves_no_trace(
    own: Fencepost, github: GitHub, told: dict[str, str]
) -> None:
    """Every check is good, and afterwards nothing at GitHub is other than before."""
    before = github.door.refs(NAME)

    said, found = doctor(own, github, told)

    assert said.code == 0, said.out
    assert found == dict.fromkeys(("read", "refs", "branches", "requests", "statuses"), "ok")
    assert (github.door.refs(NAME), github.door.pulls(NAME)) == (before, [])
    assert github.door.repo(NAME).statuses == []


@pytest.mark.parametrize(
    ("held", "name", "code", "exit_code"),
    [
        ({"contents": "read", "pull_requests": "write", "statuses": "write"}, "refs",
         "push_refused", 1),
        ({"contents": "write", "pull_requests": "read", "statuses": "write"}, "requests",
         "forge_refused", 1),
        ({"contents": "write", "pull_requests": "write"}, "statuses", "no_statuses", 0),
    ],
)  # fmt: skip
def test_doctor_names_the_permission_that_is_missing(
    own: Fencepost, github: GitHub, told: dict[str, str], held: dict[str, str], name: str,
    code: str, exit_code: int,
) -> None:  # fmt: skip
    """Before a run has cost anything."""
    github.door.change_token(
        told["FENCEPOST_GITHUB_TOKEN"], permissions={"metadata": "read", **held}
    )

    said, found = doctor(own, github, told)

    assert (said.code, found[name]) == (exit_code, code), said.out


def test_doctor_finds_the_rules_that_a_push_would_meet(
    own: Fencepost, github: GitHub, told: dict[str, str]
) -> None:
    """A rule on our branches is a fault; one on marks is not: there is a mode without them."""
    github.door.add_rule(NAME, "refs/fencepost/*")
    assert doctor(own, github, told)[1]["refs"] == "custom_refs_refused"
    github.door.add_rule(NAME, "refs/heads/fencepost/operations/*")
    before = github.door.refs(NAME)
    assert doctor(own, github, told)[1]["refs"] == "marks_refused"
    assert github.door.refs(NAME) == before
    github.door.add_rule(NAME, "refs/heads/fencepost/*")

    said, found = doctor(own, github, told)

    assert (said.code, found["refs"], found["branches"]) == (1, "push_refused", "rules_refuse")


def test_a_token_that_is_wrong_is_said(
    own: Fencepost, github: GitHub, told: dict[str, str]
) -> None:
    """By the doctor and by a run, each in one line, without the token."""
    told["FENCEPOST_GITHUB_TOKEN"] = "canary"

    said, found = doctor(own, github, told)
    ran = own("run", "--repo", f"{github.url}/{NAME}", "--", "true", **told)

    assert (said.code, found["read"]) == (1, "forge_refused")
    assert ran.code != 0
    assert "canary" not in said.out + said.err + ran.out + ran.err
