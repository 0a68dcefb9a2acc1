"""Less, and more, of a repository than its files: what `fencepost run` is asked for."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.stack import a_repository
from fixtures.waiting import until

from app.repository.git import git

LOOK = (
    "find . -type f -not -path './.git/*' | sort > $TMPDIR/seen; "
    "git log --oneline | wc -l >> $TMPDIR/seen; mv $TMPDIR/seen seen.txt"
)


@pytest.fixture
def reader(repository: Path, tmp_path: Path) -> Path:
    """The reader's repository, with a second commit in which there is a submodule."""
    library = a_repository(tmp_path / "library", {"lib.py": "lib = 1\n"})
    names = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    allowed = ("-c", "protocol.file.allow=always")
    for words in (
        (*allowed, "submodule", "--quiet", "add", str(library), "vendor/lib"),
        ("commit", "-qm", "Second"),
    ):
        subprocess.run(["git", "-C", str(repository), *names, *words], check=True)
    return repository


def seen_by(up: Fencepost, at: Path, *options: str) -> tuple[list[str], int]:
    """The files that a run saw, and the files of the commit that came of it."""
    said = up("run", *options, "--", "sh", "-c", LOOK, at=at)
    assert said.code == 0, said.err + said.out
    (fetch,) = [line.strip() for line in said.out.splitlines() if "git fetch" in line]
    git(*fetch.split()[1:], directory=at)
    listed = git("ls-tree", "-r", "--name-only", "FETCH_HEAD", directory=at).split()
    return git("show", "FETCH_HEAD:seen.txt", directory=at).split(), len(listed)


@pytest.mark.contract("E01", "E04")
def test_a_run_sees_what_was_asked_for(up: Fencepost, reader: Path) -> None:
    """Folders alone, or submodules too; the commit has every file either way."""
    whole = seen_by(up, reader)
    sparse = seen_by(up, reader, "--sparse", "src/", "--depth", "1")
    filled = seen_by(up, reader, "--submodules", "--lfs")

    assert whole == (["./.gitmodules", "./docs/a.txt", "./src/a.py", "2"], 5)
    assert sparse == (["./.gitmodules", "./src/a.py", "1"], 5)
    assert filled == ([*whole[0][:-1], "./vendor/lib/lib.py", "2"], 5)


@pytest.mark.contract("E03")
def test_a_change_in_a_submodule_fails_the_attempt(up: Fencepost, reader: Path) -> None:
    """It is said where, and nothing is published."""
    command = "echo y >> vendor/lib/lib.py; echo y >> src/a.py"
    said = up("run", "--submodules", "--", "sh", "-c", command, at=reader)

    assert said.code == 1
    assert "submodule_link" in said.out + said.err
    assert "vendor/lib" in said.out + said.err


@pytest.mark.contract("E01")
def test_a_folder_that_is_not_there_fails_the_attempt(up: Fencepost, reader: Path) -> None:
    """A misspelled one would show an agent next to nothing, and it would work on that."""
    said = up("run", "--sparse", "scr", "--", "true", at=reader)

    assert said.code == 1
    assert "folder_missing" in said.out + said.err
    assert "no folder scr at" in said.out + said.err


def outcome(up: Fencepost, attempt: str) -> object:
    """What the attempt says of itself."""
    return up("attempts", "show", attempt, "--json").value["outcome"]


def submodule_at(reader: Path, url: str) -> None:
    """Commit another address of the submodule."""
    names = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    for words in (
        ["config", "-f", ".gitmodules", "submodule.vendor/lib.url", url],
        [*names, "commit", "-qam", "Third"],
    ):
        subprocess.run(["git", "-C", str(reader), *words], check=True)


@pytest.mark.contract("S03")
def test_a_submodule_of_a_refused_address_fails_the_attempt(up: Fencepost, reader: Path) -> None:
    """Another try would find the same address; nobody has to decide anything."""
    submodule_at(reader, "ext::sh -c true")

    said = up("run", "--submodules", "--", "true", at=reader)

    assert said.code == 1
    assert "unsafe_name" in said.out + said.err


@pytest.mark.contract("Q08", "E06")
def test_a_cancel_ends_a_fetch_that_nobody_answers(up: Fencepost, reader: Path) -> None:
    """It would take an hour; what closes the attempt needs none of it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        submodule_at(reader, f"http://127.0.0.1:{silent.getsockname()[1]}/x")
        attempt = up("run", "--detach", "--submodules", "--", "true", at=reader).out.strip()
        silent.settimeout(60)
        talk, _ = silent.accept()
        with talk:
            assert up("attempts", "cancel", attempt, "--reason", "never mind").code == 0

            until(lambda: outcome(up, attempt) == "canceled")


@pytest.mark.contract("Q08")
def test_a_cancel_ends_work_whose_submodules_are_not_to_be_had(up: Fencepost, reader: Path) -> None:
    """What waits between two tries of its checkout has nothing to fetch any more."""
    submodule_at(reader, "http://127.0.0.1:1/x")
    attempt = up("run", "--detach", "--submodules", "--", "true", at=reader).out.strip()
    until(lambda: "handed back" in up("explain", attempt).out)

    assert up("attempts", "cancel", attempt, "--reason", "never mind").code == 0

    until(lambda: outcome(up, attempt) == "canceled")


@pytest.mark.contract("S03")
@pytest.mark.parametrize(
    ("options", "code"),
    [(("--sparse", "../x"), "unsafe_path"), (("--depth", "0"), "bad_input")],
)
def test_what_cannot_be_checked_out_is_refused_at_once(
    own: Fencepost, repository: Path, options: tuple[str, ...], code: str
) -> None:
    """Before anything is started."""
    said = own("run", *options, "--", "true", at=repository)

    assert (said.code, f"({code})" in said.err) == (2, True)
