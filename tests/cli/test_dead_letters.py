"""Dead letters at the command line: real processes, one letter and hundreds, and a kill -9."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.database import Database
from fixtures.letters import (
    a_message,
    dispatched_in_numbers,
    end_as_dead,
    replays_of,
)
from fixtures.spare import copied, dropped
from fixtures.stack import a_repository
from fixtures.waiting import until
from fixtures.world import activity_of
from sqlalchemy import func, select

from app.domain.dead_letter import LetterCause
from app.kinds import author
from app.repository import source
from app.store import dead_letters
from app.store.engine import Store, open_store
from app.store.schema import attempts
from app.transitions.dispatch import Base
from app.transitions.open_world import open_world
from app.verify.finding import Violation
from app.verify.reading import World, snapshot
from app.verify.registry import verify

REASON = ("--reason", "the workers are up to date")
SEEN = ("--reason", "its sender was told")
DEAD, LOST, JUNK = 160, 40, 2  #: letters of each sort


@pytest.fixture(scope="module")
def graveyard(server: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database with some hundred dead letters, all of one repository; copied, never used."""
    template = copied(server, server)
    place = a_repository(tmp_path_factory.mktemp("graveyard") / "source", {"a.py": "x = 1\n"})
    base = Base("main", source.inspect(str(place), None).sha)
    with (
        closing(open_store(template.app_url, name="test-app")) as store,
        closing(open_store(template.worker_url, name="test-worker")) as worker_store,
    ):
        world = open_world(store, "default")
        made = dispatched_in_numbers(store, world, DEAD + LOST, str(place), base)
        end_as_dead(store, worker_store, *made[LOST:])
        keys = [activity_of(store, one) for one in made[:LOST]]
        messages = [a_message(key, 1, v=2) for key in keys] + [b"junk", b"{}"]
        for message in messages:
            with worker_store.begin() as tx:
                dead_letters.bury_bytes(tx, author.NAME, LetterCause.UNKNOWN_VERSION, message)
    yield template
    dropped(template)


@pytest.fixture
def ground(server: Database, graveyard: Database) -> Iterator[Database]:
    """The same letters, for one test."""
    database = copied(server, graveyard)
    yield database
    dropped(database)


@pytest.fixture
def store(ground: Database) -> Iterator[Store]:
    """The control plane's login."""
    with closing(open_store(ground.app_url, name="test-app")) as store:
        yield store


@pytest.fixture
def fencepost(ground: Database, tmp_path: Path) -> Fencepost:
    """The command line on that database."""
    return Fencepost(tmp_path / "home", {"FENCEPOST_DATABASE_URL": ground.app_url})


@pytest.mark.contract("Q05")
def test_letters_are_listed_filtered_and_shown(fencepost: Fencepost, store: Store) -> None:
    """A table of few columns, the same in full for programs, and one letter with its message."""
    listed = fencepost("dead-letters", "list", "--limit", "5")
    filtered = fencepost("dead-letters", "list", "--cause", "out_of_time", "--world", "default",
                         "--kind", "missions.author", "--since", "1h", "--text", "part 17",
                         "--json")  # fmt: skip
    junk = fencepost("dead-letters", "list", "--text", "junk", "--json").value[0]["id"]
    shown = fencepost("dead-letters", "show", str(junk))
    raw = fencepost("dead-letters", "show", str(junk), "--bytes")
    missing = fencepost("dead-letters", "show", "4040")

    header, *rows = listed.out.splitlines()
    assert (listed.code, len(rows)) == (0, 5)
    assert 2 <= len([name for name in header.split("  ") if name]) <= 8
    assert f"the newest 5 of {DEAD + LOST + JUNK}" in listed.err
    assert "next: fencepost dead-letters show" in listed.err
    titles = {one["title"] for one in filtered.value}
    assert titles == {f"Part {n}" for n in range(170, 180)}
    assert "unknown_version" in shown.out
    assert "it names no activity, so nothing can be replayed" in shown.out
    assert "next: fencepost dead-letters dismiss " in shown.out
    assert raw.out == "junk"
    assert (missing.code, "(not_found)" in missing.err) == (2, True)


