"""The observation of a run: canonical, bounded, and made of nothing but what was seen."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app import secrecy
from app.domain.digest import Json, text
from app.domain.scope import Change
from app.kinds.request import WorkRequest
from workers.executors.base import Usage
from workers.workspace.checkout import Checkout
from workers.workspace.output import shown
from workers.workspace.process import Ended
from workers.workspace.validators import Evidence

#: Changed files that an observation names; it counts them all.
MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class Friction:
    """One reason why a run is not green."""

    code: str
    detail: str

    def as_json(self) -> dict[str, Json]:
        """Bounded, and fit for canonical bytes."""
        return {"code": self.code, "detail": text(secrecy.redacted(self.detail))[:2000]}


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run left: the tree, and the evidence beside it."""

    tree: str
    changed: int  #: paths
    ended: Ended
    checks: Sequence[Evidence]
    frictions: Sequence[Friction]
    outputs: Mapping[str, Json]
    usage: Usage | None = None  #: of the agent's model, where it is reported


def observed(request: WorkRequest, checkout: Checkout, fence: int, seen: Seen) -> dict[str, Json]:
    """All but the outcome and the candidate."""
    return {
        "v": 1,
        "base": request.base,
        "tree": seen.tree,
        "sandbox": {"name": checkout.root.name, "host": text(platform.node())},
        "execution": {
            "ran": True,
            "executor": request.executor,
            "fence": fence,
            "output": shown(seen.ended.output.tail),
            "output_bytes": seen.ended.output.total,
            "output_digest": seen.ended.output.sha256,
            "usage": None if seen.usage is None else seen.usage.value(),
            **ending_of(seen.ended),
        },
        "checks": [check.as_json() for check in seen.checks],
        "commits": [],
        "frictions": [friction.as_json() for friction in seen.frictions],
        "outputs": seen.outputs,
    }


def candidate_of(request: WorkRequest, head: str, changes: Sequence[Change]) -> dict[str, Json]:
    """What is proposed: the branch, its head, and what it changes."""
    return {
        "branch": request.branch,
        "head": head,
        "base": request.base,
        "file_count": len(changes),
        "files": [_file(change) for change in changes[:MOST_FILES]],
    }


def ending_of(ended: Ended) -> dict[str, Json]:
    """How a process ended."""
    return {
        "exit": ended.exit,
        "signal": ended.signal,
        "cause": ended.cause,
        "milliseconds": int(ended.duration.total_seconds() * 1000),
    }


def _file(change: Change) -> dict[str, Json]:
    found: dict[str, Json] = {"change": change.kind, "path": text(change.path)}
    if change.old_path is not None:
        found["old_path"] = text(change.old_path)
    return found
