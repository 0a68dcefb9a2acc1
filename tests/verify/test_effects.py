"""The remote is read too: what it shows is held against what was recorded."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from fixtures.database import Database
from fixtures.spare import copied, dropped
from fixtures.stack import Stack

from app.domain.digest import canonical, parse
from app.embedded.servers import Addresses
from app.repository.git import git
from app.store.engine import open_store
from app.verify.finding import Finding
from app.verify.reading import World, snapshot
from app.verify.registry import verify

LEDGER = "refs/fencepost/forge/requests"


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror that a test may spoil."""

    git_dir: Path

    def git(self, *words: str, stdin: bytes = b"") -> str:
        return git(*words, git_dir=self.git_dir, stdin=stdin)

    def ref(self, prefix: str) -> str:
        """The one ref below a prefix."""
        (name,) = self.git("for-each-ref", "--format=%(refname)", prefix).splitlines()
        return name

    def rewrite(self, ref: str, name: str, data: bytes) -> None:
        """Another commit with the same parents, one file of which is different."""
        blob = self.git("hash-object", "-w", "--stdin", stdin=data)
        rows = [
            row for row in self.git("ls-tree", ref).splitlines() if not row.endswith(f"\t{name}")
        ]
        rows.append(f"100644 blob {blob}\t{name}")
        tree = self.git("mktree", stdin="".join(f"{row}\n" for row in rows).encode())
        parents = [
            word for sha in self.git("rev-parse", f"{ref}^@").split() for word in ("-p", sha)
        ]
        who = ("-c", "user.name=X", "-c", "user.email=x@example.org")
        commit = self.git(*who, "commit-tree", tree, *parents, "-m", "another")
        self.git("update-ref", ref, commit)


@pytest.fixture(scope="module")
def published(
    server: Database, embedded: Addresses, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """A stack that has carried one attempt from command to pull request."""
    database = copied(server, server)
    with closing(open_store(database.app_url, name="test-stack")) as store:
        stack = Stack(tmp_path_factory.mktemp("stack"), database, store, embedded.redis_url)
        stack.build()
        attempt = stack.dispatch("echo 'x = 2' > a.py", "grep 2 a.py")
        stack.until(lambda: stack.seen(attempt).is_over)
        yield stack
        stack.close()
    dropped(database)


@pytest.fixture
def mirror(published: Stack, tmp_path: Path) -> Mirror:
    """A copy of the stack's mirror."""
    shutil.copytree(published.home / "forge", tmp_path / "forge")
    (git_dir,) = (tmp_path / "forge").glob("*.git")
    return Mirror(git_dir)


def found(stack: Stack, mirrors: Path) -> list[Finding]:
    """All that verify has to say."""
    said: list[Finding] = []
    with snapshot(stack.database.app_url, mirrors) as reading:
        verify(reading, [World(reading, row) for row in reading.worlds()], said.append)
    return said


@pytest.mark.contract("S04", "L2", "L3", "L4", "L5", "L6", "L9", "L10", "G02")
def test_whole_road_by_real_processes_is_clean(published: Stack) -> None:
    """Dispatcher, worker and forge leave nothing to find, and nothing that could not be read."""
    assert [str(one) for one in found(published, published.home / "forge")] == []


def reopened(mirror: Mirror) -> None:
    ref = mirror.ref("refs/fencepost/operations")
    mirror.git("update-ref", ref, mirror.git("rev-parse", f"{ref}^"))


def published_again(mirror: Mirror) -> None:
    ref = mirror.ref("refs/fencepost/operations")
    value = parse(mirror.git("cat-file", "blob", f"{ref}:observation.json").encode())
    assert isinstance(value, dict)
    mirror.rewrite(ref, "observation.json", canonical({**value, "late": True}))


def without_branch(mirror: Mirror) -> None:
    mirror.git("update-ref", "-d", mirror.ref("refs/heads/fencepost"))


def moved_branch(mirror: Mirror) -> None:
    base = mirror.git("rev-parse", "refs/heads/main")
    mirror.git("update-ref", mirror.ref("refs/heads/fencepost"), base)


def opened_twice(mirror: Mirror) -> None:
    value = parse(mirror.git("cat-file", "blob", f"{LEDGER}:1.json").encode())
    assert isinstance(value, dict)
    mirror.rewrite(LEDGER, "2.json", canonical({**value, "number": 2}))


def without_request(mirror: Mirror) -> None:
    mirror.git("update-ref", "-d", LEDGER)


@pytest.mark.contract("L4", "L5", "L9", "G02")
@pytest.mark.parametrize(
    ("damage", "table", "law"),
    [
        (reopened, "results", "L9"),
        (published_again, "results", "L5"),
        (without_branch, "results", "L4"),
        (moved_branch, "results", "L4"),
        (opened_twice, "activities", "G02"),
        (without_request, "results", "L4"),
    ],
)
def test_remote_that_shows_something_else_is_named(
    published: Stack, mirror: Mirror, damage: Callable[[Mirror], None], table: str, law: str
) -> None:
    """One effect per operation, as it was recorded; any other state of the remote is found."""
    damage(mirror)

    named = [str(one) for one in found(published, mirror.git_dir.parent)]

    assert any(line.startswith(f"{law} {table} ") for line in named), named


def test_remote_out_of_reach_is_no_violation(published: Stack, tmp_path: Path) -> None:
    """What cannot be read is counted and said, and proves nothing."""
    said = [str(one) for one in found(published, tmp_path)]

    assert len(said) == 2
    assert all(line.startswith("not read: ") for line in said)
