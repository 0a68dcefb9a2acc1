"""Numbered documents under one ref: every change is a commit, moved in by compare-and-swap.

Why a ref and not a table: docs/decisions/0005-local-forge-ledger.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import GitFailed
from app.repository.git import attempt, git
from app.repository.refs import Move

REF = "refs/fencepost/forge/requests"

#: Whose commits the forge itself makes; never the reader's.
IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "Fencepost forge"), ("EMAIL", "forge@fencepost.invalid"))
}


@dataclass(frozen=True, slots=True)
class Ledger:
    """The documents as of one commit."""

    tip: str | None  #: None: nothing was ever written
    documents: Mapping[int, bytes]
    objects: Mapping[int, str]  #: the blob of each document


def read(git_dir: Path, tip: str | None) -> Ledger:
    """Every document as of a commit of the ledger."""
    if tip is None:
        return Ledger(None, {}, {})
    listing = git("ls-tree", "--format=%(objectname) %(path)", tip, git_dir=git_dir)
    rows = [line.split(" ", 1) for line in listing.splitlines()]
    objects = {int(name.removesuffix(".json")): sha for sha, name in rows}
    return Ledger(tip, _contents(git_dir, objects), objects)


def append(git_dir: Path, ledger: Ledger, changed: Mapping[int, bytes], why: str) -> Move:
    """Store the next commit; the move that makes it the ledger's is returned, not yet done."""
    objects = dict(ledger.objects)
    for number, document in changed.items():
        objects[number] = git("hash-object", "-w", "--stdin", git_dir=git_dir, stdin=document)
    rows = "".join(f"100644 blob {sha}\t{number}.json\n" for number, sha in objects.items())
    tree = git("mktree", git_dir=git_dir, stdin=rows.encode())
    parents = () if ledger.tip is None else ("-p", ledger.tip)
    commit = git("commit-tree", tree, *parents, git_dir=git_dir, stdin=why.encode(), extra=IDENTITY)
    return Move(REF, ledger.tip, commit)


def _contents(git_dir: Path, objects: Mapping[int, str]) -> dict[int, bytes]:
    wanted = "".join(f"{sha}\n" for sha in objects.values())
    done = attempt("cat-file", "--batch", git_dir=git_dir, stdin=wanted.encode())
    if done.code != 0:
        raise GitFailed(f"git cat-file: {done.complaint}")
    contents, rest = {}, done.out
    for number in objects:
        header, rest = rest.split(b"\n", 1)
        size = int(header.rsplit(b" ", 1)[1])
        contents[number], rest = rest[:size], rest[size + 1 :]
    return contents
