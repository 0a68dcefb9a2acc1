"""Taking the working tree as a git tree, past everything an agent may have left there (E03, E04).

Only commands that look at files are used: `git add` and `git status` would read the configuration
of repositories inside the tree, which the agent can write.
"""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from app.domain.scope import SUBMODULE_MODE, Violation, ViolationCode
from app.repository.git import git
from workers.workspace.beyond import Beyond, is_folder, native
from workers.workspace.readable import make_readable
from workers.workspace.tree import Tree

NOTHING = Beyond()
MOST_CHANGED = 4 << 30  #: bytes of all changed files together
_TRACKED = ("-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=dirty")


def take(tree: Tree, base: str, beyond: Beyond = NOTHING) -> tuple[str, list[Violation]]:
    """The id of the working tree as a git tree, and what no git tree can hold.

    Tracked files count as they are, also ignored ones; untracked files count unless they are
    ignored. A repository inside the tree counts as a submodule link, for the scope to refuse.
    """
    made = make_readable(tree.root)
    unfit = [
        Violation(ViolationCode.TOO_DEEP, path, "longer than a path") for path in made.too_deep
    ]
    kept, gone = [], []
    for path in _differing(tree):
        if beyond.is_as_filled(tree.root, path):
            continue  # the commit keeps its pointer
        if (changed := beyond.unfit(tree.root, path)) is not None:
            unfit.append(changed)
        elif not _is_usable(tree.root, path):
            gone.append(path)
            if path in made.removed:
                unfit.append(_special(path))
        else:
            kept.append(path)
    _update(tree, gone, "--force-remove")
    for path in _untracked(tree):
        if any(part.lower() == ".git" for part in path.rstrip("/").split("/")):
            unfit.append(
                Violation(ViolationCode.GIT_NAME, path, "a name that git keeps for itself")
            )
        else:
            kept.append(path)
    unfit += _filled_submodules(tree, beyond)
    links = [path.rstrip("/") for path in kept if is_folder(tree.root / native(path))]
    files = [path for path in kept if not is_folder(tree.root / native(path))]
    if too_large := _too_large(tree.root, files):
        return tree.git("write-tree"), [*unfit, too_large]
    _update(tree, files, "--add", "--remove", "--replace")
    _link(tree, links, base)
    return tree.git("write-tree"), unfit


def _too_large(root: Path, files: Iterable[str]) -> Violation | None:
    """More than can be read while a claim waits; a sparse file of any size costs an agent nothing.

    What is gone meanwhile is git's to notice.
    """
    sizes = {}
    for path in files:
        with contextlib.suppress(OSError):
            sizes[path] = (root / native(path)).lstat().st_size
    if sum(sizes.values()) <= MOST_CHANGED:
        return None
    largest = max(sizes, key=lambda path: sizes[path])
    why = f"{sizes[largest]:,} bytes; of all that changed at most {MOST_CHANGED:,} are taken"
    return Violation(ViolationCode.TOO_LARGE, largest, why)


def changed_since(tree: Tree, taken: str, beyond: Beyond = NOTHING) -> list[str]:
    """The tracked paths whose content, type or mode is not what a snapshot took (E08)."""
    refresh = ("update-index", "-q", "--refresh", "--ignore-submodules")
    tree.attempt(*refresh)  # its exit code only says "something did"
    raw = tree.git("diff-index", *_TRACKED, taken, "--")
    return [path for path in raw.split("\0")[1::2] if not beyond.is_as_filled(tree.root, path)]


def _differing(tree: Tree) -> list[str]:
    return tree.git("diff-files", *_TRACKED).split("\0")[1::2]


def _untracked(tree: Tree) -> list[str]:
    listed = tree.git("ls-files", "-z", "--others", "--exclude-standard")
    return [name for name in listed.split("\0") if name]


def _update(tree: Tree, paths: list[str], *options: str) -> None:
    if paths:
        tree.git("update-index", *options, "-z", "--stdin", stdin=_lines(paths))


def _link(tree: Tree, paths: list[str], base: str) -> None:
    # The nested repository is never read; any commit says "submodule" as well as its own would.
    if paths:
        entries = [f"{SUBMODULE_MODE} {base}\t{path}" for path in paths]
        tree.git("update-index", "--replace", "-z", "--index-info", stdin=_lines(entries))


def _is_usable(root: Path, path: str) -> bool:
    """Whether a tracked path is still a file, a link or a submodule's folder of its own."""
    place = root
    *folders, _ = path.split("/")
    for folder in folders:
        place = place / native(folder)
        if place.is_symlink() or not place.is_dir():
            return False
    try:
        mode = (root / native(path)).lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode) or (root / native(path) / ".git").exists()


def _filled_submodules(tree: Tree, beyond: Beyond) -> list[Violation]:
    """Links whose folder is no longer as it was: no tree of ours could hold what was put there."""
    staged = git("ls-files", "--stage", "-z", git_dir=tree.git_dir).split("\0")
    links = {entry.split("\t", 1)[1] for entry in staged if entry.startswith(SUBMODULE_MODE)}
    why = "files in the folder of a submodule, which is another repository"
    return [
        Violation(ViolationCode.SUBMODULE_LINK, path, why)
        for path in sorted(links - beyond.submodules.keys())
        if is_folder(tree.root / native(path)) and any((tree.root / native(path)).iterdir())
    ] + [
        Violation(ViolationCode.SUBMODULE_LINK, path, "files changed inside a submodule")
        for path, one in beyond.submodules.items()
        if is_folder(place := tree.root / native(path))
        and changed_since(replace(tree, git_dir=one.git_dir, root=place), one.commit)
    ]


def _special(path: str) -> Violation:
    why = "a device, socket or pipe in the place of a tracked file"
    return Violation(ViolationCode.SPECIAL_FILE, path, why)


def _lines(paths: Iterable[str]) -> bytes:
    return "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
