"""Executing a work activity: the agent, the scope, the checks, and what is in hand afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.agent import ModelLimited, ModelUnavailable
from app.domain.digest import Json, text
from app.domain.errors import FencepostError, HostFailed, SetupError
from app.domain.event import EventType
from app.domain.failure import FailureClass, failure_class
from app.domain.result import Observation, Outcome
from app.domain.scope import Change
from app.events import Moment, emit
from app.kinds.ending import ending, observation_of
from app.kinds.registry import KINDS
from app.kinds.request import WorkRequest
from app.repository.git import GitTooSlow, Interrupted
from app.store import claims
from workers import outputs, quarantine
from workers.executors.base import (
    Assignment,
    Happening,
    Noted,
    Problem,
    Session,
    Spawned,
    Usage,
    Wrote,
)
from workers.executors.registry import executor
from workers.left_behind import left_behind
from workers.observation import Friction, Seen, candidate_of, ending_of, observed
from workers.worker import Run
from workers.workspace.checkout import Author, Checkout
from workers.workspace.environment import agent_environment, markers
from workers.workspace.output import KEPT, shown
from workers.workspace.process import Ended
from workers.workspace.validators import Check, Evidence, run_checks

#: What another try may find better: the work is handed back, and its chain stays open.
_PASSING = {fault.code: fault for fault in (ModelLimited, ModelUnavailable)}
_MAY_LACK_ROOM = (FailureClass.COMMAND, FailureClass.VALIDATION)
_MOST_FRICTIONS = 50


class SupervisorLost(HostFailed):
    """What watched a run was killed; its tree is gone, and nothing is known of its work."""

    code = "supervisor_lost"
    hint = "look for who ends processes on this host: its memory may be short"


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run ended with, in hand and not yet published."""

    observation: Observation
    candidate: str | None  #: head commit, with a green observation alone
    tree: str | None = None  #: the candidate's, as the checks saw it


def execute(run: Run, request: WorkRequest, checkout: Checkout) -> Finished | None:
    """Run the agent once, then the checks once; None when it was interrupted (nothing in hand).

    What this host or the checkout lacks for the agent is a failure too: nothing has run then.
    """
    if (trouble := checkout.trouble) is not None:
        return _unfit(trouble)
    try:
        return _executed(run, request, checkout)
    except Interrupted:
        return None
    except GitTooSlow as fault:  # over what the run left; another would leave the same
        return Finished(ending(Outcome.FAILED, "tree_unreadable", fault.message), None)


def _executed(run: Run, request: WorkRequest, checkout: Checkout) -> Finished | None:
    marked = markers(request.attempt, request.operation, run.claim.fence)
    written = outputs.Place(checkout.scratch)
    environment = agent_environment(checkout.scratch, marked) | written.environment
    if why := quarantine.in_names(request):
        return Finished(ending(Outcome.FAILED, quarantine.IN_NAME, why), None)
    try:
        session = _prepared(run, request, checkout, environment, marked)
    except SetupError as fault:
        return _unfit(fault)
    ended, problem, usage = _agent(run, session)
    if run.held.interrupt.is_set():
        return None
    if problem is not None and problem.code in _PASSING:
        raise _PASSING[problem.code](problem.detail)
    left = left_behind(run, request, checkout)
    frictions = [*_ended_badly(ended, problem), *left.frictions][:_MOST_FRICTIONS]
    checks: list[Evidence] = []
    if not frictions and (left.changes or request.branch is None):
        checks = _checks(run, request, checkout, environment, marked)
        if run.held.interrupt.is_set():
            return None
        frictions = _after_checks(checkout, left.tree, checks)
    promised = written.read(request.outputs)
    if not frictions and promised.problem:
        frictions = [Friction("output_contract_broken", promised.problem)]
    _heed_the_disk(run, frictions)
    seen = Seen(left.tree, len(left.changes), ended, checks, frictions, promised.value, usage)
    return _finish(run, request, checkout, left.changes, seen)


def _unfit(fault: FencepostError) -> Finished:
    why = f"{fault.message}; {fault.advice}" if fault.advice else fault.message
    return Finished(ending(Outcome.FAILED, fault.code, why), None)


def _prepared(
    run: Run, request: WorkRequest, checkout: Checkout,
    environment: Mapping[str, str], marked: Mapping[str, str],
) -> Session:  # fmt: skip
    assignment = Assignment(
        request.command, request.prompt, checkout.tree, checkout.scratch, environment, marked,
        request.timeout, KINDS[run.claim.key.kind].limits.stall, run.box(checkout),
    )  # fmt: skip
    found = executor(request.executor, run.worker.agents, is_apart=run.worker.isolation.is_on)
    return found.prepare(assignment)


