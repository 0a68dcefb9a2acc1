"""Executing an author activity: the agent, the scope, the checks, and the observation of it all."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from app.domain.digest import Json, canonical, text
from app.domain.errors import HostFailed
from app.domain.result import Observation, Outcome
from app.domain.scope import Change
from app.events import Moment, emit
from app.kinds.evidence import MOST_FILES
from app.kinds.request import AuthorRequest
from workers.executors.base import Assignment, Happening, Spawned, Wrote
from workers.executors.registry import EXECUTORS
from workers.worker import Run
from workers.workspace.checkout import Author, Checkout
from workers.workspace.environment import agent_environment, markers
from workers.workspace.output import shown
from workers.workspace.process import Ended
from workers.workspace.scope import check_scope, matches_anything
from workers.workspace.validators import Check, Evidence, run_checks

_CAUSES = {
    "not_found": "command_not_found",
    "not_executable": "command_not_executable",
    "deadline": "deadline_exceeded",
    "stalled": "stalled",
}


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run ended with, in hand and not yet published."""

    observation: Observation
    candidate: str | None  #: head commit, with a green observation alone


@dataclass(frozen=True, slots=True)
class _Friction:
    code: str
    detail: str

    def as_json(self) -> dict[str, Json]:
        return {"code": self.code, "detail": text(self.detail)[:2000]}


def execute(run: Run, request: AuthorRequest, checkout: Checkout) -> Finished | None:
    """Run the agent once, then the checks once; None when it was interrupted (nothing in hand)."""
    marked = markers(request.attempt, request.operation, run.claim.fence)
    environment = agent_environment(checkout.scratch, marked)
    assignment = Assignment(
        request.command, checkout.tree, environment, marked, request.timeout, stall=None
    )
    run.journal.tell("command", command=list(request.command))
    outcome = EXECUTORS[request.executor].run(
        assignment, on_event=lambda event: _heard(run, event), stop=run.held.interrupt
    )
    run.journal.tell("step", step="agent", **_end_of(outcome.ended))
    emit(Moment.EXITED, **run.claim.facts(), cause=outcome.ended.cause)
    if outcome.ended.cause == "lost":
        raise HostFailed("the run's supervisor was killed")  # nothing is known: another claim
    if run.held.interrupt.is_set():
        return None
    tree = checkout.snapshot()
    changes = checkout.changes(request.base, tree)
    frictions = _frictions(run, request, checkout, tree, outcome.ended, outcome.is_done)
    checks: list[Evidence] = []
    if not frictions and changes:
        checks = run_checks(
            [Check(command, request.check_timeout) for command in request.checks],
            tree=checkout.tree, environment=environment, marker=marked,
            stop=run.held.interrupt, on_output=run.journal.output,
            on_check=lambda evidence: _checked(run, evidence),
        )  # fmt: skip
        if run.held.interrupt.is_set():
            return None
        frictions = _after_checks(checkout, tree, checks)
    return _finish(run, request, checkout, tree, changes, outcome.ended, checks, frictions)


def _heard(run: Run, event: Happening) -> None:
    match event:
        case Spawned(pid):
            run.journal.tell("start", pid=pid, fence=run.claim.fence)
            emit(Moment.SPAWNED, **run.claim.facts(), pid=pid)
        case Wrote(chunk):
            run.journal.output(chunk)


def _checked(run: Run, evidence: Evidence) -> None:
    run.journal.tell("step", step="check", **evidence.as_json())
    emit(Moment.CHECKED, **run.claim.facts(), cause=evidence.cause)


def _frictions(
    run: Run, request: AuthorRequest, checkout: Checkout, tree: str, ended: Ended, is_done: bool
) -> list[_Friction]:
    """Why the run cannot be green, judged by exit code and git state together."""
    found = []
    if not is_done:
        code = _CAUSES.get(ended.cause, "command_failed")
        how = f"signal {ended.signal}" if ended.signal else f"exit {ended.exit}"
        what = how if code == "command_failed" else code.replace("_", " ")
        found.append(_Friction(code, f"{request.command[0]}: {what}"))
    if ended.survivors:
        found.append(_survived(ended.survivors))
    for violation in [
        *checkout.unfit,
        *check_scope(checkout.git_dir, request.base, tree, request.paths),
    ]:
        found.append(_Friction(violation.code, f"{violation.path}: {violation.why}"))
    if request.paths and not matches_anything(checkout.git_dir, request.base, tree, request.paths):
        paths = " ".join(request.paths)
        found.append(_Friction("path_matches_nothing", f"nothing matches {paths}, before or after"))
    return found[:50]


def _after_checks(checkout: Checkout, tree: str, checks: list[Evidence]) -> list[_Friction]:
    found = []
    for check in checks:
        if check.survivors:
            found.append(_survived(check.survivors))
        if not check.is_green:
            code = "check_timed_out" if check.cause == "deadline" else "check_failed"
            how = f"signal {check.signal}" if check.signal else f"exit {check.exit}"
            found.append(_Friction(code, f"{check.command}: {how}, {check.cause}"))
    if changed := checkout.changed_since(tree):
        shown_paths = ", ".join(changed[:10])
        found.append(_Friction("check_changed_files", f"a check changed files: {shown_paths}"))
    return found


def _survived(count: int) -> _Friction:
    return _Friction("processes_survived", f"{count} processes of the run could not be ended")


def _finish(
    run: Run, request: AuthorRequest, checkout: Checkout, tree: str, changes: list[Change],
    ended: Ended, checks: list[Evidence], frictions: list[_Friction],
) -> Finished:  # fmt: skip
    value: dict[str, Json] = {
        "v": 1,
        "base": request.base,
        "tree": tree,
        "sandbox": {"name": checkout.root.name, "host": text(platform.node())},
        "execution": {
            "ran": True,
            "executor": request.executor,
            "fence": run.claim.fence,
            "output": shown(ended.output.tail),
            "output_bytes": ended.output.total,
            "output_digest": ended.output.sha256,
            "usage": None,
            **_end_of(ended),
        },
        "checks": [check.as_json() for check in checks],
        "commits": [],
        "frictions": [friction.as_json() for friction in frictions],
    }
    if frictions or not changes:
        outcome = Outcome.FAILED if frictions else Outcome.UNCHANGED
        value["outcome"] = outcome
        return Finished(Observation(outcome, canonical(value)), None)
    signature = request.signature
    head = checkout.commit(
        tree, request.base, request.message,
        Author(signature.name, signature.email, signature.when),
    )  # fmt: skip
    emit(Moment.COMMITTED, **run.claim.facts(), sha=head)
    value["outcome"] = Outcome.GREEN
    value["commits"] = [{"sha": head, "tree": tree, "message": text(request.message)}]
    value["candidate"] = {
        "branch": request.branch,
        "head": head,
        "base": request.base,
        "file_count": len(changes),
        "files": [
            {"change": change.kind, "path": text(change.path)}
            for change in changes[: MOST_FILES * 4]
        ],
    }
    return Finished(Observation(Outcome.GREEN, canonical(value)), head)


def _end_of(ended: Ended) -> dict[str, Json]:
    return {
        "exit": ended.exit,
        "signal": ended.signal,
        "cause": ended.cause,
        "milliseconds": int(ended.duration.total_seconds() * 1000),
    }
