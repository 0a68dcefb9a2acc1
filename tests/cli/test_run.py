"""The main job at the command line: how it ends, and what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.command import Fencepost, Said
from fixtures.role import naming

from app.repository.git import git

CHANGE = ("sh", "-c", "echo y = 2 >> src/a.py")


def traces(up: Fencepost) -> tuple[set[str], list[Path]]:
    """Every branch and request of every mirror, and every checkout."""
    refs: set[str] = set()
    for mirror in (up.home / "forge").glob("*.git"):
        wanted = ("refs/heads/fencepost", "refs/pull")
        listed = git("for-each-ref", "--format=%(refname)", *wanted, git_dir=mirror)
        refs |= {f"{mirror.name} {ref}" for ref in listed.split()}
    return refs, list((up.home / "checkouts").glob("*"))


def summary(said: Said) -> dict[str, object]:
    """The last line of `--json`."""
    return said.lines[-1]


@pytest.mark.contract("O10")
def test_a_run_ends_with_a_pull_request(up: Fencepost, repository: Path) -> None:
    """One command leads from a change to a request whose diff is exactly that change."""
    said = up("run", "--check", "grep -q y src/a.py", "--", *CHANGE, at=repository)

    assert said.code == 0, said.err
    assert said.out.startswith("pull request #1  ")
    number = said.out.partition("fencepost pull-requests show ")[2].split()[0]
    patch = up("pull-requests", "show", number, "--diff").out
    assert [line for line in patch.splitlines() if line[:1] in "+-"][2:] == ["+y = 2"]
    assert git("status", "--porcelain", directory=repository) == ""


def test_the_command_to_fetch_works(up: Fencepost, repository: Path) -> None:
    """The printed `git fetch` brings the candidate into the reader's clone."""
    said = up("run", "--", *CHANGE, at=repository)

    (fetch,) = [line.strip() for line in said.out.splitlines() if "git fetch" in line]
    git(*fetch.split()[1:], directory=repository)

    assert git("show", "FETCH_HEAD:src/a.py", directory=repository) == "x = 1\ny = 2"


def test_json_is_a_line_an_event_and_a_summary_last(up: Fencepost, repository: Path) -> None:
    """A program reads every event as a line of JSON, and the outcome from the last."""
    said = up("run", "--json", "--check", "true", "--", *CHANGE, at=repository)

    assert said.err == ""
    kinds = [line["type"] for line in said.lines]
    assert {"message", "claim.taken", "event.command", "result.recorded"} <= set(kinds)
    assert kinds.index("claim.taken") < kinds.index("start.recorded") < kinds.index("event.start")
    assert kinds[-1] == "summary"
    last = summary(said)
    assert (last["outcome"], last["exit_code"]) == ("done", 0)
    assert last["files"] == [{"change": "modified", "path": "src/a.py"}]


def test_a_command_that_changes_nothing_is_unchanged(up: Fencepost, repository: Path) -> None:
    """Nothing to publish is no failure: exit 0, and no request."""
    before = traces(up)

    said = up("run", "--", "true", at=repository)

    assert said.code == 0
    assert said.out.startswith("unchanged: ")
    assert traces(up) == before


def test_a_dirty_work_tree_is_warned_about(up: Fencepost, repository: Path) -> None:
    """What no commit holds is not used, and that is said."""
    (repository / "src" / "a.py").write_text("uncommitted\n")

    said = up("run", "--json", "--", "sh", "-c", "cat src/a.py; echo z >> docs/a.txt",
              at=repository)  # fmt: skip

    assert said.lines[0]["code"] == "dirty"
    assert "x = 1" in [line["value"]["text"].strip() for line in said.lines
                       if line["type"] == "event.output"]  # fmt: skip


def test_what_happened_to_files_is_told(up: Fencepost, repository: Path) -> None:
    """A renamed file is told with its old name, a mode in words, a command with its quotes."""
    change = "mv src/a.py src/b.py; chmod +x docs/a.txt"

    said = up("run", "--", "sh", "-c", change, at=repository)

    assert "    renamed src/a.py to src/b.py\n" in said.out
    assert "    mode changed docs/a.txt\n" in said.out
    assert f"runs: sh -c '{change}'" in said.err


def test_a_failing_check_is_heard(up: Fencepost, repository: Path) -> None:
    """What a check complains about is shown with the outcome, and again later."""
    check = "echo the reason is $((40 + 2)); false"

    said = up("run", "--check", "true", "--check", check, "--", *CHANGE, at=repository)

    attempt = said.out.partition("  attempt   ")[2].split()[0]
    for out in (said.out, up("attempts", "show", attempt).out):
        assert f"  check {check} ended with:\n    the reason is 42\n" in out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--repo", "/"), "not_a_repository"),
        (("--repo", "{empty}"), "empty_repository"),
        (("--base", "nowhere"), "base_missing"),
        (("--path", "/etc"), "unsafe_path"),
        (("--path", "src/../.."), "unsafe_path"),
        (("--check", " "), "bad_input"),
        (("--title", " "), "bad_input"),
        (("--timeout", "soon"), "usage"),
        (("--repo", "ext::sh -c true"), "unsafe_name"),
        (("--repo", "https://name:secret@example.invalid/a"), "unsafe_name"),
    ],
)
def test_bad_input_is_refused_before_anything(
    own: Fencepost, repository: Path, tmp_path: Path, words: tuple[str, str], code: str
) -> None:
    """What cannot be meant is refused with its code and exit 2; no server is started for it."""
    git("init", "--quiet", str(tmp_path / "empty"))
    given = [word.replace("{empty}", str(tmp_path / "empty")) for word in words]

    said = own("run", *given, "--", "true", at=repository)

    assert said.code == 2
    assert f"({code})\n  " in said.err, "the code, and on the next line what to do"
    assert "secret" not in said.err
    assert said.out == ""
    assert not own.home.exists()


@pytest.mark.parametrize(
    ("words", "command", "code"),
    [
        ((), "no-such-command", "command_not_found"),
        ((), "sh -c 'echo y >> src/a.py; exit 3'", "command_failed"),
        (("--path", "docs"), "sh -c 'echo y >> src/a.py'", "outside_scope"),
        (("--path", "nothing/**"), "true", "path_matches_nothing"),
        (("--check", "false"), "sh -c 'echo y >> src/a.py'", "check_failed"),
        (("--check", "sleep 60", "--check-timeout", "1s"), "sh -c 'echo y >> src/a.py'",
         "check_timed_out"),
        (("--timeout", "1s"), "sleep 60", "deadline_exceeded"),
    ],
)  # fmt: skip
def test_a_failure_publishes_nothing(
    up: Fencepost, repository: Path, words: tuple[str, ...], command: str, code: str
) -> None:
    """A run that is not green ends with its code and exit 1, and leaves no trace at the forge."""
    before = traces(up)

    script = repository.parent / "script"
    script.write_text(f"exec {command}\n")
    run = command.split() if " '" not in command else ["sh", str(script)]
    said = up("run", "--json", *words, "--", *run, at=repository)

    assert said.code == 1, said.err
    last = summary(said)
    assert last["outcome"] == "failed"
    assert code in [friction["code"] for friction in last["frictions"]]  # type: ignore[attr-defined]
    assert traces(up) == before
    left = [line for line in naming(up.home).values() if "sleep 60" in line]
    assert left == []
