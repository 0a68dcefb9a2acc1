"""The very commit that is pushed is looked at once more, right before it is (E03)."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

from app.domain.digest import canonical
from app.domain.result import Observation, Outcome
from app.repository.git import git
from workers.certified import certified
from workers.execution import Finished

pytestmark = pytest.mark.contract("E03")


@pytest.fixture
def request_(base):
    """What was approved: changes in one folder."""
    return SimpleNamespace(base=base, paths=("src/**",))


@pytest.fixture
def commits(checkout, base, author):
    """Write a file and commit everything: the commit and its tree."""

    def make(path, content="changed\n", parent=base):
        (checkout.tree / path).write_text(content)
        tree = checkout.snapshot()
        return checkout.commit(tree, parent, "A change\n", author), tree

    return make


def finished(head, tree):
    """A green ending with a commit in hand."""
    observation = Observation(Outcome.GREEN, canonical({"outcome": "green"}))
    return Finished(observation, head, tree)


def test_what_was_checked_is_let_through(request_, checkout, commits):
    """It is the same value, so that nothing changes on the way."""
    done = finished(*commits("src/a.py"))

    assert certified(request_, checkout, done) is done


def test_what_has_no_commit_needs_none(request_, checkout):
    """A failure is pushed as it is."""
    done = Finished(Observation(Outcome.FAILED, canonical({})), None)

    assert certified(request_, checkout, done) is done


@pytest.mark.parametrize("what", ["another tree", "another parent", "another content"])
def test_another_commit_than_the_one_that_was_checked_fails(request_, checkout, commits, what):
    """Whoever changes it between the snapshot and the push ends the attempt as out of scope."""
    head, tree = commits("src/a.py")
    if what == "another tree":
        other, _ = commits("src/a.py", "later\n")
    elif what == "another parent":
        other, _ = commits("src/a.py", parent=head)
    else:
        other = head
        beside, _ = commits("README.md")
        of = checkout.git_dir / "objects"
        shutil.copyfile(of / beside[:2] / beside[2:], _opened(of / head[:2] / head[2:]))

    seen = certified(request_, checkout, finished(other, tree))

    assert (seen.candidate, seen.observation.outcome) == (None, Outcome.FAILED)
    assert "outside_scope" in str(seen.observation.value)


def test_the_scope_is_asked_of_the_commit_itself(request_, checkout, commits):
    """Also where its tree is the one that was said to have been checked."""
    head, tree = commits("README.md")

    seen = certified(request_, checkout, finished(head, tree))

    assert (seen.candidate, seen.observation.outcome) == (None, Outcome.FAILED)
    assert "README.md" in str(seen.observation.value)
    assert git("cat-file", "-t", head, git_dir=checkout.git_dir) == "commit"


def _opened(file):
    file.chmod(0o600)
    return file
