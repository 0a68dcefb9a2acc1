"""Views that lag: what was stored is not shown yet."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

#: list: a new request is not listed; pull: nor found by its number; head: a pushed branch cannot
#: be the head of a new request; compare: nor be compared; branch: nor looked up; head_sha: a
#: request shows the head before the last push; node: a write on a fresh request cannot resolve it
#: exists: a second request for the same branches is taken, since the first is not seen yet
KINDS = frozenset({"list", "pull", "head", "compare", "branch", "head_sha", "node", "exists"})


@dataclass
class Lag:
    """Hides what is born while it is in force, for some looks, some seconds, or until lifted."""

    kind: str
    pattern: str = "*"  #: over the branch
    full_name: str = "*"  #: a pattern over the repository
    looks: int | None = None
    seconds: float | None = None
    form: str = "invalid"  #: of the refusal of a head: invalid, no_commits or blank_sha
    seen: dict[str, int] = field(default_factory=dict)


@dataclass
class Lags:
    """All lags of one server."""

    all: list[Lag] = field(default_factory=list)
    born: dict[tuple[str, str], tuple[float, list[Lag]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, lag: Lag) -> None:
        """From now on."""
        if lag.kind not in KINDS:
            raise ValueError(f"no lag of the kind {lag.kind}")
        with self.lock:
            self.all.append(lag)

    def lift(self, kind: str | None = None) -> None:
        """Show everything at once, and hide nothing new."""
        with self.lock:
            self.all = [lag for lag in self.all if kind not in {None, lag.kind}]
            for key, (at, lags) in self.born.items():
                self.born[key] = (at, [lag for lag in lags if lag in self.all])

    def note(
        self, kinds: tuple[str, ...], key: str, full_name: str, branch: str, now: float
    ) -> None:
        """Something was born: the key names it; repository and branch decide who hides it."""
        with self.lock:
            for kind in kinds:
                hiding = [
                    lag for lag in self.all
                    if lag.kind == kind
                    and fnmatchcase(branch, lag.pattern)
                    and fnmatchcase(full_name, lag.full_name)
                ]  # fmt: skip
                for lag in hiding:
                    lag.seen.pop(key, None)
                self.born[kind, key] = (now, hiding)

    def hides(self, kind: str, key: str, now: float) -> Lag | None:
        """The lag that hides it from this look, which counts as one."""
        with self.lock:
            at, lags = self.born.get((kind, key), (0.0, []))
            for lag in lags:
                looks = lag.seen.get(key, 0)
                if lag.looks is not None and looks < lag.looks:
                    lag.seen[key] = looks + 1
                    return lag
                if lag.seconds is not None and now < at + lag.seconds:
                    return lag
                if lag.looks is None and lag.seconds is None:
                    return lag
        return None
