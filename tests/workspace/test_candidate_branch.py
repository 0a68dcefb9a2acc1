"""A branch where the remote takes no mark: whose it is, and what proves it (PROTOCOL §7)."""

from __future__ import annotations

import pytest

from app.domain.digest import canonical
from app.domain.errors import PushLost
from app.domain.operation import Unreadable, branch_of, ref_of
from app.domain.recovery_without_ref import Marked, NoBranch, Published, Stray
from app.repository.git import git
from app.repository.remote import Remote
from workers.workspace.candidate_branch import judge, look_at, push_candidate, trailers
from workers.workspace.commit import commit

pytestmark = pytest.mark.contract("L4")

BRANCH = "fencepost/t1-a1"
REF = f"refs/heads/{BRANCH}"
PAYLOAD = canonical({"outcome": "green"})


@pytest.fixture
def git_dir(tmp_path, upstream, base):
    """A worker's private git folder."""
    path = tmp_path / "private.git"
    git("clone", "--quiet", "--bare", "--shared", upstream.url, str(path))
    return path


@pytest.fixture
def candidate(git_dir, base, operation, claim, author):
    """Make the commit of a claim's run; the tree is the same for all."""

    def make(fence=1, token="first"):
        tree = git("rev-parse", f"{base}^{{tree}}", git_dir=git_dir)
        message = f"Work\n\n{trailers(operation, claim(fence, token))}"
        return commit(git_dir, tree, [base], message, author)

    return make


@pytest.fixture
def seen(git_dir, upstream, operation):
    """Look at the remote, and judge by payloads."""

    def look(payloads=(), remote=upstream.remote, where=git_dir):
        refs = look_at(where, remote, operation, BRANCH)
        kept = dict.fromkeys(payloads, PAYLOAD)
        return judge(where, remote, operation, BRANCH, refs, kept)

    return look


def test_absent_is_told_from_unreadable(seen, tmp_path):
    """No branch is an answer; no remote is none."""
    assert seen() == NoBranch()
    assert isinstance(seen(remote=Remote(str(tmp_path / "gone.git"))), Unreadable)


def test_no_two_claims_make_the_same_commit(candidate):
    """Or a branch would not say whose payload it shows; a claim repeats its own."""
    assert candidate() == candidate()
    assert len({candidate(), candidate(fence=2), candidate(token="second")}) == 3


def test_a_branch_with_a_payload_is_ours(git_dir, upstream, candidate, seen):
    """The exact commit that was kept before the push."""
    head = candidate()
    push_candidate(git_dir, upstream.remote, BRANCH, head)

    assert seen([candidate(fence=2), head]) == Published(PAYLOAD, head)


@pytest.mark.contract("M07")
def test_what_people_push_on_top_takes_nothing_away(
    git_dir, upstream, candidate, seen, files, tmp_path
):
    """The branch has moved on, and still holds what was published."""
    head = candidate()
    push_candidate(git_dir, upstream.remote, BRANCH, head)
    upstream.point(REF, upstream.commit(files | {b"x": ("100644", b"more\n")}, parent=head))
    elsewhere = tmp_path / "elsewhere.git"
    git("init", "--quiet", "--bare", str(elsewhere))

    assert seen([head]) == Published(PAYLOAD, head)
    assert seen([head], where=elsewhere) == Published(PAYLOAD, head)


def test_a_branch_of_ours_without_its_payload_is_told(git_dir, upstream, candidate, seen):
    """As after a restore of the database."""
    head = candidate()
    push_candidate(git_dir, upstream.remote, BRANCH, head)

    assert seen() == seen([candidate(fence=2)]) == Stray(head, is_ours=True)


@pytest.mark.parametrize("there", [BRANCH, "fencepost", f"{BRANCH}/x"])
def test_a_strangers_branch_is_in_the_way(upstream, base, candidate, seen, there):
    """Of the very name, or of one that leaves it no room."""
    upstream.point(f"refs/heads/{there}", base)

    assert seen([candidate()]) == Stray(base, is_ours=False)


@pytest.mark.parametrize("name", [ref_of, branch_of])
def test_a_mark_beside_the_branch_is_told_first(
    git_dir, upstream, base, operation, candidate, seen, name
):
    """Another claim went by it."""
    head = candidate()
    push_candidate(git_dir, upstream.remote, "other", head)
    upstream.point(name(operation), base)

    assert seen([head]) == Marked(name(operation))


def test_a_branch_is_only_ever_made(git_dir, upstream, base, candidate):
    """Whatever is there, it is not moved."""
    upstream.point(REF, base)

    with pytest.raises(PushLost):
        push_candidate(git_dir, upstream.remote, BRANCH, candidate())

    assert upstream.tip(REF) == base
