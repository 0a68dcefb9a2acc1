"""A checkout may hold some folders and some history; what it leaves out is in the commit."""

from __future__ import annotations

import subprocess

import pytest

from app.domain.extent import Extent
from app.domain.scope import ChangeKind
from app.repository.git import git
from app.repository.push import Move, push
from app.repository.remote import Remote
from workers.workspace.cache import Cache
from workers.workspace.checkout import open_checkout
from workers.workspace.scope import check_scope

SRC = Extent(folders=("src/deep",))


@pytest.fixture
def narrow(tmp_path, upstream, base):
    """A checkout of one folder of the first commit."""
    with open_checkout(
        tmp_path / "c", "a-1", upstream.remote, base, upstream.objects, extent=SRC
    ) as opened:
        yield opened


@pytest.fixture
def history(upstream, base, files):
    """Five more commits on main, oldest first; the third is a merge."""
    made = [base]
    for number in range(5):
        tree = files | {b"n": ("100644", f"{number}\n".encode())}
        sha = upstream.commit(tree, parent=made[-1])
        if number == 2:
            side = upstream.commit(files | {b"side": ("100644", b"side\n")}, parent=made[-2])
            above = ("-p", made[-1], "-p", side)
            sha = upstream.git("commit-tree", f"{sha}^{{tree}}", *above, "-m", "merge")
        made.append(sha)
    upstream.point("refs/heads/main", made[-1])
    return made


@pytest.mark.contract("E01")
def test_only_the_folders_are_there(narrow):
    """With them come the files beside and above, and the agent's own git sees nothing missing."""
    found = {str(one.relative_to(narrow.tree)) for one in narrow.tree.rglob("*") if one.is_file()}
    found = {one for one in found if not one.startswith(".git/")}

    assert found == {
        "README.md", "kept.log", "run.sh", ".gitignore", "src/a.py", "src/deep/b.py",
    }  # fmt: skip
    assert agents_git(narrow.tree, "status", "--porcelain") == ""
    assert agents_git(narrow.tree, "sparse-checkout", "list") == "src/deep\n"


@pytest.mark.contract("E03", "E04")
def test_what_is_left_out_is_no_deletion(narrow, base, author):
    """The commit keeps it, whatever the agent did to the folder that it was given."""
    (narrow.tree / "src/deep/b.py").unlink()
    (narrow.tree / "src/deep/c.py").write_text("c = 1\n")
    (narrow.tree / "other").mkdir()
    (narrow.tree / "other/new.py").write_text("new = 1\n")

    tree = narrow.snapshot()
    head = narrow.commit(tree, base, "A change\n", author)

    assert {change.path: change.kind for change in narrow.changes(base, head)} == {
        "src/deep/b.py": ChangeKind.DELETED,
        "src/deep/c.py": ChangeKind.ADDED,
        "other/new.py": ChangeKind.ADDED,
    }
    assert git("cat-file", "blob", f"{head}:docs/guide.md", git_dir=narrow.git_dir) == "guide"
    assert narrow.changed_since(tree) == []
    assert [one.path for one in check_scope(narrow.git_dir, base, head, ("src/**",))] == [
        "other/new.py"
    ]


@pytest.mark.contract("E03")
def test_a_file_in_the_place_of_one_that_is_left_out_is_a_change(narrow, base):
    """Also a link in the place of its folder, which then takes away what was in there."""
    (narrow.tree / "docs").mkdir()
    (narrow.tree / "docs/guide.md").write_text("another\n")
    tree = narrow.snapshot()
    assert {change.path for change in narrow.changes(base, tree)} == {"docs/guide.md"}

    (narrow.tree / "docs/guide.md").write_text("guide\n")
    assert narrow.changed_since(tree) == ["docs/guide.md"]
    assert narrow.changes(base, narrow.snapshot()) == []

    (narrow.tree / "docs/guide.md").unlink()
    (narrow.tree / "docs").rmdir()
    (narrow.tree / "docs").symlink_to("src")
    changes = {change.path: change.kind for change in narrow.changes(base, narrow.snapshot())}
    assert changes == {"docs": ChangeKind.ADDED, "docs/guide.md": ChangeKind.DELETED}


