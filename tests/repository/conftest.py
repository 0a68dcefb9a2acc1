"""Real repositories for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.repository.git import git
from app.repository.mirror import Mirror, open_mirror

AUTHOR = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "A Reader"), ("EMAIL", "reader@example.invalid"))
}


@dataclass(frozen=True, slots=True)
class Clone:
    """A work tree of a reader's, driven by real git."""

    path: Path

    def run(self, *arguments: str) -> str:
        """Run git in it."""
        return git(*arguments, directory=self.path, extra=AUTHOR)

    def commit(self, name: str = "a.txt", content: str = "a\n", message: str = "a change") -> str:
        """Write one file, commit it, and return the commit."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        self.run("add", "--", name)
        self.run("commit", "--quiet", "--message", message)
        return self.run("rev-parse", "HEAD")


@dataclass(frozen=True, slots=True)
class Branches:
    """Commits made straight in a bare repository, as a worker's push would leave them."""

    mirror: Mirror

    def write(self, branch: str, files: dict[str, str], parent: str | None = None) -> str:
        """Point a branch at a new commit that holds exactly these files; return the commit."""
        rows = "".join(f"100644 blob {self._blob(text)}\t{name}\n" for name, text in files.items())
        tree = git("mktree", git_dir=self.mirror.git_dir, stdin=rows.encode())
        above = () if parent is None else ("-p", parent)
        commit = git(
            "commit-tree", tree, *above, "-m", branch, git_dir=self.mirror.git_dir, extra=AUTHOR
        )
        git("update-ref", f"refs/heads/{branch}", commit, git_dir=self.mirror.git_dir)
        return commit

    def tip(self, branch: str) -> str:
        """The commit that a branch names."""
        return git("rev-parse", f"refs/heads/{branch}", git_dir=self.mirror.git_dir)

    def delete(self, branch: str) -> None:
        """Remove a branch."""
        git("update-ref", "-d", f"refs/heads/{branch}", git_dir=self.mirror.git_dir)

    def _blob(self, text: str) -> str:
        return git("hash-object", "-w", "--stdin", git_dir=self.mirror.git_dir, stdin=text.encode())


@pytest.fixture
def new_clone(tmp_path: Path) -> Callable[[str], Clone]:
    """Makes empty work trees by name."""

    def make(name: str) -> Clone:
        git("init", "--quiet", str(tmp_path / name))
        return Clone(tmp_path / name)

    return make


@pytest.fixture
def clone(new_clone: Callable[[str], Clone]) -> Clone:
    """A work tree with one commit on main."""
    made = new_clone("library")
    made.commit()
    return made


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    """An empty mirror."""
    return open_mirror(tmp_path / "forge", "repo_1")


@pytest.fixture
def branches(mirror: Mirror) -> Branches:
    """Makes branches in the mirror."""
    return Branches(mirror)
