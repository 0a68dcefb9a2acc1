"""A full disk costs no start: nothing is begun on one, and what it made fail waits for room."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import redis
from fixtures.small_disk import small_disk
from fixtures.stack import Stack
from sqlalchemy import select

from app import disk
from app.domain.errors import DiskFull, HostFailed, RemoteUnreadable
from app.events import Event, Moment, subscribers
from app.kinds import author
from app.store.schema import claims
from workers.room import Disk

MORE_THAN_THERE_IS = "900000T"
LEAST = 8 << 20

pytestmark = pytest.mark.contract("Q09")


@pytest.fixture
def moments() -> Iterator[list[Event]]:
    """Every moment of this process."""
    heard: list[Event] = []
    subscribers.append(heard.append)
    yield heard
    subscribers.remove(heard.append)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Say how much the disk of this process has to spare."""

    def say(size: int) -> None:
        monkeypatch.setattr(disk, "_free", lambda folder: size)

    return say


@pytest.fixture
def small(stack: Stack) -> Iterator[Path]:
    """Checkouts on a disk of 32 MB, of which 8 must be free."""
    stack.settings["FENCEPOST_LEAST_DISK"] = "8M"
    with small_disk(stack.home / "checkouts", "32m") as folder:
        yield folder
        for one in stack.roles:
            one.process.kill()
            one.process.wait(20)


@pytest.mark.contract("Q15")
def test_a_worker_without_room_takes_nothing_and_says_so(stack: Stack, work: str) -> None:
    """The message stays in Redis, unclaimed, until a worker with room comes; nothing is lost."""
    stack.start_dispatcher()
    stack.settings["FENCEPOST_LEAST_DISK"] = MORE_THAN_THERE_IS
    full = stack.start_worker(patience=2)
    stack.until(lambda: full.says("worker.no_room"))
    seen = stack.seen(stack.dispatch(work))
    stack.until(lambda: in_redis(stack) == 1)

    stack.settings["FENCEPOST_LEAST_DISK"] = "1"
    stack.start_worker()
    stack.until(lambda: seen.is_over)

    assert (seen.outcome, seen.starts(), seen.fence()) == ("done", 1, 1)
    assert full.is_alive
    assert not full.says("worker.stalled")


def test_work_waits_for_room_and_then_is_done(stack: Stack, work: str, small: Path) -> None:
    """What others left on the disk keeps work waiting for as long as it lies there."""
    (small / "theirs").write_bytes(bytes(28 << 20))
    stack.start_dispatcher()
    worker = stack.start_worker()
    seen = stack.seen(stack.dispatch(work))
    stack.until(lambda: worker.says("worker.no_room") and in_redis(stack) == 1)
    assert (seen.fence(), seen.starts()) == (0, 0)

    (small / "theirs").unlink()
    stack.until(lambda: seen.is_over)

    assert (seen.outcome, seen.starts(), seen.fence()) == ("done", 1, 1)
    assert worker.says("worker.room_again")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("head -c 28M /dev/zero > $TMPDIR/filled; exit 1", "sh: exit 1"),
        ("head -c 64M /dev/zero > filled", "No space left on device"),
    ],
    ids=["low", "full"],
)
def test_a_command_that_a_full_disk_made_fail_has_not_failed(
    stack: Stack, command: str, words: str
) -> None:
    """Its claim is handed back for capacity, with the disk as the reason and a pause behind it."""
    stack.start_dispatcher()
    stack.start_worker()
    seen = stack.seen(stack.dispatch(f"{stack.counted('author')}; {command}"))

    stack.until(lambda: released(stack))
    (detail, pause), *_ = released(stack)

    assert detail.startswith("capacity: disk_full: ")
    assert words in detail
    assert pause >= timedelta(seconds=30)
    assert (seen.outcome, seen.starts(), stack.count("author")) == (None, 1, 1)


def test_what_fails_without_room_fails_for_that(
    tmp_path: Path, free: Callable[[int], None], moments: list[Event]
) -> None:
    """Git's and the host's own words are told, but the class is that of a full disk."""
    of = Disk(tmp_path, LEAST)
    free(LEAST)
    with pytest.raises(RemoteUnreadable), of.heeded():
        raise RemoteUnreadable("no answer")
    with pytest.raises(DiskFull), of.heeded():
        raise OSError(28, "No space left on device")  # somebody made room meanwhile

    free(LEAST - 1)
    for fault in (RemoteUnreadable("unpacker error"), HostFailed("gone"), OSError(5, "io")):
        with pytest.raises(DiskFull, match=r"free in .*; "), of.heeded():
            raise fault

    assert [one.moment for one in moments] == [Moment.NO_ROOM]


def test_a_disk_at_the_limit_is_said_once(
    tmp_path: Path, free: Callable[[int], None], moments: list[Event]
) -> None:
    """It has room again only with a tenth more than the least, so a log is not filled by it."""
    of, said = Disk(tmp_path, LEAST), []
    for size in (LEAST, LEAST - 1, LEAST, LEAST - 1, LEAST + LEAST // 10):
        free(size)
        said.append(of.is_short())

    assert said == [False, True, True, True, False]
    assert [one.moment for one in moments] == [Moment.NO_ROOM, Moment.ROOM_AGAIN]


def test_the_fullest_of_its_folders_counts(tmp_path: Path) -> None:
    """Checkouts and mirrors may lie on other disks than the home; one that is not there, above."""
    found = disk.room(tmp_path / "not" / "there", 1)

    assert found.folder == str(tmp_path)
    assert found.free == shutil.disk_usage(tmp_path).free
    assert found.is_enough


def in_redis(stack: Stack) -> int:
    """How many messages wait."""
    with closing(redis.Redis.from_url(stack.redis_url)) as client:
        return int(client.llen(author.NAME))  # type: ignore[arg-type]  # sync


def released(stack: Stack) -> list[tuple[str, timedelta]]:
    """Why claims were handed back, and for how long at least."""
    with stack.store.begin() as tx:
        rows = tx.execute(
            select(claims.c.end_detail, claims.c.retry_at - claims.c.ended)
            .where(claims.c.end_cause == "released")
        ).all()  # fmt: skip
    return [(row[0], row[1]) for row in rows]
