"""Faults that a test scripts: which request they meet, and what they do to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from doubles.github.exchange import Answer, Request

#: the request is carried out, and its answer is lost or spoilt
STORED = frozenset({"stored_then_status", "stored_then_reset", "stored_then_hang", "cut_body"})
#: the request is carried out after its answer was lost: after `seconds`, or at `release_late`
LATE = frozenset({"late_status", "late_reset"})
#: nothing is carried out
REFUSING = frozenset({"deed", "status", "reset", "hang", "rate_limit", "redirect"})


@dataclass
class Fault:
    """What happens to the nth request that matches, and to the next `times - 1` after it."""

    kind: str
    method: str = "*"
    path: str = "*"  #: shell pattern over the path under /api/v3, or `/OWNER/REPO.git/git-…-pack`
    nth: int = 1
    times: int = 1
    status: int = 502
    form: str = ""  #: of a rate limit (limits.py)
    seconds: float = 30
    where: str = ""  #: a redirect's target
    text: str = ""  #: must be in the request's body, when given
    query: str = ""  #: must be in the query string, when given
    met: int = field(default=0, compare=False)  #: requests that matched so far
    used: int = field(default=0, compare=False)  #: how many of them it spoilt

    def __post_init__(self) -> None:
        if self.kind not in STORED | LATE | REFUSING:
            raise ValueError(f"no fault of the kind {self.kind}")

    def matches(self, request: Request, path: str) -> bool:
        """Tell whether the request is of those it counts."""
        return (
            self.method in {"*", request.method}
            and fnmatchcase(path, self.path)
            and self.query in request.query_string
            and self.text.encode() in request.body
        )


class Faults:
    """The faults in force, in the order in which they were added; the first that strikes wins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Fault] = []
        self._late: list[Callable[[], Answer]] = []

    def add(self, fault: Fault) -> None:
        """Count from the next request on."""
        with self._lock:
            self._all.append(fault)

    def clear(self) -> None:
        """Remove them all; what waits to be stored late still waits."""
        with self._lock:
            self._all.clear()

    def listed(self) -> list[dict[str, Any]]:
        """Each with how often it was met and used."""
        with self._lock:
            return [asdict(each) for each in self._all]

    def met_by(self, fault: Fault, request: Request, path: str) -> bool:
        """Count the request for a fault that is kept elsewhere; true when it is the nth."""
        with self._lock:
            if not fault.matches(request, path):
                return False
            fault.met += 1
            return fault.met == fault.nth

    def strike(self, request: Request, path: str) -> Fault | None:
        """The fault for this request; every matching one counts it."""
        struck = None
        with self._lock:
            for fault in self._all:
                if not fault.matches(request, path):
                    continue
                fault.met += 1
                if struck is None and fault.nth <= fault.met < fault.nth + fault.times:
                    fault.used += 1
                    struck = fault
        return struck

    def keep_for_later(self, work: Callable[[], Answer]) -> None:
        """Hold a request whose sender has been told nothing."""
        with self._lock:
            self._late.append(work)

    def release_late(self) -> list[Answer]:
        """Carry out what was held, in the order in which it came."""
        with self._lock:
            held, self._late = self._late, []
        return [work() for work in held]

    def held(self) -> int:
        """How many wait to be carried out late."""
        with self._lock:
            return len(self._late)

    def drop_late(self, work: Callable[[], Answer]) -> bool:
        """Take one out of what is held; False when it was carried out already."""
        with self._lock:
            if work in self._late:
                self._late.remove(work)
                return True
            return False