@pytest.mark.contract("E03")
def test_the_agent_may_widen_its_own_view(narrow, base):
    """What its own git checks out besides is as the commit has it: no change."""
    agents_git(narrow.tree, "sparse-checkout", "disable")

    assert (narrow.tree / "docs/guide.md").exists()
    assert narrow.changes(base, narrow.snapshot()) == []


@pytest.mark.contract("E01")
@pytest.mark.parametrize(("depth", "seen"), [(1, 1), (2, 2), (4, 5), (100, 7)])
def test_the_agent_sees_so_many_commits(tmp_path, upstream, history, depth, seen):
    """Its history ends there, on every side of a merge, and its objects need no more."""
    extent = Extent(depth=depth)
    with open_checkout(
        tmp_path / "c", "a-1", upstream.remote, history[-1], upstream.objects, extent=extent
    ) as checkout:
        assert agents_git(checkout.tree, "rev-list", "--count", "HEAD") == f"{seen}\n"
        assert agents_git(checkout.tree, "status", "--porcelain") == ""
        subprocess.run(["git", "fsck", "--connectivity-only"], cwd=checkout.tree, check=True)


@pytest.mark.contract("E01", "E04")
@pytest.mark.parametrize("place", [-1, -3], ids=["newest", "older"])
def test_a_short_history_is_fetched_and_pushed_from(
    tmp_path, upstream, served, history, author, place
):
    """A real server takes the commit, its parent is the base, and no history is cut there."""
    base, remote = history[place], Remote(served)
    with Cache(tmp_path / "cache", "r.shallow") as cache:
        cache.bring(remote, base, depth=1)
        assert git("rev-list", "--count", base, git_dir=cache.git_dir) == "1"
        with open_checkout(
            tmp_path / "c", "a-1", remote, base, cache.objects, shallow=cache.shallow,
            extent=Extent(depth=1),
        ) as checkout:  # fmt: skip
            (checkout.tree / "src/a.py").write_text("a = 2\n")
            tree = checkout.snapshot()
            head = checkout.commit(tree, base, "A change\n", author)
            assert [one.path for one in checkout.changes(base, head)] == ["src/a.py"]
            assert check_scope(checkout.git_dir, base, head, ("src/**",)) == []
            push(checkout.git_dir, remote, [Move("refs/heads/made", head, None)])

    assert upstream.tip("refs/heads/made") == head
    assert upstream.git("rev-parse", "made^") == base
    assert not (upstream.path / "shallow").exists()
    assert upstream.git("fsck", "--no-dangling", "--connectivity-only") == ""


@pytest.mark.contract("E01")
def test_a_cache_may_become_deeper_and_shallower_under_a_checkout(
    tmp_path, upstream, served, history
):
    """What a checkout was told of the history stays true for it."""
    remote = Remote(served)
    with Cache(tmp_path / "cache", "r.shallow") as cache:
        for depth, commit in ((1, history[-2]), (4, history[-1]), (1, history[-3])):
            cache.bring(remote, commit, depth=depth)
            with open_checkout(
                tmp_path / "c", f"a-{depth}", remote, commit, cache.objects,
                shallow=cache.shallow, extent=Extent(depth=depth),
            ) as checkout:  # fmt: skip
                cache.bring(remote, history[2], depth=2)
                agents_git(checkout.tree, "fsck", "--connectivity-only")
                assert (
                    git("fsck", "--no-dangling", "--connectivity-only", git_dir=checkout.git_dir)
                    == ""
                )


def agents_git(tree, *arguments):
    """What the agent's own git says."""
    done = subprocess.run(["git", *arguments], cwd=tree, text=True, check=True, capture_output=True)
    return done.stdout