@pytest.mark.contract("Q05", "L8")
def test_one_letter_is_replayed_and_both_ends_say_so(fencepost: Fencepost, store: Store) -> None:
    """A dry run first; then an attempt, once; the letter and the attempt name each other."""
    letter = str(
        fencepost("dead-letters", "list", "--cause", "out_of_time", "--json").value[0]["id"]
    )

    dry = fencepost("dead-letters", "replay", letter, *REASON, "--dry-run")
    assert (dry.code, "1 would be replayed" in dry.out, replays_of(store)) == (0, True, {})
    assert f"{letter}: another attempt would be made" in dry.out
    assert "a_" not in dry.out  # no id of what was taken back
    dry = fencepost("dead-letters", "replay", letter, *REASON, "--dry-run", "--json")
    assert (dry.lines[0]["new"], dry.lines[0]["attempt"]) == (True, None)
    done = fencepost("dead-letters", "replay", letter, *REASON)
    again = fencepost("dead-letters", "replay", letter, *REASON)

    ((attempt, _),) = replays_of(store).values()
    assert (done.code, f"{letter}: attempt {attempt}" in done.out) == (0, True)
    assert (again.code, f"attempt {attempt}, before" in again.out) == (0, True)
    shown = fencepost("dead-letters", "show", letter)
    assert f"replayed as attempt {attempt} by local" in shown.out
    explained = fencepost("explain", str(attempt))
    assert f"the replay of dead letter {letter} (out_of_time)" in explained.out
    assert fencepost("dead-letters", "list", "--text", str(attempt), "--json").value == []


@pytest.mark.contract("Q05", "L8")
def test_a_replay_that_says_too_little_is_refused(fencepost: Fencepost, store: Store) -> None:
    """Which letters, and why: both are asked for, and neither is guessed."""
    letter = "1"
    nothing = fencepost("dead-letters", "replay", *REASON)
    both = fencepost("dead-letters", "replay", letter, "--all", *REASON)
    silent = fencepost("dead-letters", "replay", letter)
    short = fencepost("dead-letters", "replay", letter, "--reason", "because")
    junk = fencepost("dead-letters", "replay", "--text", "junk", *REASON)

    assert [one.code for one in (nothing, both, silent, short, junk)] == [2] * 5
    assert "(bad_input)" in nothing.err
    assert "(bad_input)" in both.err
    assert "--reason" in silent.err
    assert "(no_recovery_reason)" in short.err
    assert "nothing_to_replay 1" in junk.out
    assert replays_of(store) == {}


@pytest.mark.contract("Q05", "L7", "T03")
def test_a_replay_of_hundreds_survives_kill_9(
    fencepost: Fencepost, store: Store, ground: Database
) -> None:
    """Killed in the middle and typed again: every letter once, and the rest is told as it is."""
    words = ("dead-letters", "replay", "--all", *REASON, "--json")
    before = attempts_in(store)
    first = fencepost.begin(*words)
    until(lambda: len(replays_of(store)) >= 50, 60)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=20)
    left = len(replays_of(store))
    assert 50 <= left < DEAD + LOST

    said = fencepost(*words)

    came = replays_of(store)
    *lines, summary = said.lines
    assert said.code == 1  # the junk is refused
    assert summary["before"] == left
    assert summary["replayed"] == DEAD + LOST - left == sum(one["new"] for one in lines)
    assert summary["refused"] == {"nothing_to_replay": JUNK}
    assert len(came) == DEAD + LOST
    assert len({attempt for attempt, _ in came.values() if attempt}) == DEAD
    assert attempts_in(store) == before + DEAD
    assert violations(ground) == []


@pytest.mark.contract("Q05", "T05")
def test_two_who_replay_hundreds_at_once_replay_each_once(
    fencepost: Fencepost, store: Store, ground: Database
) -> None:
    """The same command in two terminals: together they do what one would have done."""
    words = ("dead-letters", "replay", "--cause", "out_of_time", *REASON, "--json")
    before = attempts_in(store)

    both = [fencepost.begin(*words) for _ in range(2)]
    said = [one.communicate(timeout=90)[0].splitlines() for one in both]

    assert [one.returncode for one in both] == [0, 0]
    news = sum(line.count('"new": true') for lines in said for line in lines)
    assert news == DEAD == len(replays_of(store))
    assert attempts_in(store) == before + DEAD
    assert violations(ground) == []


@pytest.mark.contract("Q05")
def test_a_rate_is_kept(fencepost: Fencepost, store: Store) -> None:
    """So many a second and no more: the load is the operator's to choose."""
    process = fencepost.begin(
        "dead-letters", "replay", "--cause", "out_of_time", *REASON, "--rate", "100/h"
    )
    until(lambda: len(replays_of(store)) == 1, 30)
    assert process.stdout
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)

    assert "attempt" in first
    assert process.returncode == 130
    assert len(replays_of(store)) == 1