def _agent(run: Run, session: Session) -> tuple[Ended, Problem | None, Usage | None]:
    run.journal.tell(EventType.COMMAND, command=[text(word) for word in session.shown])
    ended = session.run(on_event=lambda event: _heard(run, event), stop=run.held.interrupt)
    run.journal.end_output()
    run.journal.tell(EventType.STEP, step="agent", **ending_of(ended))
    output = shown(ended.output.tail, limit=KEPT).encode()
    run.journal.keep("agent-output", "text/plain; charset=utf-8", output, of=ended.output.total)
    emit(Moment.EXITED, **run.claim.facts(), cause=ended.cause)
    if ended.cause == "lost" and not run.held.interrupt.is_set():
        return ended, _lost_again(run), None
    _heed_the_end(run, ended.cause, ended.signal)
    outcome = session.collect(ended)
    return ended, outcome.problem, outcome.usage


def _lost_again(run: Run) -> Problem:
    """Once it may have been somebody else: another claim. Twice it was the run itself."""
    with run.store.ask() as tx:
        before = claims.released_before(
            tx, run.claim, f"{FailureClass.CAPACITY}: {SupervisorLost.code}"
        )
    if not before:
        raise SupervisorLost("the run's supervisor was killed")
    return Problem("supervisor_killed", "twice in a row, so it seems that the run itself does that")


def _heed_the_end(run: Run, cause: str, signal: int | None) -> None:
    """Hand back what was told to end from outside, as all on this host was: that is no failure."""
    is_killed = cause == "exited" and signal is not None and run.worker.keeper.is_draining
    if (cause == "stopped" or is_killed) and not run.held.interrupt.is_set():
        run.held.hand_back()


def _heard(run: Run, event: Happening) -> None:
    match event:
        case Spawned(pid):
            run.journal.tell(EventType.START, pid=pid, fence=run.claim.fence)
            emit(Moment.SPAWNED, **run.claim.facts(), pid=pid)
        case Wrote(chunk):
            run.journal.output(chunk)
        case Noted(kind, value):
            run.journal.tell(kind, **value)


def _ended_badly(ended: Ended, problem: Problem | None) -> list[Friction]:
    found = []
    if problem is not None:
        found.append(Friction(problem.code, problem.detail))
    if ended.survivors:
        found.append(_survived(ended.survivors))
    return found


def _checks(
    run: Run, request: WorkRequest, checkout: Checkout,
    environment: Mapping[str, str], marked: Mapping[str, str],
) -> list[Evidence]:  # fmt: skip
    def told(evidence: Evidence) -> None:
        run.journal.end_output()
        run.journal.tell(EventType.STEP, step="check", **evidence.as_json())
        emit(Moment.CHECKED, **run.claim.facts(), cause=evidence.cause)
        _heed_the_end(run, evidence.cause, evidence.signal)

    return run_checks(
        [Check(command, request.check_timeout) for command in request.checks],
        tree=checkout.tree, environment=environment, marker=marked,
        stop=run.held.interrupt, on_output=run.journal.output, on_check=told,
        box=run.box(checkout),
    )  # fmt: skip


def _after_checks(checkout: Checkout, tree: str, checks: list[Evidence]) -> list[Friction]:
    found = []
    for check in checks:
        if check.survivors:
            found.append(_survived(check.survivors))
        if not check.is_green:
            code = "check_timed_out" if check.cause == "deadline" else "check_failed"
            how = f"signal {check.signal}" if check.signal else f"exit {check.exit}"
            found.append(Friction(code, f"{check.command}: {how}, {check.cause}"))
    if changed := checkout.changed_since(tree):
        shown_paths = ", ".join(changed[:10])
        found.append(Friction("check_changed_files", f"a check changed files: {shown_paths}"))
    return found


def _heed_the_disk(run: Run, frictions: list[Friction]) -> None:
    """A full disk judges nobody: what failed on one is tried again, once there is room."""
    if frictions and failure_class(frictions[0].code) in _MAY_LACK_ROOM:
        run.worker.disk.check(frictions[0].detail)


def _survived(count: int) -> Friction:
    return Friction("processes_survived", f"{count} processes of the run could not be ended")


def _finish(
    run: Run, request: WorkRequest, checkout: Checkout, changes: Sequence[Change], seen: Seen
) -> Finished:
    value = observed(request, checkout, run.claim.fence, seen)
    outcome = Outcome.GREEN
    if seen.frictions:
        outcome = Outcome.FAILED
    elif request.branch is not None and not changes:
        outcome = Outcome.UNCHANGED
    value["outcome"] = outcome
    if outcome is not Outcome.GREEN or request.branch is None:
        return Finished(observation_of(outcome, value), None)
    signature = request.signature
    head = checkout.commit(
        seen.tree, request.base, request.message,
        Author(signature.name, signature.email, signature.when),
    )  # fmt: skip
    emit(Moment.COMMITTED, **run.claim.facts(), sha=head)
    commit: dict[str, Json] = {"sha": head, "tree": seen.tree, "message": text(request.message)}
    value["commits"] = [commit]
    value["candidate"] = candidate_of(request, head, changes)
    return Finished(observation_of(outcome, value), head, seen.tree)
