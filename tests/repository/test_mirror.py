"""How the mirror follows its source, and when it keeps what is its own."""

from __future__ import annotations

import multiprocessing
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import (
    BaseDiverged,
    BaseMissing,
    BaseReserved,
    RemoteUnreadable,
    UnsafeName,
    UnsupportedRepository,
)
from app.repository.git import git
from app.repository.mirror import Mirror, base_branch, open_mirror, refresh
from app.repository.refs import tips
from app.repository.requests import merge, open_request
from app.repository.source import inspect

_SPAWN = multiprocessing.get_context("spawn")


def test_mirror_is_made_once_and_found_again(tmp_path):
    """Opening a mirror twice gives the same repository, with what it held."""
    first = open_mirror(tmp_path / "forge", "repo_1")
    (first.git_dir / "witness").touch()

    assert open_mirror(tmp_path / "forge", "repo_1") == first
    assert (first.git_dir / "witness").exists()


def test_two_processes_that_make_the_mirror_at_once_leave_one_whole_repository(tmp_path):
    """The loser of the race uses the winner's mirror, and no draft is left behind."""
    forge = tmp_path / "forge"
    _at_once(_open_only, [(forge,)] * 4)

    assert [path.name for path in forge.iterdir()] == ["repo_1.git"]
    git("fsck", git_dir=forge / "repo_1.git")


@pytest.mark.contract("S03")
@pytest.mark.parametrize("name", ["../out", "a/b", "-x", ".hidden", "", "a\nb", "x" * 200])
def test_mirror_never_has_a_name_that_is_a_path_or_an_option(tmp_path, name):
    """A repository id is a plain word."""
    with pytest.raises(UnsafeName):
        open_mirror(tmp_path, name)


@pytest.mark.parametrize("how", ["path", "file URL", "bare"])
def test_first_refresh_brings_every_branch_and_the_base(clone, mirror, tmp_path, how):
    """The base's commit is returned; other branches lie below refs/fencepost alone."""
    clone.run("branch", "other")
    where = str(clone.path) if how == "path" else clone.path.as_uri()
    if how == "bare":
        where = str(tmp_path / "bare.git")
        git("clone", "--quiet", "--bare", str(clone.path), where)
    source = inspect(where, None)

    sha = refresh(mirror, source)

    assert sha == source.sha
    assert tips(mirror.git_dir, "refs/heads/") == {"refs/heads/main": sha}
    assert "refs/fencepost/source/heads/other" in tips(mirror.git_dir, "refs/fencepost/source/")
    assert git("rev-parse", "HEAD", git_dir=mirror.git_dir) == sha
    git("fsck", "--strict", git_dir=mirror.git_dir)


def test_base_follows_a_source_that_moved_on(clone, mirror):
    """A fast-forward in the source is a fast-forward in the mirror, whatever was seen before."""
    early = inspect(str(clone.path), None)
    refresh(mirror, early)
    tip = clone.commit("b.txt")

    assert refresh(mirror, early) == tip
    assert refresh(mirror, early) == tip


def test_base_follows_a_source_that_was_rewritten_while_it_holds_nothing_of_its_own(clone, mirror):
    """An amended commit in the reader's clone is no divergence: nobody merged here."""
    source = inspect(str(clone.path), None)
    clone.commit("b.txt")
    refresh(mirror, source)
    clone.run("commit", "--quiet", "--amend", "--message", "better")

    assert refresh(mirror, source) == clone.run("rev-parse", "HEAD")

    clone.run("reset", "--quiet", "--hard", source.sha)
    assert refresh(mirror, source) == source.sha


def test_merged_base_is_kept_until_the_source_has_it(clone, mirror, branches):
    """What was merged here stays the base; once pulled, the base follows the source again."""
    source = inspect(str(clone.path), None)
    merged = _merge_one(mirror, branches, refresh(mirror, source))

    assert refresh(mirror, source) == merged

    clone.run("pull", "--quiet", "--ff-only", str(mirror.git_dir), "main")
    later = clone.commit("c.txt")
    assert refresh(mirror, source) == later

    clone.run("reset", "--quiet", "--hard", merged)
    assert refresh(mirror, source) == merged


def test_base_that_both_sides_went_on_from_is_refused_and_kept(clone, mirror, branches):
    """Merges here and commits there: a person joins them, and nothing is moved meanwhile."""
    source = inspect(str(clone.path), None)
    merged = _merge_one(mirror, branches, refresh(mirror, source))
    clone.commit("c.txt")

    with pytest.raises(BaseDiverged) as refusal:
        refresh(mirror, source)

    assert branches.tip("main") == merged

    hint = refusal.value.advice.partition("`")[2].rstrip("`")
    clone.run(*shlex.split(hint)[1:])
    assert refresh(mirror, source) == clone.run("rev-parse", "HEAD")


def test_detached_base_becomes_a_branch_of_the_mirror(clone, mirror):
    """A commit that no branch of the source holds can be the base."""
    clone.run("checkout", "--quiet", "--detach")
    loose = clone.commit("b.txt")
    source = inspect(str(clone.path), None)

    assert refresh(mirror, source) == loose
    assert base_branch(source) == f"detached/{loose[:12]}"
    assert tips(mirror.git_dir, "refs/heads/") == {f"refs/heads/detached/{loose[:12]}": loose}

    clone.commit("c.txt")
    assert refresh(mirror, source) == loose


