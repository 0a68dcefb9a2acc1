"""The operation ref: who may move it, what it says, and what a push proves."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.digest import canonical, digest, parse
from app.domain.errors import PushLost, PushRefused, RemoteUnreadable, UnfitInput
from app.domain.identity import ActivityId, operation_id
from app.domain.operation import Absent, Foreign, Mark, Tip, Unreadable, branch_of, ref_of
from app.repository.git import git
from app.repository.remote import Remote
from workers.workspace.operation_ref import (
    branch_present,
    push_mark,
    push_result,
    read,
    write_mark,
)

pytestmark = pytest.mark.contract("L4")

BRANCH = "fencepost/t1-a1"

RACER = """
import sys
from pathlib import Path
from app.domain.errors import PushLost
from app.domain.operation import ref_of
from app.repository.remote import Remote
from workers.workspace.operation_ref import push_mark

git_dir, remote, operation, new, expected = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
try:
    push_mark(Path(git_dir), Remote(remote), ref_of(operation), new, expected or None)
except PushLost:
    sys.exit(9)
"""


@pytest.fixture
def git_dir(tmp_path, upstream, base):
    """A worker's private git folder."""
    path = tmp_path / "private.git"
    git("clone", "--quiet", "--bare", "--shared", upstream.url, str(path))
    return path


@pytest.fixture
def candidate(upstream, git_dir, base, files):
    """A head commit that only the worker has."""
    return upstream.commit(files | {b"src/a.py": ("100644", b"a = 2\n")}, parent=base)


@pytest.fixture
def mark(git_dir, operation, claim, author):
    """Write a mark of the chain."""

    def write(kind=Mark.STARTED, parent=None, fence=1, token="first", **result):
        holder = claim(fence, token)
        return write_mark(git_dir, operation, holder, kind, parent, author, **result)

    return write


@pytest.fixture
def started(git_dir, upstream, operation, mark):
    """A started mark that is at the remote."""
    sha = mark()
    push_mark(git_dir, upstream.remote, ref_of(operation), sha, None)
    return sha


def test_absent_is_told_from_unreadable(git_dir, upstream, operation, tmp_path):
    """No ref is an answer; no remote is none."""
    assert read(git_dir, upstream.remote, operation) == Absent()
    assert isinstance(read(git_dir, Remote(str(tmp_path / "gone.git")), operation), Unreadable)


def test_a_mark_is_read_as_it_was_written(git_dir, upstream, operation, claim, started, tmp_path):
    """Another worker, with nothing but the remote, sees fence, token hash and mark."""
    elsewhere = tmp_path / "elsewhere.git"
    git("init", "--quiet", "--bare", str(elsewhere))

    tip = read(elsewhere, upstream.remote, operation)

    ref = ref_of(operation)
    assert tip == Tip(started, Mark.STARTED, operation, 1, claim().token_hash, ref=ref)


def test_no_two_claims_write_the_same_commit(mark):
    """The token's hash makes commits of one fence differ, and the same claim repeats its own."""
    assert mark() == mark()
    assert mark(token="second") != mark()
    assert mark(fence=2) != mark()


def test_the_chain_grows_from_where_it_was_read(git_dir, upstream, operation, mark, started):
    """A higher fence guards over the tip that it read; the next reader sees the guard."""
    guarded = mark(Mark.GUARDED, started, fence=2)
    push_mark(git_dir, upstream.remote, ref_of(operation), guarded, started)
    closed = mark(Mark.CLOSED, guarded, fence=3)
    push_mark(git_dir, upstream.remote, ref_of(operation), closed, guarded)

    tip = read(git_dir, upstream.remote, operation)

    assert (tip.sha, tip.mark, tip.fence) == (closed, Mark.CLOSED, 3)


