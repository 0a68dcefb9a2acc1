"""One compare-and-swap on a remote's refs, and what its answer proves (PROTOCOL §2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import GitFailed, PushLost, PushRefused, RemoteUnreadable
from app.repository.git import Completed
from app.repository.remote import Remote, reach

_SECONDS = 120
#: Somebody else moved a ref: before we looked, or between our look and the remote's lock.
_LOST = ("stale info", "failed to update ref", "atomic transaction failed", "fetch first")
#: Only says that another ref of the same push failed.
_ECHOES = ("atomic push failed", "atomic push failure")
#: The remote had trouble of its own; what it did is not known.
_TROUBLE = (
    "unpacker error",
    "missing necessary objects",
    "remote failed to report status",
    "internal server error",
)
_CREDENTIALS = re.compile(r"//[^/\s@]*@")


@dataclass(frozen=True, slots=True)
class Move:
    """A ref and where it goes, if it still is where it was last seen."""

    ref: str
    new: str | None  #: None: it goes away
    expected: str | None  #: None: the ref must not exist


def push(git_dir: Path, remote: Remote, moves: Sequence[Move]) -> None:
    """Move every ref or none.

    Returning is success. PushLost: a ref was not where it was expected. PushRefused: a rule of
    the remote, in its own words. RemoteUnreadable: nothing is known, look before you act.
    """
    leases = [f"--force-with-lease={move.ref}:{move.expected or ''}" for move in moves]
    specs = [f"{move.new or ''}:{move.ref}" for move in moves]
    try:
        done = reach(
            remote, "push", "--porcelain", "--atomic", *leases, "--", remote.address, *specs,
            git_dir=git_dir, timeout=_SECONDS,
        )  # fmt: skip
    except GitFailed as fault:
        raise RemoteUnreadable(fault.message) from None
    flags = _flags(done)
    if done.code != 0:
        raise _fault(done, flags)
    if "=" in flags.values():
        _confirm(git_dir, remote, moves)


def tips(git_dir: Path, remote: Remote, patterns: Sequence[str]) -> dict[str, str]:
    """The remote's refs that match git's ls-remote patterns; no answer is RemoteUnreadable."""
    try:
        done = reach(
            remote, "ls-remote", "--", remote.address, *patterns, git_dir=git_dir, timeout=_SECONDS
        )
    except GitFailed as fault:
        raise RemoteUnreadable(fault.message) from None
    if done.code != 0:
        raise RemoteUnreadable(reason_of(done))
    lines = [line.split("\t", 1) for line in done.text.splitlines()]
    return {name: sha for sha, name in lines}


def reason_of(done: Completed) -> str:
    """Why a remote command failed, for people and without credentials."""
    return _CREDENTIALS.sub("//", done.complaint)[:500]


def _confirm(git_dir: Path, remote: Remote, moves: Sequence[Move]) -> None:
    # "Up to date" is said without a look at the lease, from what the remote advertised earlier.
    seen = tips(git_dir, remote, [move.ref for move in moves])
    for move in moves:
        if seen.get(move.ref) != move.new:
            raise PushLost(f"{move.ref} moved on")


def _flags(done: Completed) -> dict[str, str]:
    """Each ref's flag, or after `!` its summary.

    Git's porcelain lines are FLAG, FROM:TO, SUMMARY, with tabs between.
    """
    flags = {}
    for line in done.out.decode("utf-8", "replace").splitlines():
        flag, *rest = line.split("\t")
        if len(rest) == 2 and len(flag) == 1:
            ref = rest[0].rsplit(":", 1)[-1]
            flags[ref] = rest[1] if flag == "!" else flag
    return flags


def _fault(done: Completed, flags: dict[str, str]) -> PushLost | PushRefused | RemoteUnreadable:
    said = _said(done)
    rejected = {ref: why for ref, why in flags.items() if "[" in why}
    reasons = {ref: _reason(why) for ref, why in rejected.items()}
    causes = {ref: why for ref, why in reasons.items() if why not in _ECHOES}
    if not rejected:
        return RemoteUnreadable(reason_of(done))
    if "cannot create" in said and "exists" in said:
        # A ref lies where the new one's folder must be, or the other way round: no race to lose.
        return PushRefused(said)
    for ref, why in causes.items():
        if why in _LOST:
            return PushLost(f"{ref}: {why}")
    if any(why in _TROUBLE for why in causes.values()):
        return RemoteUnreadable(said or str(causes))
    summary = "; ".join(f"{ref}: {why}" for ref, why in (causes or reasons).items())
    return PushRefused(f"{summary}\n{said}".strip())


def _reason(summary: str) -> str:
    """`[remote rejected] (hook declined)` says `hook declined`."""
    return summary[summary.find("(") + 1 : summary.rfind(")")]


def _said(done: Completed) -> str:
    """The remote's own lines, at most a few kilobytes of them."""
    lines = done.err.decode("utf-8", "replace").splitlines()
    words = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    return _CREDENTIALS.sub("//", "\n".join(word for word in words if word))[:4000]
