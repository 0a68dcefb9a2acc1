"""What every forge must do (G08). A new forge adds a stand here and passes before anything else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest
from doubles.github.server import GitHub

from app.config import Secret
from app.domain.errors import ForgeRefused, PushLost, RequestExists
from app.domain.head import HeadMove
from app.domain.identity import OperationId
from app.domain.pull_request import Adopt, ForgeRequest, Lineage, RequestState, permit
from app.github.account import Account
from app.github.hub import Hub
from app.repository.git import git
from app.repository.mirror import Mirror, open_mirror
from app.repository.requests import close, merge, open_request
from workers.forges import FORGES
from workers.forges.base import Forge, Place, RequestDraft, marker_of

NAME = "acme/widgets"
OPERATION = OperationId("a" * 64)
DRAFT = RequestDraft("Add work", "What was done.", "work", "main", OPERATION)

pytestmark = pytest.mark.contract("G08")


class Stand(Protocol):
    """A forge under test, and the hands of other people on it."""

    forge: Forge

    def push(self, branch: str, parent: str | None) -> str: ...
    def delete(self, branch: str) -> None: ...
    def end(self, number: int) -> None: ...
    def merge(self, number: int) -> None: ...
    def open_by_hand(self, head: str, base: str) -> int: ...
    def close(self) -> None: ...


class LocalStand:
    """The local forge on a real bare repository."""

    def __init__(self, folder: Path) -> None:
        self.mirror: Mirror = open_mirror(folder, "repo_1")
        self.forge: Forge = FORGES["local"](Place(folder, "repo_1"))

    def push(self, branch: str, parent: str | None) -> str:
        blob = git("hash-object", "-w", "--stdin", git_dir=self.mirror.git_dir, stdin=b"x\n")
        row = f"100644 blob {blob}\t{branch}.txt\n"
        tree = git("mktree", git_dir=self.mirror.git_dir, stdin=row.encode())
        above = () if parent is None else ("-p", parent)
        who = {
            f"GIT_{role}_{part}": "x@y.invalid"
            for role in ("AUTHOR", "COMMITTER")
            for part in ("NAME", "EMAIL")
        }
        commit = git(
            "commit-tree", tree, *above, "-m", branch, git_dir=self.mirror.git_dir, extra=who
        )
        git("update-ref", f"refs/heads/{branch}", commit, git_dir=self.mirror.git_dir)
        return commit

    def delete(self, branch: str) -> None:
        git("update-ref", "-d", f"refs/heads/{branch}", git_dir=self.mirror.git_dir)

    def end(self, number: int) -> None:
        close(self.mirror, number)

    def merge(self, number: int) -> None:
        merge(self.mirror, number)

    def open_by_hand(self, head: str, base: str) -> int:
        return open_request(self.mirror, "By hand", "Mine.", head, base).number

    def close(self) -> None:
        pass


class GitHubStand:
    """GitHub as the hostile server plays it, with no fault injected."""

    def __init__(self, folder: Path) -> None:
        self.github = GitHub(folder / "github")
        self.door = self.github.door
        self.door.add_repository(NAME)
        # the suite begins with a repository that has no branch
        git("update-ref", "-d", "refs/heads/main", git_dir=self.door.repo(NAME).git_dir)
        secret = Secret("FENCEPOST_GITHUB_TOKEN", self.door.add_token())
        hub = Hub(Account(self.github.api, secret))
        url = f"{self.github.url}/{NAME}.git"
        place = Place(folder / "forge", "repo_1", url, folder / "cache", hub)
        self.forge: Forge = FORGES["github"](place)

    def push(self, branch: str, parent: str | None) -> str:
        return self.door.push(NAME, branch, parent=parent)

    def delete(self, branch: str) -> None:
        self.door.delete_branch(NAME, branch)

    def end(self, number: int) -> None:
        self.door.close_pull(NAME, number)

    def merge(self, number: int) -> None:
        self.door.merge_pull(NAME, number)

    def open_by_hand(self, head: str, base: str) -> int:
        return self.door.open_pull(NAME, head, base)

    def close(self) -> None:
        self.github.close()


STANDS = {"github": GitHubStand, "local": LocalStand}


def test_every_registered_forge_has_a_stand() -> None:
    """No forge enters the registry without passing here."""
    assert set(STANDS) == set(FORGES)


@pytest.fixture(params=sorted(STANDS))
def stand(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stand]:
    """Each forge in turn."""
    one = STANDS[request.param](tmp_path)
    yield one
    one.close()


@pytest.fixture
def base(stand: Stand) -> str:
    """The forge has a main branch with one commit."""
    return stand.push("main", None)


@pytest.fixture
def head(stand: Stand, base: str) -> str:
    """And a branch `work` with one commit on it."""
    return stand.push("work", base)


def test_forge_says_who_it_is_and_how_long_its_listing_may_lag(stand: Stand) -> None:
    """The registry's name, and a window that is not negative."""
    assert FORGES[stand.forge.name] is not None
    assert stand.forge.settle_window.total_seconds() >= 0


def test_nothing_is_found_where_nothing_was_opened(stand: Stand, head: str) -> None:
    """An empty listing is an answer; also for a branch that does not exist."""
    assert stand.forge.find("work") == []
    assert stand.forge.find("nowhere") == []


def test_created_request_is_found_by_its_head_with_its_whole_lineage(
    stand: Stand, head: str
) -> None:
    """What `create` answers is what `find` shows: ours by marker, head commit and base."""
    created = stand.forge.create(DRAFT)

    assert stand.forge.find("work") == [created]
    assert (created.state, created.title, created.head) == (RequestState.OPEN, "Add work", "work")
    ours = Lineage(OPERATION, head, "main")
    answer = permit([created], ours, unresolved=True, window_passed=False, stop=False)
    assert answer == Adopt(created)


