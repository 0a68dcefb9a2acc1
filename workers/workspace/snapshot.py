"""Taking the working tree as a git tree, past everything an agent may have left there (E03, E04).

Only commands that look at files are used: `git add` and `git status` would read the configuration
of repositories inside the tree, which the agent can write.
"""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterable
from pathlib import Path

from app.domain.scope import SUBMODULE_MODE, Violation, ViolationCode
from app.repository.git import attempt, git
from workers.workspace.beyond import Beyond, is_folder, native
from workers.workspace.readable import make_readable

NOTHING = Beyond()
MOST_CHANGED = 4 << 30  #: bytes of all changed files together
_TRACKED = ("-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=dirty")


def take(
    git_dir: Path, tree: Path, base: str, beyond: Beyond = NOTHING
) -> tuple[str, list[Violation]]:
    """The id of the working tree as a git tree, and what no git tree can hold.

    Tracked files count as they are, also ignored ones; untracked files count unless they are
    ignored. A repository inside the tree counts as a submodule link, for the scope to refuse.
    """
    made = make_readable(tree)
    unfit = [
        Violation(ViolationCode.TOO_DEEP, path, "longer than a path") for path in made.too_deep
    ]
    kept, gone = [], []
    for path in _differing(git_dir, tree):
        if beyond.is_as_filled(tree, path):
            continue  # the commit keeps its pointer
        if (changed := beyond.unfit(tree, path)) is not None:
            unfit.append(changed)
        elif not _is_usable(tree, path):
            gone.append(path)
            if path in made.removed:
                unfit.append(_special(path))
        else:
            kept.append(path)
    _update(git_dir, tree, gone, "--force-remove")
    for path in _untracked(git_dir, tree):
        if any(part.lower() == ".git" for part in path.rstrip("/").split("/")):
            unfit.append(
                Violation(ViolationCode.GIT_NAME, path, "a name that git keeps for itself")
            )
        else:
            kept.append(path)
    unfit += _filled_submodules(git_dir, tree, beyond)
    links = [path.rstrip("/") for path in kept if is_folder(tree / native(path))]
    files = [path for path in kept if not is_folder(tree / native(path))]
    if too_large := _too_large(tree, files):
        return git("write-tree", git_dir=git_dir), [*unfit, too_large]
    _update(git_dir, tree, files, "--add", "--remove", "--replace")
    _link(git_dir, tree, links, base)
    return git("write-tree", git_dir=git_dir), unfit


def _too_large(tree: Path, files: Iterable[str]) -> Violation | None:
    """More than can be read while a claim waits; a sparse file of any size costs an agent nothing.

    What is gone meanwhile is git's to notice.
    """
    sizes = {}
    for path in files:
        with contextlib.suppress(OSError):
            sizes[path] = (tree / native(path)).lstat().st_size
    if sum(sizes.values()) <= MOST_CHANGED:
        return None
    largest = max(sizes, key=lambda path: sizes[path])
    why = f"{sizes[largest]:,} bytes; of all that changed at most {MOST_CHANGED:,} are taken"
    return Violation(ViolationCode.TOO_LARGE, largest, why)


def changed_since(git_dir: Path, tree: Path, taken: str, beyond: Beyond = NOTHING) -> list[str]:
    """The tracked paths whose content, type or mode is not what a snapshot took (E08)."""
    refresh = ("update-index", "-q", "--refresh", "--ignore-submodules")
    attempt(*refresh, git_dir=git_dir, work_tree=tree)  # its exit code only says "something did"
    raw = git("diff-index", *_TRACKED, taken, "--", git_dir=git_dir, work_tree=tree)
    return [path for path in raw.split("\0")[1::2] if not beyond.is_as_filled(tree, path)]


def ignored_files(git_dir: Path, tree: Path, limit: int) -> list[str]:
    """What the run left behind that is ignored; a folder that is ignored whole counts once."""
    asked = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return _names(git(*asked, git_dir=git_dir, work_tree=tree))[:limit]


def _differing(git_dir: Path, tree: Path) -> list[str]:
    raw = git("diff-files", *_TRACKED, git_dir=git_dir, work_tree=tree)
    return raw.split("\0")[1::2]


def _untracked(git_dir: Path, tree: Path) -> list[str]:
    asked = ("ls-files", "-z", "--others", "--exclude-standard")
    return _names(git(*asked, git_dir=git_dir, work_tree=tree))


def _update(git_dir: Path, tree: Path, paths: list[str], *options: str) -> None:
    if paths:
        git(
            "update-index", *options, "-z", "--stdin",
            git_dir=git_dir, work_tree=tree, stdin=_lines(paths),
        )  # fmt: skip


def _link(git_dir: Path, tree: Path, paths: list[str], base: str) -> None:
    # The nested repository is never read; any commit says "submodule" as well as its own would.
    if paths:
        entries = [f"{SUBMODULE_MODE} {base}\t{path}" for path in paths]
        git(
            "update-index", "--replace", "-z", "--index-info",
            git_dir=git_dir, work_tree=tree, stdin=_lines(entries),
        )  # fmt: skip


def _is_usable(tree: Path, path: str) -> bool:
    """Whether a tracked path is still a file, a link or a submodule's folder of its own."""
    place = tree
    *folders, _ = path.split("/")
    for folder in folders:
        place = place / native(folder)
        if place.is_symlink() or not place.is_dir():
            return False
    try:
        mode = (tree / native(path)).lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode) or (tree / native(path) / ".git").exists()


def _filled_submodules(git_dir: Path, tree: Path, beyond: Beyond) -> list[Violation]:
    """Links whose folder is no longer as it was: no tree of ours could hold what was put there."""
    staged = git("ls-files", "--stage", "-z", git_dir=git_dir).split("\0")
    links = {entry.split("\t", 1)[1] for entry in staged if entry.startswith(SUBMODULE_MODE)}
    why = "files in the folder of a submodule, which is another repository"
    return [
        Violation(ViolationCode.SUBMODULE_LINK, path, why)
        for path in sorted(links - beyond.submodules.keys())
        if is_folder(tree / native(path)) and any((tree / native(path)).iterdir())
    ] + [
        Violation(ViolationCode.SUBMODULE_LINK, path, "files changed inside a submodule")
        for path, one in beyond.submodules.items()
        if is_folder(place := tree / native(path)) and changed_since(one.git_dir, place, one.commit)
    ]


def _special(path: str) -> Violation:
    why = "a device, socket or pipe in the place of a tracked file"
    return Violation(ViolationCode.SPECIAL_FILE, path, why)


def _lines(paths: Iterable[str]) -> bytes:
    return "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")


def _names(listed: str) -> list[str]:
    return [name for name in listed.split("\0") if name]
