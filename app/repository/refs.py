"""Reading refs, and moving several of them by compare-and-swap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import GitFailed, PushLost
from app.repository.git import attempt, git


@dataclass(frozen=True, slots=True)
class Move:
    """One ref's step from exactly what was read; None stands for absent."""

    ref: str
    old: str | None
    new: str | None  #: the same as old: only checked


def tips(git_dir: Path, *prefixes: str) -> dict[str, str]:
    """Every ref below the prefixes (or named exactly by one) and its object."""
    listing = git("for-each-ref", "--format=%(objectname) %(refname)", *prefixes, git_dir=git_dir)
    pairs = (line.split(" ", 1) for line in listing.split("\n") if line)
    return {ref: sha for sha, ref in pairs}


def move(git_dir: Path, moves: Sequence[Move]) -> None:
    """Move all refs or none; one that is no longer what was read makes it PushLost.

    Git writes loose refs one after the other in this order, so a machine that stops in between
    leaves a beginning of the list: put first what the others follow from.
    """
    lines = b"".join(_line(step) for step in moves)
    done = attempt("update-ref", "--no-deref", "--stdin", "-z", git_dir=git_dir, stdin=lines)
    if done.code == 0:
        return
    now = tips(git_dir, *(step.ref for step in moves))
    lost = [step.ref for step in moves if now.get(step.ref) != step.old]
    if lost:
        raise PushLost(f"{lost[0]} was moved by somebody else")
    raise GitFailed(f"git update-ref: {done.complaint}")


def is_ancestor(git_dir: Path, older: str, newer: str) -> bool:
    """Whether the history of `newer` holds `older`; a commit holds itself."""
    done = attempt("merge-base", "--is-ancestor", older, newer, git_dir=git_dir)
    if done.code not in (0, 1):
        raise GitFailed(f"git merge-base: {done.complaint}")
    return done.code == 0


def _line(step: Move) -> bytes:
    old, new = step.old or "0" * 40, step.new or "0" * 40
    if step.old == step.new:
        return f"verify {step.ref}\0{old}\0".encode("utf-8", "surrogateescape")
    return f"update {step.ref}\0{new}\0{old}\0".encode("utf-8", "surrogateescape")