def test_commit_by_sha_of_a_url_is_fetched_or_refused(clone, mirror):
    """Whether a URL holds a commit shows when it is fetched."""
    first = clone.run("rev-parse", "HEAD")
    clone.commit("b.txt")

    assert refresh(mirror, inspect(clone.path.as_uri(), first)) == first
    with pytest.raises(BaseMissing):
        refresh(mirror, inspect(clone.path.as_uri(), "1" * 40))


def test_base_that_left_the_source_is_missing(clone, mirror):
    """A branch that was deleted after it was named is refused."""
    clone.run("branch", "side")
    source = inspect(str(clone.path), "side")
    clone.run("branch", "--delete", "side")

    with pytest.raises(BaseMissing):
        refresh(mirror, source)


def test_branch_that_takes_the_place_of_a_folder_of_branches_is_followed(clone, mirror):
    """`a` deleted and `a/b` made in the source do not block a later refresh."""
    source = inspect(str(clone.path), None)
    clone.run("branch", "a")
    refresh(mirror, source)
    clone.run("branch", "--delete", "a")
    clone.run("branch", "a/b")

    refresh(mirror, source)

    assert "refs/fencepost/source/heads/a/b" in tips(mirror.git_dir, "refs/fencepost/source/")


def test_source_is_never_written_to(clone, mirror, branches):
    """Refresh and merge leave every byte of the reader's clone as it was, uncommitted work too."""
    (clone.path / "a.txt").write_text("not committed\n")
    source = inspect(str(clone.path), None)
    before = _everything(clone.path)

    _merge_one(mirror, branches, refresh(mirror, source))
    refresh(mirror, source)

    assert _everything(clone.path) == before


def test_source_that_is_gone_is_unreadable(clone, mirror):
    """A source that does not answer is a matter of the outside world, not of the work."""
    source = inspect(str(clone.path), None)
    shutil.rmtree(clone.path)

    with pytest.raises(RemoteUnreadable):
        refresh(mirror, source)


def test_shallow_address_is_refused_when_it_is_fetched(clone, mirror, tmp_path):
    """A URL does not tell that it is shallow before it is fetched."""
    clone.commit("b.txt")
    git("clone", "--quiet", "--depth=1", clone.path.as_uri(), str(tmp_path / "shallow"))
    source = inspect((tmp_path / "shallow").as_uri(), None)

    with pytest.raises(UnsupportedRepository):
        refresh(mirror, source)


def test_users_hooks_do_not_run_in_the_mirror(clone, mirror, tmp_path, monkeypatch):
    """Reaching a URL with the user's configuration runs none of the programs it names."""
    hook = tmp_path / "hooks" / "reference-transaction"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (tmp_path / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {hook.parent}\n"
        f'[url "{clone.path.parent.as_uri()}/"]\n\tinsteadOf = ssh://far.invalid/\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))

    refresh(mirror, inspect("ssh://far.invalid/library", None))

    assert not (tmp_path / "ran").exists()


def test_refreshes_at_once_agree(new_clone: Callable, tmp_path):
    """Four processes that refresh at the same time all see the base at the source's tip."""
    clone = new_clone("library")
    for number in range(5):
        clone.commit(f"{number}.txt")
        clone.run("branch", f"side-{number}")
    mirror = open_mirror(tmp_path / "forge", "repo_1")
    refresh(mirror, inspect(str(clone.path), None))
    tip = clone.commit("last.txt")
    for number in range(5):
        clone.run("branch", "--force", f"side-{number}")

    _at_once(_refresh_only, [(mirror, str(clone.path), tip)] * 4)

    assert set(tips(mirror.git_dir, "refs/heads/", "refs/fencepost/source/").values()) == {tip}


def test_detached_source_is_told_from_a_branch(clone):
    """Only a base that is its own sha is detached."""
    source = inspect(str(clone.path), None)

    assert base_branch(source) == "main"
    assert base_branch(replace(source, base=source.sha)) == f"detached/{source.sha[:12]}"


def _merge_one(mirror: Mirror, branches, base_sha: str) -> str:
    branches.write("work", {"a.txt": "a\n", "work.txt": "w\n"}, base_sha)
    request = open_request(mirror, "Work", "", "work", "main")
    merged = merge(mirror, request.number).merged_sha
    assert merged is not None
    return merged


def _everything(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def _at_once(target: Callable, arguments: list[tuple]) -> None:
    barrier = _SPAWN.Barrier(len(arguments))
    processes = [_SPAWN.Process(target=target, args=(barrier, *given)) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * len(arguments)


def _open_only(barrier, forge: Path) -> None:
    barrier.wait(30)
    open_mirror(forge, "repo_1")


def _refresh_only(barrier, mirror: Mirror, repository: str, tip: str) -> None:
    source = inspect(repository, None)
    barrier.wait(30)
    assert refresh(mirror, source) == tip


@pytest.mark.contract("G01")
def test_a_base_that_leaves_no_room_for_candidates_is_refused(clone, mirror):
    """Candidates are `fencepost/…`; a branch called `fencepost` and they cannot be together."""
    clone.run("branch", "-m", "fencepost")

    with pytest.raises(BaseReserved):
        refresh(mirror, inspect(str(clone.path), None))
