"""What is read of the reader's repository, and what is refused."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from app.domain.errors import (
    BaseMissing,
    EmptyRepository,
    NotARepository,
    RemoteUnreadable,
    UnsafeName,
    UnsupportedRepository,
)
from app.repository.address import is_url, safe_url
from app.repository.git import git
from app.repository.source import Source, inspect


def test_current_branch_is_the_base_from_any_sub_folder(clone):
    """Standing deep in a work tree means the whole repository and its current branch."""
    sha = clone.commit("src/deep/b.txt")

    source = inspect(str(clone.path / "src" / "deep"), None)

    assert source == Source(str(clone.path), "library", "main", sha, dirty=False)


def test_relative_path_and_symlink_lead_to_the_real_top_level(clone, tmp_path, monkeypatch):
    """The address is absolute and real, however the reader spelled it."""
    (tmp_path / "link").symlink_to(clone.path)
    monkeypatch.chdir(tmp_path)

    assert inspect("link", None).url == str(clone.path)
    assert inspect("./library", None).url == str(clone.path)


def test_detached_head_is_a_base_like_any_other(clone):
    """A detached HEAD is named by its full sha."""
    first = clone.run("rev-parse", "HEAD")
    clone.commit("b.txt")
    clone.run("checkout", "--quiet", first)

    source = inspect(str(clone.path), None)

    assert (source.base, source.sha, source.is_detached) == (first, first, True)


def test_branch_wins_over_a_tag_of_the_same_name(clone):
    """An ambiguous base means the branch."""
    clone.run("tag", "release")
    clone.run("checkout", "--quiet", "-b", "release")
    tip = clone.commit("b.txt")

    for repository in (str(clone.path), clone.path.as_uri()):
        source = inspect(repository, "release")
        assert (source.base, source.sha) == ("release", tip)


@pytest.mark.parametrize("how", ["path", "url"])
def test_tag_or_commit_named_as_base_is_a_detached_base(clone, how):
    """A base that is no branch stands for the commit it names, an annotated tag too."""
    first = clone.run("rev-parse", "HEAD")
    clone.run("tag", "--annotate", "--message", "one", "v1")
    clone.commit("b.txt")
    repository = str(clone.path) if how == "path" else clone.path.as_uri()

    assert inspect(repository, "v1").base == first
    assert inspect(repository, first).base == first


def test_bare_repository_and_url_mean_the_branch_of_their_head(clone, tmp_path):
    """Without a work tree, HEAD says what the base is; nothing can be dirty."""
    sha = clone.run("rev-parse", "HEAD")
    bare = tmp_path / "shared.git"
    git("clone", "--quiet", "--bare", str(clone.path), str(bare))

    assert inspect(str(bare), None) == Source(str(bare), "shared", "main", sha, dirty=False)
    assert inspect(bare.as_uri(), None) == Source(bare.as_uri(), "shared", "main", sha, dirty=False)


def test_linked_worktree_has_a_current_branch_of_its_own(clone, tmp_path):
    """A linked worktree is a source like any other."""
    clone.run("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))

    assert inspect(str(tmp_path / "side"), None).base == "side"


@pytest.mark.parametrize("name", ["a.txt", "new.txt"])
def test_changed_and_new_files_make_it_dirty(clone, name):
    """What no commit holds is not worked on, so the reader is told."""
    (clone.path / name).write_text("something else\n")

    assert inspect(str(clone.path), None).dirty


def test_looking_runs_no_program_of_the_repository_and_writes_nothing(clone, tmp_path):
    """Filters and monitors that the repository names are not run, only to see if it is dirty."""
    trace = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {trace}\ncat\n")
    program.chmod(0o755)
    clone.commit(".gitattributes", "*.txt filter=evil\n")
    for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process"):
        clone.run("config", name, str(program))
    clone.run("config", "filter.evil.required", "true")
    os.utime(clone.path / "a.txt", (1, 1))
    before = _everything(clone.path)

    inspect(str(clone.path), None)

    assert not trace.exists()
    assert _everything(clone.path) == before


def test_places_that_are_no_repository_are_refused(tmp_path):
    """No folder, an ordinary folder, a file, and an address without a repository."""
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(NotARepository):
            inspect(str(place), None)
    with pytest.raises(NotARepository):
        inspect((tmp_path / "missing").as_uri(), None)


@pytest.mark.parametrize("scheme", ["http", "git", "ssh"])
def test_an_address_that_does_not_answer_is_no_missing_repository(scheme):
    """Nobody listens there now: that says nothing about the repository, and may pass."""
    with pytest.raises(RemoteUnreadable) as refusal:
        inspect(f"{scheme}://127.0.0.1:1/a.git", None)

    assert "127.0.0.1" in refusal.value.message


@pytest.mark.parametrize("how", ["path", "url"])
def test_repository_without_a_commit_is_refused(new_clone: Callable, how):
    """There is nothing to start from."""
    empty = new_clone("empty").path

    with pytest.raises(EmptyRepository):
        inspect(str(empty) if how == "path" else empty.as_uri(), None)


@pytest.mark.parametrize("how", ["path", "url"])
@pytest.mark.parametrize("base", ["nowhere", "main:a.txt", "HEAD~9", "a..b"])
def test_base_that_names_no_commit_is_refused(clone, how, base):
    """The base must be a branch or a commit."""
    with pytest.raises(BaseMissing):
        inspect(str(clone.path) if how == "path" else clone.path.as_uri(), base)


def test_unborn_branch_beside_real_ones_asks_for_a_base(clone):
    """HEAD on a branch without commits is no base, but the repository is not empty."""
    clone.run("symbolic-ref", "HEAD", "refs/heads/unborn")

    for repository in (str(clone.path), clone.path.as_uri()):
        with pytest.raises(BaseMissing):
            inspect(repository, None)


def test_sha256_and_shallow_repositories_are_refused_with_a_code_of_their_own(clone, tmp_path):
    """What cannot be mirrored is said at the beginning."""
    deep = tmp_path / "sha256"
    git("init", "--quiet", "--object-format=sha256", str(deep))
    clone.commit("b.txt")
    shallow = tmp_path / "shallow"
    git("clone", "--quiet", "--depth=1", clone.path.as_uri(), str(shallow))

    for repository in (deep, shallow):
        with pytest.raises(UnsupportedRepository):
            inspect(str(repository), None)


@pytest.mark.contract("S03")
@pytest.mark.parametrize(
    "address",
    [
        "--upload-pack=touch pwned",
        "ext::sh -c touch% pwned",
        "fd::17",
        "https://user:secret@example.invalid/a.git",
        "https://token@example.invalid/a.git",
        "ssh://git:secret@example.invalid/a.git",
        "ssh://-oProxyCommand=touch/a.git",
        "host:-oProxyCommand=touch",
        "ftp://example.invalid/a.git",
        "https://[broken/a.git",
        "with\nnewline",
        "with\0nul",
        "not-utf-8-\udcff",
        "",
    ],
)
def test_address_that_git_could_misunderstand_is_refused(address, tmp_path, monkeypatch):
    """Options, credentials and other transports never reach git, and a secret is not repeated."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UnsafeName) as refusal:
        inspect(address, None)

    assert "secret" not in str(refusal.value)
    assert "token" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("S03")
@pytest.mark.parametrize("base", ["--help", "", "a\nb", unicodedata.normalize("NFD", "né")])
def test_base_that_git_could_misunderstand_is_refused(clone, base):
    """A base is never an option, and always fit for canonical bytes."""
    with pytest.raises(UnsafeName) as refusal:
        inspect(str(clone.path), base)

    assert "--base" in refusal.value.advice


def test_login_name_is_allowed_for_ssh_alone():
    """`git@host:path` names no secret; it is how ssh remotes are written."""
    for address in ("git@example.invalid:team/a.git", "ssh://git@example.invalid/team/a.git"):
        assert is_url(address)
        assert safe_url(address) == address


def test_users_own_configuration_says_how_an_address_is_reached(clone, tmp_path, monkeypatch):
    """`insteadOf` of the user rewrites a URL, and the URL stays as it was given."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text(
        f'[url "{clone.path.parent.as_uri()}/"]\n\tinsteadOf = ssh://far.invalid/\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    source = inspect("ssh://far.invalid/library", None)

    assert (source.url, source.base) == ("ssh://far.invalid/library", "main")


def _everything(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
