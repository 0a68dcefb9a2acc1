"""The snapshot takes what is in the tree, and runs nothing that is in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from app.domain.scope import ChangeKind, ViolationCode
from app.repository.git import attempt, git
from workers.workspace.checkout import open_checkout


def changed(checkout, base):
    """What a snapshot of the tree changes: path → kind."""
    tree = checkout.snapshot()
    return {change.path: change.kind for change in checkout.changes(base, tree)}


@pytest.mark.contract("E03")
def test_takes_tracked_and_untracked_but_not_ignored(checkout, base):
    """Ignored files stay out unless they were tracked before."""
    tree = checkout.tree
    (tree / "kept.log").write_text("changed\n")
    (tree / "new.log").write_text("ignored\n")
    (tree / "build").mkdir()
    (tree / "build/out").write_text("ignored\n")
    (tree / "fresh").write_text("new\n")
    (tree / "src/a.py").unlink()
    (tree / "README.md").rename(tree / "READ.md")
    (tree / "run.sh").chmod(0o644)

    assert changed(checkout, base) == {
        "READ.md": ChangeKind.RENAMED,
        "fresh": ChangeKind.ADDED,
        "kept.log": ChangeKind.MODIFIED,
        "run.sh": ChangeKind.MODE_CHANGED,
        "src/a.py": ChangeKind.DELETED,
    }
    assert checkout.unfit == []


@pytest.mark.contract("E03")
def test_files_may_become_folders_and_links_and_back(checkout, base):
    """A path that changes its nature is seen as what it is now."""
    tree = checkout.tree
    (tree / "README.md").unlink()
    (tree / "README.md").mkdir()
    (tree / "README.md/inside").write_text("x")
    (tree / "src/a.py").unlink()
    (tree / "src/a.py").symlink_to("deep/b.py")
    (tree / "docs/guide.md").rename(tree / "guide.md")
    (tree / "docs").rmdir()
    (tree / "docs").symlink_to("src")
    (tree / "src/deep/b.py").unlink()
    (tree / "src/deep").rmdir()
    (tree / "src/deep").write_text("a file now")

    found = changed(checkout, base)

    assert found["README.md"] is ChangeKind.DELETED
    assert found["README.md/inside"] is ChangeKind.ADDED
    assert found["src/a.py"] is ChangeKind.TYPE_CHANGED
    assert found["docs"] is ChangeKind.ADDED
    assert found["guide.md"] is ChangeKind.RENAMED
    assert found["src/deep"] is ChangeKind.ADDED
    assert found["src/deep/b.py"] is ChangeKind.DELETED


@pytest.mark.contract("E03")
def test_a_folder_that_hides_behind_an_ignored_link_is_gone(checkout, base):
    """Tracked files are not read through a link that the agent put in their folder's place."""
    (checkout.tree / "docs").rename(checkout.root / "elsewhere")
    (checkout.tree / ".gitignore").write_text("docs\n")
    (checkout.tree / "docs").symlink_to(checkout.root / "elsewhere")

    assert changed(checkout, base)["docs/guide.md"] is ChangeKind.DELETED


@pytest.mark.contract("E03", "S03")
def test_odd_names_survive(checkout, base):
    """Newlines, leading dashes, magic, quotes and bytes that are not UTF-8 are just names."""
    names = [b"-rf", b"--all", b"new\nline", b"tab\there", b'quo"te', b":(top)x", b"\xff\xfe", b" "]
    for name in names:
        path = os.path.join(os.fsencode(checkout.tree), name)
        with open(path, "wb") as file:
            file.write(name)

    found = {name.encode("utf-8", "surrogateescape") for name in changed(checkout, base)}

    assert found == set(names)


@pytest.mark.contract("E03")
def test_special_files_are_not_read(checkout, base):
    """A pipe in the place of a tracked file is reported; it neither blocks nor enters the tree."""
    (checkout.tree / "README.md").unlink()
    os.mkfifo(checkout.tree / "README.md")
    os.mkfifo(checkout.tree / "another")

    assert changed(checkout, base) == {"README.md": ChangeKind.DELETED}
    assert [(each.code, each.path) for each in checkout.unfit] == [
        (ViolationCode.SPECIAL_FILE, "README.md")
    ]