def test_second_create_for_the_same_branches_is_refused_as_existing(
    stand: Stand, head: str
) -> None:
    """The refusal names the fact, so that the caller looks again; nothing is added."""
    created = stand.forge.create(DRAFT)

    with pytest.raises(RequestExists):
        stand.forge.create(replace(DRAFT, operation=OperationId("b" * 64)))

    assert stand.forge.find("work") == [created]


@pytest.mark.parametrize(
    "draft",
    [
        replace(DRAFT, head="nowhere"),
        replace(DRAFT, base="nowhere"),
        replace(DRAFT, head="main"),
        replace(DRAFT, title=""),
        replace(DRAFT, head="--help"),
    ],
    ids=["no head", "no base", "nothing new", "no title", "option"],
)
def test_request_that_cannot_be_is_refused_for_good(
    stand: Stand, head: str, draft: RequestDraft
) -> None:
    """A definite failure is told from an uncertain one, and leaves nothing."""
    with pytest.raises(ForgeRefused):
        stand.forge.create(draft)

    assert stand.forge.find("work") == []


@pytest.mark.parametrize("end", ["end", "merge"])
def test_ended_request_is_still_found_and_still_ours(stand: Stand, head: str, end: str) -> None:
    """A person who closed or merged between call and look hides nothing (G03)."""
    created = stand.forge.create(DRAFT)

    getattr(stand, end)(created.number)

    state = RequestState.CLOSED if end == "end" else RequestState.MERGED
    assert stand.forge.find("work") == [replace(created, state=state)]


def test_request_by_hand_is_found_without_a_marker(stand: Stand, head: str) -> None:
    """Somebody else's request on our head is seen, and seen not to be ours."""
    number = stand.open_by_hand("work", "main")

    [found] = stand.forge.find("work")

    assert (found.number, found.marker) == (number, None)


def test_several_requests_on_one_head_are_all_found(stand: Stand, base: str, head: str) -> None:
    """Other bases and ended ones count: any request on the head forbids a create."""
    stand.push("develop", base)
    first = stand.open_by_hand("work", "main")
    stand.end(first)
    second = stand.open_by_hand("work", "develop")

    assert sorted(found.number for found in stand.forge.find("work")) == [first, second]


def test_requests_of_other_heads_are_not_found(stand: Stand, base: str, head: str) -> None:
    """The look is for exactly one branch, not for a prefix or a pattern of it."""
    stand.push("work-2", base)
    stand.open_by_hand("work-2", "main")

    assert stand.forge.find("work") == []
    assert stand.forge.find("work*") == []


def test_head_commit_follows_the_branch_while_the_request_is_open(stand: Stand, head: str) -> None:
    """A push by somebody else shows, so that the lineage no longer matches."""
    stand.forge.create(DRAFT)
    newer = stand.push("work", head)

    [found] = stand.forge.find("work")

    assert found.head_sha == newer


def test_deleted_head_closes_the_request(stand: Stand, head: str) -> None:
    """Deleting the head branch is how a person attests absence: nothing can appear open later."""
    created = stand.forge.create(DRAFT)
    stand.delete("work")

    [found] = stand.forge.find("work")

    assert (found.number, found.state) == (created.number, RequestState.CLOSED)


@pytest.mark.contract("L4", "G02")
def test_moved_head_leaves_nothing_for_a_late_call(stand: Stand, head: str) -> None:
    """The old name goes and the new one comes; a call that still names the old one is refused."""
    stand.forge.move_heads([HeadMove("work", head, None), HeadMove("work-2", None, head)])

    assert stand.forge.tips(["work", "work-2", "work*"]) == {"work-2": head}
    with pytest.raises(ForgeRefused):
        stand.forge.create(DRAFT)
    assert stand.forge.create(replace(DRAFT, head="work-2")).head_sha == head


@pytest.mark.contract("L4")
@pytest.mark.parametrize("late", ["moved on", "new name taken", "gone already"])
def test_late_move_is_refused_whole(stand: Stand, head: str, late: str) -> None:
    """Exact leases on every branch: who is late changes none of them, and brings none back."""
    if late == "moved on":
        stand.push("work", head)
    elif late == "new name taken":
        stand.push("work-2", head)
    else:
        stand.delete("work")
    before = stand.forge.tips(["work", "work-2"])

    with pytest.raises(PushLost):
        stand.forge.move_heads([HeadMove("work", head, None), HeadMove("work-2", None, head)])

    assert stand.forge.tips(["work", "work-2"]) == before


def test_marker_survives_whatever_the_body_holds(stand: Stand, head: str) -> None:
    """An agent's text cannot pass for another operation's marker, nor hide ours."""
    forged = f"<!-- fencepost operation={'b' * 64} -->"
    body = f"{forged}\n<!--  FENCEPOST operation={'c' * 64}-->\n<!-- unclosed\n{forged}"

    created: ForgeRequest = stand.forge.create(replace(DRAFT, body=body))

    assert created.marker == OPERATION
    assert stand.forge.find("work")[0].marker == OPERATION


def test_marker_is_read_as_a_forge_may_give_the_body_back() -> None:
    """Other line ends and text around it are fine; half a marker and two that differ are none."""
    line = f"<!-- fencepost operation={OPERATION} -->"

    assert marker_of(f"text\r\n{line}\r\nadded by a person") == OPERATION
    assert marker_of(f"{line}\n{line}") == OPERATION
    assert marker_of(f"{line}\n{line.replace('a' * 64, 'b' * 64)}") is None
    assert marker_of(f"<!-- fencepost operation={'a' * 63} -->") is None
    assert marker_of("") is None
