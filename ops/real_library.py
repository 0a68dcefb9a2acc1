"""A small real library as a git repository, from its published source archive.

The version and its hashes are those of the lock file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

LIBRARY = "humanize"
_LOCK = Path(__file__).with_name("requirements.lock")


def make_repository(cache: Path, repository: Path) -> Path:
    """Unpack the archive, fetched once into `cache`, and commit it; an existing one is kept."""
    if (repository / ".git").exists():
        return repository
    archive = _archive(cache)
    repository.parent.mkdir(parents=True, exist_ok=True)
    unpacking = repository.with_name(f"{repository.name}.new")
    shutil.rmtree(unpacking, ignore_errors=True)  # of a demo that was killed half-way
    with tarfile.open(archive) as opened:
        # the lock file's hash vouches for the archive; the filter came with Python 3.11.4
        if hasattr(tarfile, "data_filter"):
            opened.extractall(unpacking, filter="data")
        else:
            opened.extractall(unpacking)
    (top,) = unpacking.iterdir()
    git(top, "init", "--quiet", "--initial-branch=main", "--template=")
    git(top, "add", "--all", "--force")
    git(top, "commit", "--quiet", "--message", f"The published source of {top.name}")
    top.rename(repository)
    unpacking.rmdir()
    return repository


def git(repository: Path, *arguments: str) -> str:
    """Run git in a repository, as a developer would."""
    who = ["-c", "user.name=Developer", "-c", "user.email=developer@localhost"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=repository, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _archive(cache: Path) -> Path:
    found = sorted(cache.glob(f"{LIBRARY}-*.tar.gz"))
    if found:
        return found[0]
    cache.mkdir(parents=True, exist_ok=True)
    wanted = cache / "wanted.txt"
    wanted.write_text(_pin())
    subprocess.run(
        [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
            "--no-binary", LIBRARY, "--require-hashes", "-r", str(wanted), "-d", str(cache),
        ],
        check=True,
    )  # fmt: skip
    return sorted(cache.glob(f"{LIBRARY}-*.tar.gz"))[0]


def _pin() -> str:
    """The lines of the lock file that pin the library."""
    match = re.search(rf"^{LIBRARY}==(?:.*\\\n)*.*\n", _LOCK.read_text(), re.MULTILINE)
    assert match is not None
    return match.group(0)
