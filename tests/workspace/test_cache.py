"""A host's cache: each base is fetched once, no crash spoils it, and nothing in use leaves it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from fixtures.small_disk import small_disk

from app.caches import CacheBounds
from app.domain.errors import GitFailed, HostFailed, RemoteUnreadable
from app.events import Event, Moment, subscribers
from app.repository.git import attempt, git
from app.repository.remote import Remote
from workers.housekeeping import Housekeeping
from workers.workspace import cache as caching
from workers.workspace.cache import BASES, Cache, lock_of
from workers.workspace.cache_sweep import sweep_caches
from workers.workspace.checkout import open_checkout
from workers.workspace.locking import locked
from workers.workspace.presence import carrying

pytestmark = pytest.mark.contract("E01")

NONE = CacheBounds(limit=0)
WRITER = """
import sys
from pathlib import Path
from app.repository.remote import Remote
from workers.workspace.cache import Cache

folder, url, commit = sys.argv[1:]
with Cache(Path(folder), "r") as cache:
    cache.bring(Remote(url), commit)
"""


@pytest.fixture
def caches(tmp_path):
    """Where the caches are."""
    return tmp_path / "cache"


@pytest.fixture
def fetches(monkeypatch):
    """Every fetch of this process, which still happens."""
    heard, real = [], caching.fetch_commit

    def fetch(git_dir, remote, commit, **how):
        heard.append((git_dir.stem, commit))
        real(git_dir, remote, commit, **how)

    monkeypatch.setattr(caching, "fetch_commit", fetch)
    return heard


@pytest.fixture
def silent():
    """A server that takes a request and never answers it."""
    asked, over = threading.Event(), threading.Event()

    class Silence(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.set()
            over.wait()

        def log_message(self, *parts):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Silence) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield f"http://127.0.0.1:{server.server_port}/r.git", asked
        over.set()
        server.shutdown()


def test_thirty_two_slots_fetch_a_base_once(caches, upstream, base, fetches):
    """Whoever comes while it is fetched waits and finds it; nobody asks the remote again."""

    def slot(_):
        with Cache(caches, "r") as cache:
            cache.bring(upstream.remote, base)
            return cache.holds(base)

    with ThreadPoolExecutor(32) as slots:
        assert all(slots.map(slot, range(32)))

    assert fetches == [("r", base)]


def test_repositories_do_not_wait_for_each_other(caches, upstream, base):
    """While one repository's cache is written, another's is fetched."""
    with Cache(caches, "one") as one, Cache(caches, "other") as other, locked(lock_of(one.git_dir)):
        other.bring(upstream.remote, base)

        assert other.holds(base)


def test_a_killed_workers_fetch_is_ended_and_made_good(caches, upstream, base, silent, until):
    """Its lock is free when it is dead, its git is not: the next one ends that, and fetches."""
    url, asked = silent
    worker = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(caches), url, base], cwd=Path(__file__).parents[2]
    )
    assert asked.wait(20)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    mark = {caching.WRITER: str(caches / "r.git")}
    assert carrying(mark), "the orphan that this is about"

    with Cache(caches, "r") as cache:
        cache.bring(upstream.remote, base)

        assert cache.holds(base)
    until(lambda: not carrying(mark))


def test_what_a_crash_left_is_cleared_away(caches, tmp_path, upstream, base, files):
    """Stale locks, half packs, broken refs and a lost HEAD need no person, and cost no object."""
    with Cache(caches, "r") as cache:
        cache.bring(upstream.remote, base)
        newer = upstream.commit(files | {b"new": ("100644", b"new\n")}, parent=base)
        upstream.point("refs/heads/main", newer)
        there = cache.git_dir
        left = [
            "packed-refs.lock", "shallow.lock", "config.lock", f"{BASES}{newer}.lock",
            "objects/pack/tmp_pack_XyZ", "objects/pack/.tmp-1-pack-2.pack",
            f"objects/pack/pack-{'0' * 40}.pack", f"objects/pack/pack-{'1' * 40}.keep",
            "objects/incoming-x/pack", "objects/tmp_objdir-incoming-y/ab/cd",
        ]  # fmt: skip
        for name in left:
            (there / name).parent.mkdir(parents=True, exist_ok=True)
            (there / name).write_bytes(b"half")
        (there / "refs/fencepost/bases" / ("3" * 40)).write_text("")
        (there / "refs/fencepost/bases" / ("4" * 40)).write_text("4" * 40 + "\n")
        (there / "HEAD").unlink()
        (there / "config").write_text("[core\n")

        cache.bring(upstream.remote, newer)

        assert [name for name in left if (there / name).exists()] == []
        with open_checkout(tmp_path / "c", "a-1", upstream.remote, newer, cache.objects) as one:
            assert (one.tree / "new").exists()
        refs = git("for-each-ref", "--format=%(refname:lstrip=3)", BASES, git_dir=there).split()
        assert set(refs) == {base, newer}


def test_a_commit_without_its_tree_does_not_count_as_fetched(caches, tmp_path, upstream, base):
    """What a kill left of a fetch may hold a commit and not what it names; it is fetched again."""
    with Cache(caches, "r") as cache:
        cache.prepared()
        alone(cache, upstream, base)
        assert not cache.holds(base)

        cache.bring(upstream.remote, base)

        with open_checkout(tmp_path / "c", "a-1", upstream.remote, base, cache.objects) as checkout:
            assert (checkout.tree / "src/a.py").exists()


def test_a_damaged_cache_is_begun_anew_once_it_is_idle(caches, tmp_path, upstream, base):
    """One of which no checkout could be made goes, but not under a checkout that still lives."""
    with Cache(caches, "r") as cache:
        cache.bring(upstream.remote, base)
        for pack in cache.objects.glob("pack/pack-*"):
            pack.unlink()
        alone(cache, upstream, base)
        with pytest.raises(GitFailed):
            open_checkout(tmp_path / "c", "a-1", upstream.remote, base, cache.objects)
        cache.doubt()

        with Cache(caches, "r") as second, pytest.raises(GitFailed, match="others still use it"):
            second.bring(upstream.remote, base)

    with Cache(caches, "r") as cache:
        cache.bring(upstream.remote, base)
        with open_checkout(tmp_path / "c", "a-1", upstream.remote, base, cache.objects) as checkout:
            assert (checkout.tree / "README.md").exists()


def test_a_cache_at_work_is_never_removed(caches, tmp_path, upstream, base):
    """Whatever the bounds: what a living checkout borrows stays; idle ones go, oldest first."""
    for number, name in enumerate(("old", "young", "used")):
        with Cache(caches, name) as cache:
            cache.bring(upstream.remote, base)
        os.utime(caches / f"{name}.use", (number + 1, number + 1))
    whole = sum(one.stat().st_blocks * 512 for one in caches.rglob("*") if one.is_file())
    (caches / ".left").mkdir()

    with Cache(caches, "used") as used:
        checkout = open_checkout(tmp_path / "c", "a-1", upstream.remote, base, used.objects)
        years = timedelta(days=365 * 100)
        assert sweep_caches(caches, CacheBounds(whole - 1, years)) == ["old"]
        assert sweep_caches(caches, CacheBounds(whole, timedelta(days=1))) == ["young"]
        assert sweep_caches(caches, NONE) == []
        assert git("fsck", git_dir=checkout.git_dir) == ""
        checkout.close()

    assert sweep_caches(caches, NONE) == ["used"]
    assert list(caches.iterdir()) == []


def test_a_worker_makes_room_of_what_nobody_uses(caches, tmp_path, upstream, base):
    """Within their bounds caches stay; where the disk is short the idle ones go, and it is said."""
    with Cache(caches, "idle") as idle:
        idle.bring(upstream.remote, base)
    keeping = Housekeeping(tmp_path / "c", caches, CacheBounds(), lambda: False)
    keeping.tidy()
    assert idle.git_dir.exists()

    with Cache(caches, "used") as used:
        used.bring(upstream.remote, base)
        heard: list[Event] = []
        subscribers.append(heard.append)
        try:
            keeping.make_room()
        finally:
            subscribers.remove(heard.append)

        assert [(one.moment, one.facts["name"]) for one in heard] == [(Moment.CACHE_SWEPT, "idle")]
        assert used.holds(base)


def test_sweepers_and_borrowers_may_race(caches, upstream, base):
    """A cache that is removed again and again is whole for everybody who borrows from it."""
    done = threading.Event()

    def remove_all():
        while not done.is_set():
            sweep_caches(caches, NONE)

    def borrow(_):
        with Cache(caches, "r") as cache:
            cache.bring(upstream.remote, base)
            return attempt("rev-parse", f"{base}^{{tree}}", git_dir=cache.git_dir).code

    sweepers = [threading.Thread(target=remove_all) for _ in range(2)]
    for sweeper in sweepers:
        sweeper.start()
    try:
        with ThreadPoolExecutor(4) as slots:
            assert set(slots.map(borrow, range(24))) == {0}
    finally:
        done.set()
        for sweeper in sweepers:
            sweeper.join()


def test_packing_anew_loses_nothing_under_a_living_checkout(
    caches, tmp_path, monkeypatch, upstream, base, files
):
    """Many packs become few, and a base that nobody names any more is still there to be read."""
    monkeypatch.setattr(caching, "MOST_PACKS", 3)
    monkeypatch.setattr(caching, "_MOST_BASES", 2)
    with Cache(caches, "r") as cache:
        cache.bring(upstream.remote, base)
        checkout = open_checkout(tmp_path / "c", "a-1", upstream.remote, base, cache.objects)
        for number in range(6):  # each a history of its own: the first is on no branch any more
            content = f"{number}\n".encode()
            other = upstream.commit({b"other": ("100644", content)})
            upstream.point("refs/heads/main", other)
            cache.bring(upstream.remote, other)

        assert len(list(cache.objects.glob("pack/*.pack"))) <= 3
        assert len(git("for-each-ref", BASES, git_dir=cache.git_dir).splitlines()) == 2
        (checkout.tree / "src/a.py").write_text("a = 2\n")
        tree = checkout.snapshot()
        assert [change.path for change in checkout.changes(base, tree)] == ["src/a.py"]
        git("fsck", "--strict", git_dir=checkout.git_dir)
        checkout.close()


def test_a_full_disk_leaves_nothing_half_made(tmp_path, upstream, base, files):
    """The fault is this host's, so that work waits for room; with room the same fetch succeeds."""
    big = upstream.commit(files | {b"big": ("100644", os.urandom(4 << 20))}, parent=base)
    upstream.point("refs/heads/main", big)
    with small_disk(tmp_path / "small", "2m") as small, Cache(small / "cache", "r") as cache:
        with pytest.raises(HostFailed):
            cache.bring(upstream.remote, big)
        left = [one.name for one in cache.objects.rglob("*") if one.is_file()]
        assert (left, cache.holds(big)) == ([], False)

        subprocess.run(["mount", "-o", "remount,size=16m", str(small)], check=True)
        cache.bring(upstream.remote, big)
        assert cache.holds(big)


def test_a_remote_that_does_not_answer_spoils_nothing(caches, upstream, base):
    """What is here is used while the remote is away, and is not doubted for it."""
    with Cache(caches, "r") as cache:
        cache.bring(upstream.remote, base)
        with pytest.raises(RemoteUnreadable):
            cache.bring(Remote("/nowhere.git"), "12" * 20)

        cache.bring(Remote("/nowhere.git"), base)
        assert cache.holds(base)


def alone(cache, upstream, commit):
    """Put a commit into a cache, and nothing that it names."""
    raw = upstream.git("cat-file", "commit", commit).encode() + b"\n"
    words = ("hash-object", "-t", "commit", "-w", "--stdin")
    assert git(*words, git_dir=cache.git_dir, stdin=raw) == commit
