"""What people list, show and have explained."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.stack import a_repository

from app.repository.git import git


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository for every test of this file."""
    return a_repository(tmp_path_factory.mktemp("reader") / "listed", {"a.py": "x = 1\n"})


@pytest.fixture(scope="module")
def done(up: Fencepost, reader: Path) -> dict[str, object]:
    """The summary of a run that ended with a request."""
    change = ("sh", "-c", "echo said aloud; echo y = 2 >> a.py")
    said = up("run", "--json", "--title", "Add y", "--check", "true", "--", *change, at=reader)
    assert said.code == 0, said.err
    found: dict[str, object] = said.lines[-1]
    return found


@pytest.mark.parametrize("noun", ["worlds", "work-orders", "tasks", "attempts", "pull-requests"])
def test_a_listing_has_at_most_eight_columns(
    up: Fencepost, done: dict[str, object], noun: str
) -> None:
    """Every listing is a table of few columns, and says what to type next."""
    said = up(noun, "list")

    assert said.code == 0
    header, *rows = said.out.splitlines()
    assert rows
    assert 2 <= len([name for name in header.split("  ") if name]) <= 8
    assert said.err.startswith("next: fencepost ")
    assert up(noun, "list", "--json").value


def test_a_unique_prefix_is_enough(up: Fencepost, done: dict[str, object]) -> None:
    """The short id of a listing names the attempt; an unknown one is refused."""
    attempt = str(done["attempt"])

    shown = up("attempts", "show", attempt[:8], "--json")
    ambiguous = up("explain", "zz_no_such_id")

    assert shown.value["attempt"] == attempt
    assert (ambiguous.code, "(not_found)" in ambiguous.err) == (2, True)


def test_a_reader_may_leave_early(up: Fencepost, done: dict[str, object]) -> None:
    """`attempts list | head` is not worth a word."""
    listing = up.begin("attempts", "list")
    assert listing.stdout
    listing.stdout.close()

    assert listing.stderr
    assert "Broken" not in listing.stderr.read()
    assert listing.wait(20) == 1


@pytest.mark.parametrize("what", ["attempt", "task", "work_order"])
def test_any_id_is_a_story(up: Fencepost, done: dict[str, object], what: str) -> None:
    """The story names every fence, the call and its proof, and the receipts, from rows alone."""
    said = up("explain", str(done[what]))

    assert said.code == 0
    for words in (
        "dispatched by local", "fence 1 taken by", "bound to operation", "may start one process",
        "recorded the result: green", "call 1.1 to the forge: create_pull_request",
        "proves call 1.1 to be created", "settled by receipt", "ended as done",
    ):  # fmt: skip
        assert words in said.out, words


def test_logs_show_what_the_command_wrote(up: Fencepost, done: dict[str, object]) -> None:
    """The output of a run can be read afterwards."""
    said = up("logs", str(done["attempt"]))

    assert "| said aloud" in said.out


@pytest.mark.contract("O04")
def test_logs_are_one_sequence_without_a_gap(up: Fencepost, done: dict[str, object]) -> None:
    """From the dispatch to the end, whoever tells it: one, two, three, ..."""
    told = up("logs", str(done["attempt"]), "--json").lines

    assert [one["sequence"] for one in told] == list(range(1, len(told) + 1))
    assert (told[0]["type"], told[-1]["type"]) == ("start", "completion")
    assert {"command", "output", "step", "artifact"} <= {one["type"] for one in told}


@pytest.mark.contract("O04")
def test_what_a_run_left_is_kept(up: Fencepost, done: dict[str, object]) -> None:
    """The end of its output and its diff can be read afterwards; another name is not found."""
    attempt = str(done["attempt"])

    kept = up("attempts", "show", attempt, "--json").value["artifacts"]
    diff = up("logs", attempt, "--artifact", "diff")
    unknown = up("logs", attempt, "--artifact", "no_such")

    assert {one["name"] for one in kept} == {"agent-output", "diff"}
    assert up("logs", attempt, "--artifact", "agent-output").out == "said aloud\n"
    assert "+y = 2" in diff.out
    assert (unknown.code, "(not_found)" in unknown.err) == (2, True)


def test_a_request_is_shown_and_merged(
    up: Fencepost, done: dict[str, object], reader: Path
) -> None:
    """`show` has the evidence; `merge` moves the forge's base and leaves the source alone."""
    before = git("rev-parse", "main", directory=reader)
    request = done["pull_request"]
    assert isinstance(request, dict)
    named = f"listed:{request['number']}"

    shown = up("pull-requests", "show", named)
    merged = up("pull-requests", "merge", named)
    again = up("pull-requests", "merge", named)

    assert "Add y" in shown.out
    assert "`true`: exit 0" in shown.out
    assert merged.code == 0
    assert (again.code, "(merge_refused)" in again.err) == (2, True)
    assert git("rev-parse", "main", directory=reader) == before
    assert up("pull-requests", "close", named).code == 2


def test_cancelling_what_has_ended_is_refused(up: Fencepost, done: dict[str, object]) -> None:
    """An attempt that ended stays as it is."""
    said = up("attempts", "cancel", str(done["attempt"]))

    assert said.code == 2
    assert "(wrong_state)" in said.err
