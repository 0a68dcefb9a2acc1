"""A list of repositories: how it is written, and what of it is refused before anything begins."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fixtures.command import Fencepost
from fixtures.stack import a_repository

from app.cli.order import Wanted
from app.cli.repos import line, reading
from app.cli.repos.entry import Entry, Standing
from app.cli.repos.line import Line
from app.cli.repos.summary import summary
from app.domain.errors import BaseDiverged, RemoteUnreadable, WorldFull

MINUTE = timedelta(minutes=1)


def test_every_faulty_line_is_named(own: Fencepost, tmp_path: Path) -> None:
    """All of them at once, each with its line and code; no server is started for it."""
    a_repository(tmp_path / "good", {"a.py": "x = 1\n"})
    listed = tmp_path / "list"
    listed.write_text(
        'good\n\nmissing  # was moved\ngood nowhere\ngood main more\n"good\n'
        "https://name:secret@example.invalid/a\next::sh\n-x\n"
    )

    said = own("run", "--repos", str(listed), "--", "true")

    assert said.code == 2
    assert [
        (one.split(":")[1], one.rpartition(" (")[2])
        for one in said.err.replace(" (unfit_list)", "").splitlines()
        if one.startswith(f"  {listed}:")
    ] == [
        ("3", "not_a_repository)"), ("4", "base_missing)"), ("5", "bad_line)"),
        ("6", "bad_line)"), ("7", "unsafe_name)"), ("8", "unsafe_name)"), ("9", "unsafe_name)"),
    ]  # fmt: skip
    assert "secret" not in said.err
    assert not own.home.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--repos", "nowhere"), "bad_input"),
        (("--repos", "empty"), "bad_input"),
        (("--repos", "list", "--repo", "."), "usage"),
        (("--repos", "list", "--again"), "usage"),
        (("--repos", "list", "--reason", "it is better now"), "usage"),
        (("--repos", "list", "--again", "--reason", "short"), "no_recovery_reason"),
        (("--again", "--reason", "it is better now"), "usage"),
        (("--repos", "list", "--check", " "), "bad_input"),
    ],
)
def test_what_does_not_go_together_is_refused(
    own: Fencepost, tmp_path: Path, words: tuple[str, ...], code: str
) -> None:
    """Options that make no sense end as exit 2, and nothing was started for them."""
    (tmp_path / "empty").write_text("# nothing yet\n")
    a_repository(tmp_path / "good", {"a.py": "x = 1\n"})
    (tmp_path / "list").write_text("good\n")

    said = own("run", *words, "--", "true", at=tmp_path)

    assert (said.code, f"({code})" in said.err) == (2, True), said.err
    assert not own.home.exists()


def test_lines_as_people_write_them(tmp_path: Path) -> None:
    """Blank lines, comments, quotes, a base, CRLF and a mark at the start are understood."""
    listed = tmp_path / "list"
    listed.write_bytes(
        b"\xef\xbb\xbfone\r\n\r\n# all of it\r\n  two main  # don't\r\n'with blank' \"a b\"\r\n"
        b"https://example.invalid/a#b\r\n/abs/it\\'s\r\ngit@example.invalid:a/b.git dev"
    )

    lines, faults = line.read(str(listed))

    assert faults == []
    assert lines == [
        Line(1, f"{tmp_path}/one", None),
        Line(4, f"{tmp_path}/two", "main"),
        Line(5, f"{tmp_path}/with blank", "a b"),
        Line(6, "https://example.invalid/a#b", None),
        Line(7, "/abs/it's", None),
        Line(8, "git@example.invalid:a/b.git", "dev"),
    ]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('"it\'s a \\"name\\"" main', ['it\'s a "name"', "main"]),
        ("'say \"x\"'", ['say "x"']),
        ("'it'\\''s'", ["it's"]),
        ("a\\ b\\#c", ["a b#c"]),
        ('a"b c"d', ["ab cd"]),
        ('"a\\b"', ["a\\b"]),
    ],
)
def test_a_line_is_quoted_as_in_a_shell(written: str, words: list[str]) -> None:
    """A path with a blank and a quote can be written, and means what `shlex` says it means."""
    assert line._words(written) == words == shlex.split(written, comments=False)


@pytest.mark.parametrize("written", ["it's", '"a', "a\\", "'a' 'b"])
def test_a_quote_that_is_not_closed_is_no_word(written: str) -> None:
    """Nobody guesses where it was meant to end."""
    assert line._words(written) is None


def test_a_faulty_list_has_one_code_on_each_line(own: Fencepost, tmp_path: Path) -> None:
    """That of the refusal on the first, that of a fault on its own."""
    listed = tmp_path / "list"
    listed.write_text('"a\nnowhere\n')

    said = own("run", "--repos", str(listed), "--", "true").err.splitlines()

    assert said[0] == "error: this list cannot be used (unfit_list):"
    assert [row.rpartition(" ")[2] for row in said[1:3]] == ["(bad_line)", "(not_a_repository)"]
    assert [row.count("(") for row in said[:3]] == [1, 1, 1]


def test_the_summary_says_what_keeps_the_rest_waiting() -> None:
    """What was held back has the reason for it; what waits is grouped by what it waits for."""
    held, cut, *waiting = (Entry(number, None, f"r{number}") for number in range(1, 6))
    held.hold(WorldFull("5 of 5 wait in world default"))
    for one in (held, cut):
        one.leave_out()
    for one in waiting:
        one.standing, one.attempt, one.why = Standing.QUEUED, "a_1", "its queue is paused"

    found = summary([held, cut, *waiting], 130, "")

    assert {(one["code"], one["detail"]) for one in found["failures"]} == {
        ("world_full", "5 of 5 wait in world default"),
        ("interrupted", "this run ended before it could begin"),
    }
    assert found["waiting"] == [
        {"standing": "queued", "why": "its queue is paused", "count": 3}
    ]  # fmt: skip


def test_the_same_line_twice_is_done_once(own: Fencepost, tmp_path: Path) -> None:
    """Two ways to one repository and base are one piece of work, and that is said."""
    a_repository(tmp_path / "good", {"src/a.py": "x = 1\n"})
    listed = tmp_path / "list"
    listed.write_text(f"good\ngood/src main\n{tmp_path}/good\ngood HEAD\n")

    said = own("run", "--repos", str(listed), "--json", "--", "true")

    assert said.code == 0, said.err
    assert said.lines[-1]["counts"] == {"unchanged": 2}, "a commit is another base than a branch"
    told = [one["text"] for one in said.lines if one.get("code") == "same_line"]
    assert told == [
        f"{listed}:2 is the same as line 1: it is done once",
        f"{listed}:3 is the same as line 1: it is done once",
    ]


def test_what_changes_the_meaning_is_other_work(tmp_path: Path) -> None:
    """Repository, base, command, paths, checks, title, time-outs, strategy: each is asked for."""
    for name in ("one", "two"):
        a_repository(tmp_path / name, {"a.py": "x = 1\n"})
    first = Wanted((), (), ("true",), None, MINUTE, MINUTE)
    changed: list[dict[str, Any]] = [
        {"paths": ("*.py",)}, {"checks": ("true",)}, {"command": ("false",)}, {"title": "Another"},
        {"timeout": 2 * MINUTE}, {"check_timeout": 2 * MINUTE}, {"serial": True},
    ]  # fmt: skip

    keys = [
        keys_of(tmp_path, wanted, base)
        for wanted in (first, *(replace(first, **change) for change in changed))
        for base in (None, "HEAD")
    ]

    assert len(set().union(*keys)) == 2 * 2 * 8
    assert keys_of(tmp_path, first, "main") == keys[0], "the branch one stands on, by its name"


@pytest.mark.parametrize(
    ("standings", "code"),
    [
        ("done unchanged", 0),
        ("done failed", 1),
        ("done canceled", 1),
        ("done dead unknown", 3),
        ("refused refused", 2),
        ("refused done", 1),
        ("refused unreadable", 1),
        ("unreadable", 1),
    ],
)
def test_the_exit_code_says_who_must_act(standings: str, code: int) -> None:
    """3 where a person is needed, 1 where any failed, 2 only where nothing could be begun."""
    entries = [an_entry(number, word) for number, word in enumerate(standings.split(), 1)]

    assert summary(entries, None, "")["exit_code"] == code


def an_entry(number: int, word: str) -> Entry:
    """An entry that stands so."""
    entry = Entry(number, None, f"r{number}")
    if word == "refused":
        entry.refuse(BaseDiverged("it went another way"), by_a_rule=True)
    elif word == "unreadable":
        entry.refuse(RemoteUnreadable("nobody answers"), by_a_rule=False)
    else:
        entry.standing = Standing(word)
    return entry


def keys_of(folder: Path, wanted: Wanted, base: str | None) -> set[str]:
    """What names that which is asked for on two repositories."""
    listed = folder / "list"
    listed.write_text("one\ntwo\n")
    return {one.key for one in reading.read(str(listed), wanted, base, lambda *_, **__: None)}
