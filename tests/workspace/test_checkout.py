"""A checkout is a claim's own, and goes away on every way out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.domain.errors import BaseMissing, RemoteUnreadable, UnsafeName, WrongState
from app.repository.git import git
from app.repository.remote import Remote
from workers.workspace.checkout import open_checkout, sweep

pytestmark = pytest.mark.contract("E01")

OWNER = """
import sys
from pathlib import Path
from app.repository.remote import Remote
from workers.workspace.checkout import open_checkout

folder, name, remote, base = sys.argv[1:]
open_checkout(Path(folder), name, Remote(remote), base, None)
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path):
    """Where the checkouts are."""
    return tmp_path / "checkouts"


def test_holds_the_base_in_private_folders(checkout):
    """The tree has the base's files, and nobody else can look into the checkout."""
    assert (checkout.tree / "src/deep/b.py").read_text() == "b = 1\n"
    assert os.access(checkout.tree / "run.sh", os.X_OK)
    assert checkout.root.stat().st_mode & 0o777 == 0o700
    assert checkout.scratch.is_dir()


def test_the_agents_git_works_at_once(checkout, base):
    """The agent can ask its own git for status and difference without any set-up."""
    (checkout.tree / "src/a.py").write_text("a = 2\n")

    status = _agents_git(checkout.tree, "status", "--porcelain")
    difference = _agents_git(checkout.tree, "diff", "--name-only")
    head = _agents_git(checkout.tree, "rev-parse", "HEAD")

    assert (status, difference, head) == (" M src/a.py\n", "src/a.py\n", base + "\n")


def test_shares_no_ref_with_the_mirror(checkout, upstream):
    """What the worker does in its git folder leaves no ref and no lock in the mirror."""
    before = upstream.git("for-each-ref")

    tree = checkout.snapshot()
    git("update-ref", "refs/tags/mine", tree, git_dir=checkout.git_dir)

    assert upstream.git("for-each-ref") == before


def test_works_without_a_mirror(folder, upstream, base):
    """Without shared objects the base is fetched from the remote."""
    with open_checkout(folder, "a1-author-1", upstream.remote, base, None) as checkout:
        assert (checkout.tree / "README.md").read_text() == "hello\n"
        assert checkout.changes(base, checkout.snapshot()) == []


def test_a_stale_mirror_is_made_up_for(folder, tmp_path, upstream, base, files):
    """A base that the shared objects lack comes from the remote."""
    mirror = tmp_path / "mirror.git"
    git("clone", "--quiet", "--bare", upstream.url, str(mirror))
    newer = upstream.commit(files | {b"new": ("100644", b"new\n")}, parent=base)
    upstream.point("refs/heads/main", newer)

    with open_checkout(
        folder, "a1-author-1", upstream.remote, newer, mirror / "objects"
    ) as checkout:
        assert (checkout.tree / "new").exists()
        subprocess.run(["git", "fsck", "--connectivity-only"], cwd=checkout.tree, check=True)


def test_is_removed_on_every_way_out(folder, upstream, base):
    """An error inside leaves neither folder nor lock, whatever modes the agent set."""

    def fail():
        with open_checkout(folder, "a1-author-1", upstream.remote, base, None) as checkout:
            (checkout.tree / "src").chmod(0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        ({"base": "12" * 20}, BaseMissing),
        ({"remote": Remote("nowhere.git")}, RemoteUnreadable),
        ({"name": "../outside"}, UnsafeName),
        ({"name": "-option"}, UnsafeName),
        ({"name": "a.lock"}, UnsafeName),
    ],
)
def test_what_cannot_be_opened_leaves_nothing(folder, upstream, base, wrong, refusal):
    """A missing base, a silent remote and an unsafe name are told apart, and nothing stays."""
    asked = {"name": "a1-author-1", "remote": upstream.remote, "base": base} | wrong

    with pytest.raises(refusal):
        open_checkout(folder, objects=None, **asked)

    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_living_owner_keeps_its_checkout(folder, checkout, upstream, base):
    """Neither a second claimant nor the sweep gets at a checkout whose owner lives."""
    with pytest.raises(WrongState):
        open_checkout(folder, "a1-author-1", upstream.remote, base, None)

    assert sweep(folder) == []
    assert (checkout.tree / "README.md").exists()


def test_a_dead_owners_checkout_is_swept(folder, upstream, base):
    """What a killed worker left is removed, and a living one's is not."""
    dead, living = (
        subprocess.Popen(
            [sys.executable, "-c", OWNER, str(folder), name, upstream.url, base],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        for name in ("a1-author-1", "a2-author-1")
    )
    for owner in (dead, living):
        assert owner.stdout.readline() == b"open\n"
    dead.send_signal(signal.SIGKILL)
    dead.wait()

    swept = sweep(folder)

    assert swept == ["a1-author-1"]
    assert (folder / "a2-author-1/tree/README.md").exists()
    living.communicate()
    assert sweep(folder) == ["a2-author-1"]
    assert list(folder.iterdir()) == []


def test_sweepers_and_owners_may_race(folder, upstream, base):
    """A checkout that is opened while others sweep is whole, every time."""
    done = threading.Event()
    sweepers = [threading.Thread(target=lambda: _sweep_until(folder, done)) for _ in range(3)]
    for sweeper in sweepers:
        sweeper.start()

    try:
        for _ in range(8):
            with open_checkout(folder, "a-1", upstream.remote, base, upstream.objects) as checkout:
                assert (checkout.tree / "README.md").exists()
                checkout.snapshot()
    finally:
        done.set()
        for sweeper in sweepers:
            sweeper.join()


def _agents_git(tree, *arguments):
    done = subprocess.run(["git", *arguments], cwd=tree, text=True, check=True, capture_output=True)
    return done.stdout


def _sweep_until(folder, done):
    while not done.is_set():
        sweep(folder)
