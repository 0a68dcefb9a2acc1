"""Git on the server's own bare repositories."""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from doubles.github.world import stamp

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
}
SEPARATOR = "\x1f"
FORMAT = SEPARATOR.join(["%H", "%T", "%P", "%an", "%ae", "%at", "%cn", "%ce", "%ct", "%B"])


class GitFailed(Exception):
    """Git said no; the text is what it said."""


@dataclass(frozen=True)
class Signature:
    """Who and when."""

    name: str
    email: str
    date: str


@dataclass(frozen=True)
class Commit:
    """What a commit says of itself."""

    sha: str
    tree: str
    parents: list[str]
    author: Signature
    committer: Signature
    message: str


def git(git_dir: Path, *arguments: str, stdin: bytes = b"", who: str | None = None) -> str:
    """What git printed, stripped; or GitFailed."""
    environment = dict(ENVIRONMENT)
    if who is not None:
        for role in ("AUTHOR", "COMMITTER"):
            environment[f"GIT_{role}_NAME"] = who
            environment[f"GIT_{role}_EMAIL"] = f"{who}@users.noreply.invalid"
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", f"--git-dir={git_dir}", *arguments],
        input=stdin,
        capture_output=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise GitFailed(done.stderr.decode("utf-8", "replace"))
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def create(git_dir: Path, default_branch: str) -> None:
    """An empty bare repository that takes pushes and keeps the forge's refs to itself."""
    git_dir.mkdir(parents=True)
    git(git_dir, "init", "--quiet", "--bare", f"--initial-branch={default_branch}", str(git_dir))
    for key, value in (
        ("http.receivepack", "true"),
        ("receive.hideRefs", "refs/pull"),
        ("uploadpack.allowAnySHA1InWant", "true"),
        ("uploadpack.allowFilter", "true"),
        ("gc.auto", "0"),
        ("receive.autogc", "false"),
        ("core.fsync", "none"),
    ):
        git(git_dir, "config", key, value)


def refs(git_dir: Path, *patterns: str) -> dict[str, str]:
    """Ref name to object, for all refs under the patterns."""
    lines = git(git_dir, "for-each-ref", "--format=%(refname) %(objectname)", *patterns)
    return {name: sha for name, _, sha in (line.partition(" ") for line in lines.splitlines())}


def tip(git_dir: Path, ref: str) -> str | None:
    """The object of exactly that ref."""
    return refs(git_dir, ref).get(ref)


def branch(git_dir: Path, name: str) -> str | None:
    """The commit of a branch."""
    return tip(git_dir, f"refs/heads/{name}")


def resolve(git_dir: Path, name: str) -> str | None:
    """The commit that a SHA, a branch, a tag or a ref names."""
    for candidate in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name):
        if candidate.startswith("-"):
            continue
        try:
            return git(git_dir, "rev-parse", "--verify", "--quiet", f"{candidate}^{{commit}}")
        except GitFailed:
            continue
    return None


def commits(git_dir: Path, *revisions: str, limit: int = 250) -> list[Commit]:
    """The commits of a range, newest first."""
    out = git(git_dir, "log", "-z", f"-{limit}", f"--format={FORMAT}", *revisions, "--")
    return [_commit(record) for record in out.split("\0") if record.strip()]


def _commit(record: str) -> Commit:
    sha, tree, parents, an, ae, at, cn, ce, ct, message = record.split(SEPARATOR, 9)
    return Commit(
        sha.strip(),
        tree,
        parents.split(),
        Signature(an, ae, stamp(float(at)) or ""),
        Signature(cn, ce, stamp(float(ct)) or ""),
        message.rstrip("\n"),
    )


@functools.cache
def commit(git_dir: Path, sha: str) -> Commit:
    """One commit."""
    return commits(git_dir, sha, limit=1)[0]


@functools.cache
def count(git_dir: Path, revisions: str) -> int:
    """How many commits a range of SHAs has."""
    return int(git(git_dir, "rev-list", "--count", revisions))


@functools.cache
def merge_base(git_dir: Path, one: str, other: str) -> str | None:
    """Where the histories of two SHAs met last; None when they never did."""
    try:
        return git(git_dir, "merge-base", one, other)
    except GitFailed:
        return None


@functools.cache
def changes(git_dir: Path, old: str, new: str) -> list[tuple[str, int, int]]:
    """Path, added lines and removed lines of each file that differs."""
    rows = git(git_dir, "diff-tree", "-r", "--numstat", old, new).splitlines()
    fields = [row.split("\t", 2) for row in rows]
    return [(path, _lines(added), _lines(removed)) for added, removed, path in fields]


def _lines(number: str) -> int:
    return 0 if number == "-" else int(number)


def write_commit(
    git_dir: Path, who: str, message: str, parents: list[str], files: dict[str, str]
) -> str:
    """A commit that adds files to the first parent's tree."""
    rows = dict[str, str]()
    if parents:
        for row in git(git_dir, "ls-tree", "-r", parents[0]).splitlines():
            meta, _, path = row.partition("\t")
            rows[path] = meta
    for path, text in files.items():
        blob = git(git_dir, "hash-object", "-w", "--stdin", stdin=text.encode())
        rows[path] = f"100644 blob {blob}"
    index = git_dir / f"index-{os.getpid()}-{os.urandom(4).hex()}"
    entries = "".join(f"{meta}\t{path}\n" for path, meta in rows.items())
    environment = {**ENVIRONMENT, "GIT_INDEX_FILE": str(index)}
    for arguments, stdin in ((["update-index", "--index-info"], entries), (["write-tree"], "")):
        out = subprocess.run(
            ["git", "-c", "safe.directory=*", f"--git-dir={git_dir}", *arguments],
            input=stdin.encode(), capture_output=True, env=environment, check=True,
        ).stdout  # fmt: skip
    index.unlink(missing_ok=True)
    above = [part for parent in parents for part in ("-p", parent)]
    return git(git_dir, "commit-tree", out.decode().strip(), *above, "-m", message, who=who)
