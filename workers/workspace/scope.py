"""Checking a candidate's scope on git objects, against its base (E03)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.scope import (
    LINK_MODE,
    SUBMODULE_MODE,
    Change,
    ChangeKind,
    Violation,
    ViolationCode,
    fold,
    is_git_name,
    prefixes,
    resolve,
)
from app.repository.git import git
from workers.workspace.blob import read_blobs
from workers.workspace.change import read_changes
from workers.workspace.pathspec import covers_any, matching


def check_scope(git_dir: Path, base: str, commit: str, patterns: Sequence[str]) -> list[Violation]:
    """Everything in which the commit leaves its authorisation; an empty list is the permission.

    `patterns` is in its normal form (`check_patterns`); none at all means the whole repository.
    """
    changes = read_changes(git_dir, base, commit, renames=False)
    usable = [change for change in changes if not is_git_name(change.path)]
    found = [
        Violation(ViolationCode.GIT_NAME, change.path, "a name that git keeps for itself")
        for change in changes
        if change.is_present and is_git_name(change.path)
    ]
    found += _outside(git_dir, base, usable, patterns)
    found += _submodules(usable)
    found += _links(git_dir, base, commit, usable, patterns)
    found += _clashes(git_dir, base, commit, usable)
    return sorted(found, key=lambda violation: (violation.path, violation.code))


def matches_anything(git_dir: Path, base: str, commit: str | None, patterns: Sequence[str]) -> bool:
    """Whether the patterns cover something before the run, or after it."""
    if not patterns:
        return True
    trees = [base] if commit is None else [base, commit]
    return any(covers_any(git_dir, tree, patterns) for tree in trees)


def _outside(
    git_dir: Path, base: str, changes: list[Change], patterns: Sequence[str]
) -> Iterator[Violation]:
    allowed = matching(git_dir, (change.path for change in changes), patterns, base)
    for change in changes:
        if change.path not in allowed:
            why = f"{change.kind} outside the paths that were approved"
            yield Violation(ViolationCode.OUTSIDE_SCOPE, change.path, why)


def _submodules(changes: list[Change]) -> Iterator[Violation]:
    for change in changes:
        if SUBMODULE_MODE in (change.old_mode, change.new_mode):
            why = f"a submodule link, {change.kind}"
            yield Violation(ViolationCode.SUBMODULE_LINK, change.path, why)


def _links(
    git_dir: Path, base: str, commit: str, changes: list[Change], patterns: Sequence[str]
) -> Iterator[Violation]:
    changed = [change.path for change in changes if change.new_mode == LINK_MODE]
    if not changed:
        return
    tree = _read_tree(git_dir, commit)
    blobs = read_blobs(git_dir, tree.links.values())
    targets = {
        path: blobs[blob].decode("utf-8", "surrogateescape") for path, blob in tree.links.items()
    }
    leads = {path: resolve(path, targets[path], targets) for path in changed}
    reached = {path: tree.under(end) for path, end in leads.items() if end is not None}
    wanted = [name for names in reached.values() for name in names if not is_git_name(name)]
    allowed = matching(git_dir, wanted, patterns, base)
    for path, end in leads.items():
        if path.lower() == ".gitmodules" or (end is not None and is_git_name(end)):
            yield Violation(ViolationCode.GIT_NAME, path, "a link at or to git's own files")
        elif end is None:
            why = "a symbolic link that leads out of the repository"
            yield Violation(ViolationCode.LINK_LEAVES_REPOSITORY, path, why)
        elif not allowed.issuperset(reached[path]):
            why = "a symbolic link that leads out of the paths that were approved"
            yield Violation(ViolationCode.LINK_LEAVES_SCOPE, path, why)


def _clashes(git_dir: Path, base: str, commit: str, changes: list[Change]) -> Iterator[Violation]:
    # Names that clashed before the run are the repository's own affair: only new ones count.
    added = [change.path for change in changes if change.kind is ChangeKind.ADDED]
    if not added:
        return
    before = {name for path in _read_tree(git_dir, base).paths for name in prefixes(path)}
    after = {name for path in _read_tree(git_dir, commit).paths for name in prefixes(path)}
    new = {name for path in added for name in prefixes(path)} - before
    folded: dict[str, set[str]] = {fold(name): set() for name in new}
    for name in after:
        if (form := fold(name)) in folded:
            folded[form].add(name)
    for name in sorted(new):
        if len(folded[fold(name)]) > 1:
            why = "differs only by case or Unicode form from another name"
            yield Violation(ViolationCode.NAME_CLASH, name, why)


@dataclass(slots=True)
class _Tree:
    paths: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)  #: path -> blob

    def under(self, place: str) -> list[str]:
        """The files at or below a place; the place itself where the tree has nothing there."""
        inside = [path for path in self.paths if not place or path.startswith(place + "/")]
        return inside or [place]


def _read_tree(git_dir: Path, tree: str) -> _Tree:
    listed = _Tree()
    for line in git("ls-tree", "-r", "-z", "--full-tree", tree, git_dir=git_dir).split("\0"):
        if not line:
            continue
        head, path = line.split("\t", 1)
        mode, _, blob = head.split(" ")
        listed.paths.append(path)
        if mode == LINK_MODE:
            listed.links[path] = blob
    return listed