@pytest.mark.contract("M07")
@pytest.mark.parametrize("is_green", [True, False])
def test_an_observation_comes_back_byte_for_byte(
    git_dir, upstream, operation, mark, started, observation, candidate, tmp_path, is_green
):
    """Result and branch are there together, and the observation is the very bytes."""
    head = candidate if is_green else None
    result = mark(Mark.RESULT, started, observation=observation, candidate=head)
    push_result(
        git_dir,
        upstream.remote,
        ref_of(operation),
        result,
        started,
        BRANCH if is_green else None,
        head,
    )
    elsewhere = tmp_path / "elsewhere.git"
    git("init", "--quiet", "--bare", str(elsewhere))

    tip = read(elsewhere, upstream.remote, operation)

    assert (tip.mark, tip.observation, tip.candidate) == (Mark.RESULT, observation, head)
    assert upstream.tip(f"refs/heads/{BRANCH}") == head


def test_two_processes_race_and_one_wins(git_dir, upstream, operation, mark):
    """Of two workers that saw the same tip exactly one moves it, in every round."""
    expected = None
    for fence in range(1, 6):
        kind = Mark.GUARDED if expected else Mark.STARTED
        rivals = [mark(kind, expected, fence, token) for token in ("one", "two")]
        processes = [_racer(git_dir, upstream.url, operation, sha, expected) for sha in rivals]
        for process in processes:
            process.stdin.write(b"\n")
            process.stdin.close()

        codes = [process.wait() for process in processes]

        assert sorted(codes) == [0, 9]
        expected = rivals[codes.index(0)]
        assert upstream.tip(ref_of(operation)) == expected


def test_a_stale_lease_is_lost(git_dir, upstream, operation, mark, started):
    """Who names a tip that has moved on loses, whatever the ancestry says."""
    guarded = mark(Mark.GUARDED, started, fence=2)
    push_mark(git_dir, upstream.remote, ref_of(operation), guarded, started)

    for late in (mark(Mark.GUARDED, guarded, fence=3), mark(Mark.GUARDED, started, fence=4)):
        with pytest.raises(PushLost):
            push_mark(git_dir, upstream.remote, ref_of(operation), late, started)
    with pytest.raises(PushLost):
        push_mark(git_dir, upstream.remote, ref_of(operation), mark(fence=9), None)

    assert upstream.tip(ref_of(operation)) == guarded


def test_a_deleted_ref_is_not_made_again(git_dir, upstream, operation, mark, started):
    """After somebody removed the ref a stale push does not bring it back."""
    upstream.drop(ref_of(operation))

    with pytest.raises(PushLost):
        push_mark(
            git_dir, upstream.remote, ref_of(operation), mark(Mark.GUARDED, started, 2), started
        )

    assert read(git_dir, upstream.remote, operation) == Absent()


def test_a_lost_reply_is_no_loss(
    git_dir, upstream, operation, mark, started, observation, candidate
):
    """A push that was applied succeeds again with the same commits and the same lease."""
    result = mark(Mark.RESULT, started, observation=observation, candidate=candidate)

    for _ in range(2):
        push_result(git_dir, upstream.remote, ref_of(operation), result, started, BRANCH, candidate)

    assert upstream.tip(ref_of(operation)) == result


def test_branch_and_result_move_together(
    git_dir, upstream, operation, mark, started, observation, candidate, base
):
    """A branch that is there already, or a stale lease, keeps both from moving."""
    result = mark(Mark.RESULT, started, observation=observation, candidate=candidate)
    upstream.point(f"refs/heads/{BRANCH}", base)
    with pytest.raises(PushLost):
        push_result(git_dir, upstream.remote, ref_of(operation), result, started, BRANCH, candidate)
    assert upstream.tip(ref_of(operation)) == started

    upstream.drop(f"refs/heads/{BRANCH}")
    upstream.drop(ref_of(operation))
    with pytest.raises(PushLost):
        push_result(git_dir, upstream.remote, ref_of(operation), result, started, BRANCH, candidate)
    assert upstream.tip(f"refs/heads/{BRANCH}") is None