@pytest.mark.contract("E03")
@pytest.mark.parametrize("name", ["new.bin", "src/a.py"])
def test_what_is_too_large_is_not_read(checkout, base, name):
    """A sparse file of 200 GB, which costs an agent nothing, costs the worker nothing either."""
    with (checkout.tree / name).open("wb") as file:
        file.truncate(200 << 30)

    assert changed(checkout, base) == {}
    assert [(each.code, each.path) for each in checkout.unfit] == [(ViolationCode.TOO_LARGE, name)]


@pytest.mark.contract("E01", "E03")
def test_what_no_path_reaches_is_reported_and_removed(checkout, base):
    """3,000 folders one in the other are no unchanged tree, and stay in nobody's way."""
    dig = "import os\nfor _ in range(3000): os.mkdir('d' * 9); os.chdir('d' * 9)\nopen('x', 'w')"
    subprocess.run([sys.executable, "-c", dig], cwd=checkout.tree, check=True)

    assert changed(checkout, base) == {}
    assert [each.code for each in checkout.unfit] == [ViolationCode.TOO_DEEP]
    checkout.close()
    assert not checkout.root.exists()


@pytest.mark.contract("E03")
def test_names_of_git_itself_are_reported(checkout, base):
    """A folder that is `.git` on other file systems is reported and left out."""
    (checkout.tree / "src/.GIT").mkdir()
    (checkout.tree / "src/.GIT/config").write_text("[core]\n")

    assert changed(checkout, base) == {}
    assert [(each.code, each.path) for each in checkout.unfit] == [
        (ViolationCode.GIT_NAME, "src/.GIT/config")
    ]


@pytest.mark.contract("E03")
@pytest.mark.parametrize("with_commit", [True, False])
def test_a_nested_repository_is_a_submodule_link(checkout, base, with_commit):
    """A repository inside the tree is not opened; it shows as a link, for the scope to refuse."""
    inner = checkout.tree / "vendor"
    git("init", "--quiet", str(inner))
    (inner / "file").write_text("x")
    if with_commit:
        (inner / ".git/refs/heads/main").write_text(base + "\n")

    tree = checkout.snapshot()

    [change] = checkout.changes(base, tree)
    assert (change.path, change.new_mode) == ("vendor", "160000")