def attempts_in(store: Store) -> int:
    """How many attempts there are."""
    with store.begin() as tx:
        return tx.execute(select(func.count()).select_from(attempts)).scalar_one()


def violations(database: Database) -> list[str]:
    """What `fencepost verify` finds."""
    found: list[str] = []
    with snapshot(database.app_url, Path("/nowhere")) as reading:
        worlds = [World(reading, row) for row in reading.worlds()]
        verify(reading, worlds, lambda one: found.append(str(one)) if breaks(one) else None)
    return found


def breaks(finding: object) -> bool:
    """A law, and not only something that could not be read."""
    return isinstance(finding, Violation)


@pytest.mark.contract("Q05", "L7", "L8")
def test_what_is_dismissed_leaves_the_list_and_the_counts(fencepost: Fencepost) -> None:
    """With a reason and a name behind it; it stays to be read, and nothing is dismissed twice."""
    junk = ("dead-letters", "dismiss", "--cause", "unknown_version", "--text", "junk")
    dry = fencepost(*junk, *SEEN, "--dry-run")
    assert (dry.code, dry.out) == (0, "1 would be dismissed\n")
    assert dead(fencepost) == DEAD + LOST + JUNK

    done = fencepost(*junk, *SEEN)
    again = fencepost(*junk, *SEEN)

    assert (done.code, done.out, again.out) == (0, "1 dismissed\n", "0 dismissed\n")
    assert dead(fencepost) == DEAD + LOST + JUNK - 1
    listed = ("dead-letters", "list", "--text", "junk", "--json")
    assert fencepost(*listed).value == []
    (line,) = fencepost(*listed, "--all").value
    letter = str(line["id"])
    assert line["came"] == "dismissed"
    shown = fencepost("dead-letters", "show", letter)
    assert "dismissed by local at " in shown.out
    assert "because: its sender was told" in shown.out
    in_full = fencepost("dead-letters", "show", letter, "--json").value
    assert in_full["dismissal"]["actor"] == "local"
    by_id = fencepost("dead-letters", "dismiss", letter, *SEEN)
    assert by_id.out == "0 dismissed, 1 replayed or dismissed before\n"


@pytest.mark.contract("Q05")
def test_hundreds_are_dismissed_and_no_replay_by_filter_takes_them_up(
    fencepost: Fencepost, store: Store
) -> None:
    """Only by its id is a dismissed letter replayed after all: that is somebody's word on it."""
    done = fencepost("dead-letters", "dismiss", "--all", *SEEN, "--json")
    assert done.value == {"dismissed": DEAD + LOST + JUNK, "before": 0, "dry_run": False}
    assert dead(fencepost) == 0
    assert "no dead letter is open" in fencepost("dead-letters", "list").out

    swept = fencepost("dead-letters", "replay", "--all", *REASON)
    assert (swept.code, replays_of(store)) == (0, {})
    every = ("dead-letters", "list", "--all", "--cause", "out_of_time", "--json")
    letter = fencepost(*every, "--limit", "1").value[0]["id"]
    assert fencepost("dead-letters", "replay", str(letter), *REASON).code == 0
    assert set(replays_of(store)) == {letter}


@pytest.mark.contract("Q05", "L8")
def test_a_dismissal_that_says_too_little_is_refused(fencepost: Fencepost) -> None:
    """Which letters, and why: both are asked for; of one that is none nothing is dismissed."""
    nothing = fencepost("dead-letters", "dismiss", *SEEN)
    short = fencepost("dead-letters", "dismiss", "1", "--reason", "seen")
    missing = fencepost("dead-letters", "dismiss", "1", "999999", *SEEN)

    codes = [one.err.splitlines()[0].rpartition("(")[2] for one in (nothing, short, missing)]
    assert codes == ["bad_input)", "no_recovery_reason)", "not_found)"]
    assert {one.code for one in (nothing, short, missing)} == {2}
    assert dead(fencepost) == DEAD + LOST + JUNK


def dead(fencepost: Fencepost) -> int:
    """How many dead letters `status` and `queues list` count; both say the same."""
    counted = int(fencepost("status", "--json").value["counts"]["dead"])
    queues = fencepost("queues", "list", "--json").value["queues"]
    assert sum(one["dead"] for one in queues) == counted
    return counted
