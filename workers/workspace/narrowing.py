"""Showing less of a repository: some folders of its tree, some commits of its history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from app.domain.errors import SetupError
from app.repository.git import attempt, git

#: Git then looks for itself whether something is there after all that it left out.
_SPARSE = "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n"


class FolderMissing(SetupError):
    """A checkout shall show a folder that its commit does not have."""

    code = "folder_missing"
    hint = "name folders of the base; `git -c core.quotePath=off ls-tree -dr --name-only` has them"


def missing(git_dir: Path, base: str, folders: Sequence[str]) -> FolderMissing | None:
    """What is wrong with folders that are to be shown."""
    lost = [
        folder
        for folder in folders
        if attempt("cat-file", "-e", f"{base}:{folder}/", git_dir=git_dir).code != 0
    ]
    return FolderMissing(f"no folder {', '.join(lost)} at {base[:12]}") if lost else None


def narrow(git_dir: Path, folders: Sequence[str]) -> None:
    """Let a git folder check out these folders alone, with the files above them; none: all.

    What is left out stays in its index and so in every tree that is written from it: it is
    skipped, not deleted. A file that somebody puts there all the same counts as a change.
    """
    if not folders:
        return
    with (git_dir / "config").open("a") as config:
        config.write(_SPARSE)
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "sparse-checkout").write_text(_cone(folders))


def cut_history(git_dir: Path, commits: Iterable[str]) -> None:
    """Let history end at these commits."""
    lines = "".join(f"{commit}\n" for commit in sorted(set(commits)))
    if lines:
        (git_dir / "shallow").write_text(lines)


def last_of(git_dir: Path, base: str, depth: int) -> list[str]:
    """Where a history of so many commits ends: those that have parents all the same."""
    seen, level = {base}, [base]
    for turn in range(depth):
        rows = [row.split() for row in _with_parents(git_dir, level)]
        if turn == depth - 1:
            return [commit for commit, *parents in rows if parents]
        level = sorted({parent for _, *parents in rows for parent in parents} - seen)
        seen.update(level)
        if not level:
            break
    return []


def _with_parents(git_dir: Path, commits: Sequence[str]) -> list[str]:
    stdin = "".join(f"{commit}\n" for commit in commits).encode()
    asked = ("rev-list", "--no-walk", "--parents", "--stdin")
    return git(*asked, git_dir=git_dir, stdin=stdin).splitlines()


def _cone(folders: Sequence[str]) -> str:
    """Git's patterns for whole folders, and for nothing but the files of those above them."""
    whole = {folder for folder in folders if not any(one in folders for one in _above(folder))}
    above = {one for folder in whole for one in _above(folder)}
    lines = ["/*", "!/*/"]
    for folder in sorted(above):
        lines += [f"/{folder}/", f"!/{folder}/*/"]
    lines += [f"/{folder}/" for folder in sorted(whole)]
    return "".join(f"{line}\n" for line in lines)


def _above(folder: str) -> list[str]:
    parts = folder.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]
