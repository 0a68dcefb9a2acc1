"""A list of repositories as people write it: one a line, a base behind it where one is meant."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import BadInput
from app.repository.address import is_url

STANDARD_INPUT = "-"
MOST_LINES = 2_000  #: repositories of one list
_LARGEST = 1024 * 1024  #: bytes
_MOST_SHOWN = 50

#: What a word is made of, quoted as in a shell. A comment is a word that begins with #.
_PART = re.compile(
    r"'(?P<single>[^']*)'|\"(?P<double>(?:\\.|[^\"\\])*)\"|\\(?P<one>.)|(?P<bare>[^\s\"'\\]+)"
)


class UnfitList(BadInput):
    """A list of repositories cannot be used; each fault has its line."""

    code = "unfit_list"
    hint = "correct these lines; nothing was begun (docs/many-repositories.md)"


@dataclass(frozen=True, slots=True)
class Line:
    """One repository of a list."""

    number: int  #: counted from 1
    repository: str  #: absolute path, or URL
    base: str | None


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """What is wrong with a line."""

    line: int
    code: str  #: stable
    message: str


def read(path: str) -> tuple[list[Line], list[Fault]]:
    """The lines of a list, and those that cannot be read; relative paths begin at the list."""
    folder = Path() if path == STANDARD_INPUT else Path(path).parent
    lines: list[Line] = []
    faults: list[Fault] = []
    for number, written in enumerate(_text(path).split("\n"), 1):
        words = _words(written.strip())
        if words is None or len(words) > 2:
            told = "a path or URL, then a base; quote blanks and quotes as in a shell"
            faults.append(Fault(number, "bad_line", told))
        elif words:
            base = words[1] if len(words) == 2 else None
            lines.append(Line(number, _placed(folder, words[0]), base))
    if len(lines) > MOST_LINES:
        raise BadInput(
            f"{name_of(path)} holds {len(lines)} repositories",
            hint=f"at most {MOST_LINES} at once: split the list",
        )
    return lines, faults


def unfit(path: str, faults: Sequence[Fault]) -> UnfitList:
    """The refusal of a list; each fault is on a line of its own."""
    found = sorted(faults)
    told = [
        f"{name_of(path)}:{fault.line}: {fault.message} ({fault.code})"
        for fault in found[:_MOST_SHOWN]
    ]
    if (more := len(found) - _MOST_SHOWN) > 0:
        told.append(f"and {more} more")
    return UnfitList("\n  ".join(["this list cannot be used:", *told]))


def name_of(path: str) -> str:
    """What people call the list."""
    return "standard input" if path == STANDARD_INPUT else path


def _text(path: str) -> str:
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(_LARGEST + 1)
    except OSError as fault:
        raise BadInput(f"{path}: {fault.strerror}", hint="name a file, or - ") from None
    if len(data) > _LARGEST:
        raise BadInput(f"{name_of(path)} is larger than 1 MiB", hint="split the list")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def _words(written: str) -> list[str] | None:
    """The words before a comment; None where a quote, or a backslash, has no end."""
    words: list[str] = []
    place = 0
    while place < len(written) and not written.startswith("#", place):
        word = ""
        while place < len(written) and not written[place].isspace():
            found = _PART.match(written, place)
            if found is None:
                return None
            word += _meant(found)
            place = found.end()
        words.append(word)
        while place < len(written) and written[place].isspace():
            place += 1
    return words


def _meant(part: re.Match[str]) -> str:
    if part["double"] is not None:
        return re.sub(r"\\([\"\\])", r"\1", part["double"])
    return str(part[part.lastgroup or 0])


def _placed(folder: Path, repository: str) -> str:
    """A path from the list's folder; an address, and what is no name at all, as it is."""
    if is_url(repository) or repository.startswith("-") or not repository.isprintable():
        return repository
    return str((folder / Path(repository).expanduser()).absolute()) if repository else ""
