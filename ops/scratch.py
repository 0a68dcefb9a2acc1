"""A copy of the clone to break: with an interpreter that imports the copy, whoever starts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("app", "workers")


@dataclass(frozen=True, slots=True)
class Place:
    """The copy and its interpreter."""

    tree: Path
    python: Path


@contextmanager
def copy(house: Path) -> Iterator[Place]:
    """Copy what is there now, committed or not; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="fencepost-mutants-") as folder:
        tree = Path(folder).resolve() / "tree"
        shutil.copytree(house, tree, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        place = Place(tree, _interpreter(tree))
        _check(place)
        yield place


@contextmanager
def patched(place: Place, patch: Path) -> Iterator[None]:
    """The copy is broken inside, and whole again afterwards."""
    if said := apply(place.tree, patch):
        raise SystemExit(f"{patch.name} does not apply: {said}")
    _forget(place)
    try:
        yield
    finally:
        if said := apply(place.tree, patch, "--reverse"):
            raise SystemExit(f"{patch.name} cannot be taken back: {said}")
        _forget(place)


def apply(tree: Path, patch: Path, *how: str) -> str:
    """Apply a patch to a folder, not to an index; what git says if it cannot, else nothing."""
    done = subprocess.run(
        ["git", "apply", *how, str(patch)],
        # no repository: inside of one git would skip paths that are not of it
        cwd=tree, env={**os.environ, "GIT_DIR": os.devnull}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.stderr.strip() or f"git ends with {done.returncode}" if done.returncode else ""


def _interpreter(tree: Path) -> Path:
    """A virtual environment that takes our packages from the copy and all else from ours.

    PYTHONPATH would do for pytest, but not for the processes that tests start with an environment
    of their own. A folder that a .pth file names has its own .pth files left unread: the editable
    install of the clone does not count.
    """
    place = tree / ".venv"
    venv.create(place, symlinks=True)
    known = {"base": str(place), "platbase": str(place)}
    packages = Path(sysconfig.get_path("purelib", "venv", known))
    ours = [folder for folder in sys.path if Path(folder).name == "site-packages"]
    (packages / "copy.pth").write_text("\n".join([str(tree), *ours, ""]), "utf-8")
    return place / "bin" / "python"


def _check(place: Place) -> None:
    """Nothing is proved by tests that import the clone instead of its copy."""
    code = f"import {', '.join(PACKAGES)}\nfor one in {', '.join(PACKAGES)}: print(one.__file__)"
    done = subprocess.run(
        [place.python, "-P", "-c", code], cwd="/", env={}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    places = [Path(line) for line in done.stdout.splitlines()]
    if len(places) != len(PACKAGES) or not all(p.is_relative_to(place.tree) for p in places):
        sys.exit(f"the copy is not what is imported: {done.stdout}{done.stderr}")


def _forget(place: Place) -> None:
    """Drop compiled files: two versions may have one size and one second."""
    for package in PACKAGES:
        for cache in (place.tree / package).rglob("__pycache__"):
            shutil.rmtree(cache)
