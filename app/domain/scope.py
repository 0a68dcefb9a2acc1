"""What a run may change: patterns, changes, and the rules that names and links must keep (E03).

Paths are text relative to the repository's root. Bytes that are not UTF-8 survive in them as
surrogates; `app.domain.digest.text` makes them fit for canonical bytes.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.errors import UnsafePath

LINK_MODE = "120000"
SUBMODULE_MODE = "160000"

#: As many as Linux follows before it says "too many levels".
_MOST_HOPS = 40
#: Code points that HFS+ ignores in a file's name, so that `.g<ZWNJ>it` is `.git` there.
_IGNORABLE = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


class ChangeKind(StrEnum):
    """What happened to a path between two trees."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    TYPE_CHANGED = "type_changed"
    MODE_CHANGED = "mode_changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two trees."""

    kind: ChangeKind
    path: str
    old_path: str | None  #: with RENAMED alone
    old_mode: str  #: "000000" where there was nothing
    new_mode: str  #: "000000" where there is nothing

    @property
    def is_present(self) -> bool:
        """Whether the path exists after the change."""
        return self.kind is not ChangeKind.DELETED


class ViolationCode(StrEnum):
    """The ways in which a change leaves what was authorised."""

    OUTSIDE_SCOPE = "outside_scope"
    LINK_LEAVES_REPOSITORY = "link_leaves_repository"
    LINK_LEAVES_SCOPE = "link_leaves_scope"
    SUBMODULE_LINK = "submodule_link"
    NAME_CLASH = "name_clash"
    GIT_NAME = "git_name"
    SPECIAL_FILE = "special_file"
    LARGE_FILE = "large_file"  #: of Git LFS
    TOO_DEEP = "too_deep"  #: to be named by a path
    TOO_LARGE = "too_large"  #: to be read in reasonable time


@dataclass(frozen=True, slots=True)
class Violation:
    """One change that the authorisation does not cover."""

    code: str  #: a ViolationCode
    path: str
    why: str  #: one clause, without the path


def check_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """The patterns in their normal form, which is git's `:(glob)` dialect.

    A pattern after `!` excludes what it covers, wherever it stands in the list.
    A pattern whose last part is a plain name means the file and everything under the folder of
    that name. A pattern that is empty, absolute, holds `..`, a backslash, NUL or bytes that are
    not text, or asks for git's pathspec magic is UnsafePath.
    """
    return tuple(dict.fromkeys(form for pattern in patterns for form in _normal(pattern)))


def resolve(link: str, target: str, links: Mapping[str, str]) -> str | None:
    """Where a symbolic link of a tree leads, or None when it leaves the repository.

    `links` maps every link of the tree to its target: the way may lead through them.
    """
    place = link.split("/")[:-1]
    ahead = deque(_parts(target))
    hops = 0
    if target.startswith("/"):
        return None
    while ahead:
        part = ahead.popleft()
        if part == "..":
            if not place:
                return None
            place.pop()
            continue
        place.append(part)
        onward = links.get("/".join(place))
        if onward is None:
            continue
        hops += 1
        if hops > _MOST_HOPS or onward.startswith("/"):
            return None
        place.pop()
        ahead.extendleft(reversed(_parts(onward)))
    return "/".join(place)


def fold(name: str) -> str:
    """The form that two names share which a careless file system would take for one."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def is_git_name(path: str) -> bool:
    """Whether a part of the path is, or would elsewhere be taken for, a `.git` folder."""
    parts = path.replace("\\", "/").split("/")
    return any(_bare_name(part) in (".git", "git~1") for part in parts)


def prefixes(path: str) -> list[str]:
    """The path and every folder above it: `a/b/c`, `a/b`, `a`."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _normal(pattern: str) -> tuple[str, ...]:
    if pattern.startswith("!"):
        return tuple(f"!{form}" for form in _normal(pattern[1:]))
    if not pattern:
        raise UnsafePath("the empty pattern matches nothing")
    if "\0" in pattern or "\\" in pattern or any("\ud800" <= c <= "\udfff" for c in pattern):
        raise UnsafePath(f"not a usable pattern: {pattern!r}")
    if pattern.startswith(("/", ":")):
        raise UnsafePath(f"absolute, or with magic: {pattern!r}")
    parts = _parts(pattern)
    if ".." in parts:
        raise UnsafePath(f"leaves the repository: {pattern!r}")
    if not parts:
        return ("**",)
    plain = "/".join(parts)
    if pattern.endswith(("/", "/.")):
        return (f"{plain}/**",)
    if any(sign in parts[-1] for sign in "*?["):
        return (plain,)
    return (plain, f"{plain}/**")


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _bare_name(part: str) -> str:
    seen = part.translate(_IGNORABLE).casefold()
    return seen.split(":", 1)[0].rstrip(" .")
