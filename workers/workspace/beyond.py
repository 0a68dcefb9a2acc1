"""What a checkout holds that no commit of ours can: files of submodules, contents of large files.

Both are to be read. A change to them is seen, and is a violation of the scope (E03).
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.scope import Violation, ViolationCode


@dataclass(frozen=True, slots=True)
class Submodule:
    """A submodule whose files are in the tree."""

    git_dir: Path  #: the worker's, for this one
    commit: str


@dataclass(frozen=True, slots=True)
class LargeFile:
    """A content in the place of a pointer."""

    oid: str  #: hex SHA-256
    traits: tuple[int, ...]  #: of the file, when it was put there


@dataclass(frozen=True, slots=True)
class Beyond:
    """Both, by their paths in the tree."""

    submodules: dict[str, Submodule] = field(default_factory=dict)
    large: dict[str, LargeFile] = field(default_factory=dict)

    def is_as_filled(self, tree: Path, path: str) -> bool:
        """Whether a path is a large file, and holds what was put there."""
        place = tree / native(path)
        if path not in self.large or not is_file(place):
            return False
        now, before = traits_of(place), self.large[path].traits
        return now == before or (now[2:] == before[2:] and digest_of(place) == self.large[path].oid)

    def unfit(self, tree: Path, path: str) -> Violation | None:
        """The violation of a large file that is there, and changed."""
        if path not in self.large or not is_file(tree / native(path)):
            return None
        why = "the content of a large file was changed, which is not sent to its server"
        return Violation(ViolationCode.LARGE_FILE, path, why)


def traits_of(file: Path) -> tuple[int, ...]:
    """Where it lies and when it was changed, which nobody can turn back; its size and mode."""
    seen = file.lstat()
    return seen.st_ino, seen.st_ctime_ns, seen.st_size, seen.st_mode & stat.S_IXUSR


def digest_of(file: Path) -> str:
    """The hex SHA-256 of a file's content."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def is_file(place: Path) -> bool:
    """Whether a file is there, and no link to one."""
    return os.path.lexists(place) and stat.S_ISREG(place.lstat().st_mode)


def is_folder(place: Path) -> bool:
    """Whether a folder is there, and no link to one."""
    return place.is_dir() and not place.is_symlink()


def native(path: str) -> str:
    """A path of git's as this host's."""
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))
