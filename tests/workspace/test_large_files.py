"""Large files, where they are allowed: by our own call of git-lfs, held against their pointers."""

from __future__ import annotations

import hashlib
import shutil
import subprocess

import pytest

from app.domain.errors import RemoteUnreadable, UnsupportedRepository
from app.domain.failure import FailureClass, failure_class
from app.domain.scope import ViolationCode
from app.repository.git import git
from workers.workspace.checkout import open_checkout
from workers.workspace.large_files import LfsMissing, endpoint_of, fill

CONTENT = b"\x00large\xff" * 5000
OID = hashlib.sha256(CONTENT).hexdigest()
POINTER = (
    f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize {len(CONTENT)}\n".encode()
)
EVIL = b'[lfs]\n\turl = http://127.0.0.1:9/evil\n[lfs "http://127.0.0.1:9"]\n\taccess = basic\n'

#: What we call, and what it answers: `git-lfs fetch ADDRESS COMMIT`, and files in the git folder.
FAKE = """#!/bin/sh
echo "$@" > "$0.called"
git config lfs.url >> "$0.called"
store=$GIT_DIR/lfs
for oid in $(git ls-tree --name-only "$3"); do
    [ -e "$0.$oid" ] || { echo "missing $oid" >&2; exit 2; }
    place=$store/objects/$(echo "$oid" | cut -c1-2)/$(echo "$oid" | cut -c3-4)
    mkdir -p "$place" && cp "$0.$oid" "$place/$oid"
done
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A git-lfs that has one content to give, and writes down how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    fake = folder / "git-lfs"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    (folder / f"git-lfs.{OID}").write_bytes(CONTENT)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return fake


@pytest.fixture
def checkout(tmp_path, upstream, files):
    """A checkout with pointers in the place of large files."""
    base = upstream.commit(
        files
        | {
            b".gitattributes": ("100644", b"*.bin filter=lfs diff=lfs merge=lfs -text\n"),
            b".lfsconfig": ("100644", EVIL),
            b"a.bin": ("100644", POINTER),
            b"deep/b.bin": ("100755", POINTER),
        }
    )
    upstream.point("refs/heads/main", base)
    with open_checkout(tmp_path / "c", "a-1", upstream.remote, base, upstream.objects) as opened:
        yield opened


def filled(checkout, remote):
    fill(checkout, remote, "https://forge.example/acme/widgets")
    return checkout


@pytest.mark.contract("E04", "S03")
def test_contents_take_the_place_of_pointers(checkout, upstream, program):
    """By one call, with an address of ours; the commit keeps the pointers."""
    filled(checkout, upstream.remote)

    assert (checkout.tree / "a.bin").read_bytes() == CONTENT
    assert (checkout.tree / "deep/b.bin").stat().st_mode & 0o111
    called = program.with_name("git-lfs.called").read_text().split()
    address = "https://forge.example/acme/widgets.git/info/lfs"
    assert (called[:2], called[3:]) == (["fetch", address], [address])
    assert not (checkout.git_dir / "lfs").exists()
    tree = checkout.snapshot()
    assert (checkout.changes(checkout.base, tree), checkout.unfit) == ([], [])
    assert checkout.changed_since(tree) == []
    agents = subprocess.run(
        ["git", "status", "--porcelain"], cwd=checkout.tree, capture_output=True, check=True
    )
    assert agents.stdout == b""


@pytest.mark.contract("E03")
def test_a_changed_content_is_a_violation(checkout, upstream, program):
    """Its pointer would name what no server has; to touch or to remove one is another matter."""
    filled(checkout, upstream.remote)
    (checkout.tree / "a.bin").touch()
    assert checkout.changes(checkout.base, checkout.snapshot()) == []
    (checkout.tree / "deep/b.bin").unlink()
    (change,) = checkout.changes(checkout.base, checkout.snapshot())
    assert (change.path, checkout.unfit) == ("deep/b.bin", [])

    (checkout.tree / "a.bin").write_bytes(CONTENT[:-1] + b"!")
    checkout.snapshot()

    assert [(one.code, one.path) for one in checkout.unfit] == [(ViolationCode.LARGE_FILE, "a.bin")]
    assert failure_class(ViolationCode.LARGE_FILE) is FailureClass.SCOPE_VIOLATION


@pytest.mark.contract("S03")
def test_a_content_that_is_not_what_was_named_is_not_used(checkout, upstream, program):
    """Neither another one under its name, nor none at all."""
    given = program.with_name(f"git-lfs.{OID}")
    given.write_bytes(CONTENT[::-1])
    with pytest.raises(RemoteUnreadable, match="or is another one"):
        filled(checkout, upstream.remote)

    given.unlink()
    with pytest.raises(RemoteUnreadable, match="missing"):
        filled(checkout, upstream.remote)


def test_without_git_lfs_it_says_so(checkout, upstream, tmp_path, monkeypatch):
    """With what to do about it; a repository without large files needs none."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(shutil.which("git"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(LfsMissing) as refused:
        filled(checkout, upstream.remote)

    assert (refused.value.code, failure_class(refused.value.code)) == (
        "lfs_missing", FailureClass.INVALID_CONFIGURATION,
    )  # fmt: skip
    assert "--lfs" in refused.value.advice


@pytest.mark.contract("S03")
def test_addresses_are_the_repositorys_own():
    """What the repository says of it is not asked."""
    assert endpoint_of("https://h.example/a/b.git") == "https://h.example/a/b.git/info/lfs"
    assert endpoint_of("/srv/a") == "file:///srv/a"
    with pytest.raises(UnsupportedRepository):
        endpoint_of("git@h.example:a/b")


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")
@pytest.mark.parametrize("kind", ["bare", "with a work tree"])
def test_the_real_git_lfs_finds_them(checkout, upstream, tmp_path, kind):
    """Called as the one above, from a repository on this machine; what lacks is named."""
    source, git_dir = upstream.path, upstream.path
    if kind != "bare":
        source, git_dir = tmp_path / "work", tmp_path / "work" / ".git"
        git("clone", "--quiet", "--no-checkout", "--", upstream.url, str(source))
    with pytest.raises(RemoteUnreadable, match=OID):
        fill(checkout, upstream.remote, str(source))
    place = git_dir / "lfs/objects" / OID[:2] / OID[2:4]
    place.mkdir(parents=True)
    (place / OID).write_bytes(CONTENT)

    fill(checkout, upstream.remote, str(source))

    assert (checkout.tree / "a.bin").read_bytes() == CONTENT
    assert checkout.changes(checkout.base, checkout.snapshot()) == []