@pytest.mark.parametrize(
    ("hook", "script", "words"),
    [
        ("pre-receive", "echo 'no secrets here' >&2; exit 1", "no secrets here"),
        ("update", 'case $1 in refs/heads/*) echo "protected: $1" >&2; exit 1;; esac', "protected"),
    ],
)
def test_a_rule_of_the_remote_is_a_refusal_in_its_words(
    git_dir, upstream, served, operation, mark, started, observation, candidate, hook, script, words
):
    """Hooks that say no are told from races; nothing has moved, and the result may go alone."""
    result = mark(Mark.RESULT, started, observation=observation, candidate=candidate)
    upstream.hook(hook, script)

    with pytest.raises(PushRefused) as refusal:
        push_result(git_dir, Remote(served), ref_of(operation), result, started, BRANCH, candidate)

    assert "hook declined" in refusal.value.message
    assert words in refusal.value.message
    assert upstream.tip(ref_of(operation)) == started
    assert upstream.tip(f"refs/heads/{BRANCH}") is None
    if hook == "update":
        push_result(git_dir, Remote(served), ref_of(operation), result, started, None, None)
        assert upstream.tip(ref_of(operation)) == result


def test_over_http_it_is_the_same(
    git_dir, upstream, served, operation, mark, started, observation, candidate, tmp_path
):
    """A server of its own gives the same answers as a path: won, lost, repeated, read."""
    result = mark(Mark.RESULT, started, observation=observation, candidate=candidate)
    with pytest.raises(PushLost):
        push_mark(git_dir, Remote(served), ref_of(operation), mark(fence=2), None)

    for _ in range(2):
        push_result(git_dir, Remote(served), ref_of(operation), result, started, BRANCH, candidate)

    elsewhere = tmp_path / "elsewhere.git"
    git("init", "--quiet", "--bare", str(elsewhere))
    tip = read(elsewhere, Remote(served), operation)
    assert (tip.sha, tip.observation, tip.candidate) == (result, observation, candidate)
    assert isinstance(read(elsewhere, Remote(served + "x"), operation), Unreadable)


def test_hooks_of_a_local_path_do_not_run_here(git_dir, upstream, operation, mark, tmp_path):
    """A remote that is a folder of this machine runs none of its hooks as the worker (E04)."""
    proof = tmp_path / "proof"
    for hook in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        upstream.hook(hook, f"touch '{proof}'")

    push_mark(git_dir, upstream.remote, ref_of(operation), mark(), None)

    assert not proof.exists()


def test_a_name_without_room_is_a_refusal(
    git_dir, upstream, operation, mark, started, observation, candidate, base
):
    """A branch called like the new one's folder is no race, and is seen beforehand."""
    upstream.point("refs/heads/fencepost", base)
    result = mark(Mark.RESULT, started, observation=observation, candidate=candidate)

    with pytest.raises(PushRefused):
        push_result(git_dir, upstream.remote, ref_of(operation), result, started, BRANCH, candidate)

    assert upstream.tip(ref_of(operation)) == started


@pytest.mark.parametrize(
    ("there", "is_present"),
    [
        ("fencepost/t1-a1", True),
        ("fencepost", True),
        ("fencepost/t1-a1/x/y", True),
        ("fencepost/t1-a12", False),
        ("other/fencepost/t1-a1", False),
    ],
)
def test_a_branch_is_present_when_its_name_is_taken(git_dir, upstream, base, there, is_present):
    """The branch itself, and any other that leaves no room for it, count as present."""
    upstream.point(f"refs/heads/{there}", base)

    assert branch_present(git_dir, upstream.remote, BRANCH) == (base if is_present else None)


def test_a_silent_remote_proves_nothing(git_dir, operation, mark, tmp_path):
    """No push and no look at a remote that does not answer says anything about it."""
    gone = Remote(str(tmp_path / "gone.git"))

    with pytest.raises(RemoteUnreadable):
        push_mark(git_dir, gone, ref_of(operation), mark(), None)
    with pytest.raises(RemoteUnreadable):
        branch_present(git_dir, gone, BRANCH)


def test_a_chain_as_a_branch_is_found_too(git_dir, upstream, operation, mark):
    """A remote that refuses custom refs holds the same chain as a branch (PROTOCOL §7)."""
    push_mark(git_dir, upstream.remote, branch_of(operation), mark(), None)

    tip = read(git_dir, upstream.remote, operation)

    assert (tip.mark, tip.ref) == (Mark.STARTED, branch_of(operation))