@pytest.mark.contract("E04")
def test_nothing_the_agent_wrote_is_run(checkout, base, tmp_path):
    """Filters, attributes, hooks, monitors and aliases of the agent's repository run nothing."""
    proof = tmp_path / "proof"
    evil = f"touch '{proof}'; cat"
    config = f"""
        [core]
            fsmonitor = "{evil}"
            hooksPath = .hooks
            sshCommand = "{evil}"
            attributesFile = .evil
        [filter "evil"]
            clean = "{evil}"
            smudge = "{evil}"
            process = "{evil}"
            required = true
        [diff "evil"]
            command = "{evil}"
            textconv = "{evil}"
        [merge "evil"]
            driver = "{evil}"
        [user]
            signingKey = x
        [gpg]
            program = "{evil}"
        [commit]
            gpgSign = true
    """
    nested = checkout.tree / "nested"
    git("init", "--quiet", str(nested))
    (checkout.scratch / ".gitconfig").write_text(config)
    for repository in (checkout.tree / ".git", nested / ".git"):
        (repository / "config").write_text("[core]\n\trepositoryformatversion = 0\n" + config)
        hooks = repository / "hooks"
        hooks.mkdir(exist_ok=True)
        names = ("pre-commit", "post-index-change", "post-checkout", "reference-transaction")
        for name in names:
            (hooks / name).write_text(f"#!/bin/sh\n{evil}\n")
            (hooks / name).chmod(0o755)
    (checkout.tree / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (checkout.tree / "src/a.py").write_text("a = 2\n")

    tree = checkout.snapshot()
    checkout.changed_since(tree)
    checkout.changes(base, tree)

    assert not proof.exists()
    assert git("cat-file", "blob", f"{tree}:src/a.py", git_dir=checkout.git_dir) == "a = 2"
    subprocess.run(["git", "status"], cwd=checkout.tree, capture_output=True, check=False)
    assert proof.exists(), "the trap itself does not work"


@pytest.mark.contract("E04")
def test_filters_and_submodules_of_the_base_run_and_fetch_nothing(tmp_path, upstream, files):
    """A pointer of LFS stays a pointer, a submodule an empty folder, also after the snapshot."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    base = upstream.commit(
        files
        | {
            b".gitattributes": ("100644", b"*.bin filter=lfs diff=lfs merge=lfs -text\n"),
            b".gitmodules": ("100644", b'[submodule "s"]\n\tpath = s\n\turl = ../s\n'),
            b"a.bin": ("100644", pointer),
            b"s": ("160000", b"12" * 20),
        }
    )
    upstream.point("refs/heads/main", base)

    with open_checkout(tmp_path / "c", "a-1", upstream.remote, base, upstream.objects) as checkout:
        assert (checkout.tree / "a.bin").read_bytes() == pointer
        assert list((checkout.tree / "s").iterdir()) == []
        assert changed(checkout, base) == {}

        (checkout.tree / "s" / "new").write_text("lost")
        checkout.snapshot()
        assert [one.code for one in checkout.unfit] == [ViolationCode.SUBMODULE_LINK]

        shutil.rmtree(checkout.tree / "s")
        assert changed(checkout, base) == {"s": ChangeKind.DELETED}


@pytest.mark.contract("E04")
def test_attributes_convert_nothing(tmp_path, upstream):
    """Files are in the tree as they are in the commit, and untouched ones never look changed."""
    attributes = b"*.txt text\n*.bat eol=crlf\n*.id ident\n*.wide working-tree-encoding=UTF-16\n"
    files = {
        b".gitattributes": attributes,
        b"old.txt": b"with\r\n",
        b"a.bat": b"without\n",
        b"an.id": b"$Id$\n",
        b"a.wide": b"narrow\n",
    }
    base = upstream.commit({path: ("100644", content) for path, content in files.items()})

    with open_checkout(tmp_path / "c", "a-1", upstream.remote, base, upstream.objects) as checkout:
        for path, content in files.items():
            file = checkout.tree / path.decode()
            assert file.read_bytes() == content
            file.write_bytes(content)
        assert changed(checkout, base) == {}

        (checkout.tree / "a.bat").write_bytes(b"with\r\n")
        (checkout.tree / "a.bat").chmod(0)
        tree = checkout.snapshot()
        blob = attempt("cat-file", "blob", f"{tree}:a.bat", git_dir=checkout.git_dir)
        assert blob.out == b"with\r\n"


@pytest.mark.contract("E04")
def test_the_same_tree_gives_the_same_commit(checkout, base, author):
    """Author, committer and dates come from the attempt: twice the same work is one commit."""
    (checkout.tree / "src/a.py").write_text("a = 2\n")
    tree = checkout.snapshot()

    first = checkout.commit(tree, base, "A title\n\nA body.\n", author)
    second = checkout.commit(tree, base, "A title\n\nA body.\n", author)

    assert first == second
    assert git(
        "log", "-1", "--format=%an %ae %at %cn %ce %ct %P", first, git_dir=checkout.git_dir
    ) == (
        f"Fencepost worker@fencepost.invalid 1700000000 "
        f"Fencepost worker@fencepost.invalid 1700000000 {base}"
    )


@pytest.mark.contract("E08")
def test_sees_what_a_validator_changes(checkout):
    """After the snapshot a touched file is no change; another content, mode or absence is."""
    (checkout.tree / "fresh").write_text("new\n")
    tree = checkout.snapshot()
    (checkout.tree / "README.md").touch()
    (checkout.tree / "cache").write_text("not tracked")
    assert checkout.changed_since(tree) == []

    (checkout.tree / "fresh").write_text("neu\n")
    (checkout.tree / "run.sh").chmod(0o644)
    (checkout.tree / "src/a.py").unlink()

    assert checkout.changed_since(tree) == ["fresh", "run.sh", "src/a.py"]
