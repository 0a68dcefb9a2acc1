"""Mending a bare cache after a kill or a crash in the middle of a write, under its lock."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from app.repository.git import attempt

_HEAD = "ref: refs/heads/main\n"
#: Fetches become packs, which git writes to the disk before it names them; nothing is ever pruned.
_CONFIG = """\
[core]
	repositoryformatversion = 0
	bare = true
[gc]
	auto = 0
	pruneExpire = never
[maintenance]
	auto = false
[fetch]
	unpackLimit = 1
[repack]
	writeBitmaps = false
"""
_OBJECT = re.compile(r"[0-9a-f]{40}\n")
_HALF_MADE = ("tmp_", ".tmp-", "incoming-")


def mend(git_dir: Path) -> None:
    """Make a folder a bare repository that git can fetch into, whatever was left of one.

    What is whole stays. Refs to what is not there go, so that it will be fetched again.
    """
    for part in ("objects/info", "objects/pack", "refs/heads"):
        (git_dir / part).mkdir(parents=True, exist_ok=True)
    tidy(git_dir)
    _write(git_dir / "config", _CONFIG)
    _write(git_dir / "HEAD", _HEAD)
    _drop_broken_refs(git_dir)


def tidy(git_dir: Path) -> None:
    """Remove stale locks and everything half-made."""
    for folder, folders, names in os.walk(git_dir):
        for name in names:
            if name.endswith((".lock", ".keep")) or name.startswith(_HALF_MADE):
                Path(folder, name).unlink(missing_ok=True)
        for name in [name for name in folders if name.startswith(_HALF_MADE)]:
            shutil.rmtree(Path(folder, name), ignore_errors=True)
            folders.remove(name)
    for pack in (git_dir / "objects/pack").glob("pack-*.*"):
        if not pack.with_suffix(".idx").exists() and pack.suffix != ".idx":
            pack.unlink(missing_ok=True)  # the index is named last


def _drop_broken_refs(git_dir: Path) -> None:
    for folder, _, names in os.walk(git_dir / "refs"):
        for name in names:
            file = Path(folder, name)
            if not _OBJECT.fullmatch(file.read_text("ascii", "replace")):
                file.unlink()
    listed = attempt("for-each-ref", "--format=%(objectname) %(refname)", git_dir=git_dir)
    if listed.code != 0:
        (git_dir / "packed-refs").unlink(missing_ok=True)
        return
    rows = [line.split(" ", 1) for line in listed.text.splitlines()]
    asked = "".join(f"{sha}\n" for sha, _ in rows).encode()
    found = attempt("cat-file", "--batch-check", git_dir=git_dir, stdin=asked)
    for (_, ref), said in zip(rows, found.text.splitlines(), strict=False):
        if said.endswith(" missing"):
            attempt("update-ref", "-d", ref, git_dir=git_dir)


def _write(file: Path, text: str) -> None:
    draft = file.with_name(f"tmp_{file.name}")
    draft.write_text(text)
    draft.rename(file)