def test_two_chains_of_one_operation_are_for_a_person(git_dir, upstream, operation, mark, started):
    """Neither is followed: whoever wrote the second did not see the first."""
    push_mark(git_dir, upstream.remote, branch_of(operation), mark(fence=2), None)

    assert isinstance(read(git_dir, upstream.remote, operation), Foreign)


def _document(git_dir, sha):
    return parse(git("cat-file", "blob", f"{sha}:operation.json", git_dir=git_dir).encode())


@pytest.mark.parametrize(
    "change",
    [
        {"operation": "ab" * 32},
        {"fence": 0},
        {"fence": "1"},
        {"fence": True},
        {"mark": "finished"},
        {"mark": "result"},
        {"token_hash": "short"},
        {"v": 2},
        {"more": 1},
        {"world": ""},
    ],
)
def test_what_we_would_not_have_written_is_foreign(git_dir, upstream, operation, mark, change):
    """Every field is checked; one that is wrong makes the ref nobody's of ours."""
    document = _document(git_dir, mark()) | change
    sha = upstream.commit({b"operation.json": ("100644", canonical(document))})
    upstream.point(ref_of(operation), sha)

    assert isinstance(read(git_dir, upstream.remote, operation), Foreign)


def test_foreign_shapes_are_foreign(git_dir, upstream, operation, mark, started, base, observation):
    """Another tree, another object, other bytes, other parents: none of it is taken for ours."""
    document = canonical(_document(git_dir, started))
    result = mark(Mark.RESULT, started, observation=observation)
    wrong = canonical(_document(git_dir, result) | {"observation_digest": "ab" * 32})
    right = canonical(_document(git_dir, result))
    a_file = "100644"
    shapes = {
        "an ordinary commit": base,
        "a blob": upstream.blob(b"x"),
        "not canonical": upstream.commit({b"operation.json": (a_file, document + b"\n")}),
        "a link": upstream.commit({b"operation.json": ("120000", document)}),
        "one file more": upstream.commit(
            {b"operation.json": (a_file, document), b"x": (a_file, b"")}
        ),
        "a start with a parent": upstream.commit({b"operation.json": (a_file, document)}, base),
        "a wrong digest": upstream.commit(
            {b"operation.json": (a_file, wrong), b"observation.json": (a_file, observation)},
            started,
        ),
        "no parent": upstream.commit(
            {b"operation.json": (a_file, right), b"observation.json": (a_file, observation)}
        ),
        "no observation": upstream.commit({b"operation.json": (a_file, right)}, started),
    }

    for name, sha in shapes.items():
        (upstream.path / ref_of(operation)).write_text(sha + "\n")
        found = read(git_dir, upstream.remote, operation)
        assert isinstance(found, Foreign), name
        assert (found.sha, bool(found.reason)) == (sha, True)


def test_another_operations_mark_is_foreign(git_dir, upstream, claim, mark):
    """A true mark under the wrong ref is foreign there."""
    key = replace(claim().key, activity=ActivityId("cd" * 32))
    other = operation_id(key, "git")
    push_mark(git_dir, upstream.remote, ref_of(other), mark(), None)

    assert isinstance(read(git_dir, upstream.remote, other), Foreign)


def test_only_results_observe(mark, observation):
    """A result without an observation, or another mark with one, cannot be written."""
    with pytest.raises(UnfitInput):
        mark(Mark.RESULT, "ab" * 20)
    with pytest.raises(UnfitInput):
        mark(observation=observation)


def test_the_document_names_the_digest(git_dir, mark, started, observation):
    """The result's document carries the digest of the observation beside it."""
    result = mark(Mark.RESULT, started, observation=observation)

    assert _document(git_dir, result)["observation_digest"] == digest(observation)


def _racer(git_dir, remote, operation, sha, expected):
    process = subprocess.Popen(
        [sys.executable, "-c", RACER, str(git_dir), remote, operation, sha, expected or ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout.readline() == b"ready\n"
    return process
