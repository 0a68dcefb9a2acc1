"""How much of a repository a checkout holds: folders, history, submodules, large files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.digest import Json, text
from app.domain.errors import BadInput, UnsafePath

#: Commits of history that can be asked for; more is as good as all of it.
MOST_DEPTH = 1_000
MOST_FOLDERS = 1_000

#: Signs that would make a folder's name a pattern for git.
_MAGIC = re.compile(r"[*?\[\]\\!#]")


@dataclass(frozen=True, slots=True)
class Extent:
    """What a checkout holds of its commit; whatever it leaves out, the next commit keeps."""

    folders: tuple[str, ...] = ()  #: and the files beside and above them; none: the whole tree
    depth: int | None = None  #: commits of history; None: all of it
    submodules: bool = False
    lfs: bool = False

    def value(self) -> Mapping[str, Json]:
        """The canonical form."""
        return {
            "sparse": [text(folder) for folder in self.folders],
            "depth": self.depth,
            "submodules": self.submodules,
            "lfs": self.lfs,
        }


WHOLE = Extent()


def check_folders(folders: Sequence[str]) -> tuple[str, ...]:
    """The folders in their normal form, each once and in order.

    One that is empty, absolute, holds `..` or a sign of a pattern, or is git's own is UnsafePath.
    """
    return tuple(sorted({_folder(folder) for folder in folders}))


def check_depth(depth: int | None) -> int | None:
    """The depth, if it is one; else BadInput."""
    if depth is not None and not 1 <= depth <= MOST_DEPTH:
        raise BadInput(f"a depth of {depth} commits", hint=f"write 1 to {MOST_DEPTH}")
    return depth


def _folder(folder: str) -> str:
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in folder):
        raise UnsafePath(f"folder {folder!r} holds control characters or is not UTF-8")
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    if folder.startswith("/") or not parts or ".." in parts:
        raise UnsafePath(f"folder {folder!r} is not a folder inside the repository")
    if _MAGIC.search(folder):
        raise UnsafePath(
            f"folder {folder!r} looks like a pattern", hint="name folders; --path takes patterns"
        )
    if any(part.lower() == ".git" for part in parts):
        raise UnsafePath(f"folder {folder!r} is git's own")
    return text("/".join(parts))
