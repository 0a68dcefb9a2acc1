"""What each decision in a receipt does to the board; what it may not do comes back as words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from app.verify import bounds
from app.verify.legal import BY_ATTEMPT, FINISHED
from app.verify.replay import UNSAID, Attempt, Board, Said, decisions_of, text


def carry_out(board: Board, receipt: Said) -> Iterator[str]:
    """Carry out the decisions of a receipt, in order."""
    for said in decisions_of(receipt):
        board.turn += 1
        name, attempt = text(said, "decision"), board.attempts.get(text(said, "attempt"))
        if attempt is None:
            yield f"{name} for an attempt that never began: {text(said, 'attempt')}"
        elif name in DECISIONS:
            if attempt.outcome is not None and name not in ("TaskMoved", "WriterLeft"):
                yield f"{name} for attempt {text(said, 'attempt')}, which had ended"
            yield from DECISIONS[name](board, attempt, {**said, "tick": receipt.get("tick")})


def _step_dispatched(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    yield from _begun(board, attempt, said)
    yield from bounds.begun(board, text(said, "attempt"), text(said, "kind"))
    step = attempt.step(text(said, "step"))
    step.kind, step.activity = text(said, "kind"), text(said, "activity")


def _gate_opened(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    yield from _begun(board, attempt, said)
    attempt.step(text(said, "step")).gate = int(text(said, "tick"))


def _begun(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    step = attempt.step(text(said, "step"))
    if step.state != "pending":
        yield f"step {text(said, 'step')} of {text(said, 'attempt')} begins while {step.state}"
    step.state, step.began, step.waits = "dispatched", board.turn, None


def _step_ended(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    step, state = attempt.step(text(said, "step")), text(said, "state")
    if step.state in FINISHED or state not in FINISHED:
        name = f"{text(said, 'step')} of {text(said, 'attempt')}"
        yield f"step {name} goes from {step.state} to {state}"
    bounds.ended(board, text(said, "attempt"), step)
    step.state, step.outcome, step.waits = state, text(said, "outcome") or None, None
    step.outputs, step.ended = said.get("outputs"), board.turn


def _attempt_ended(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    attempt.outcome = text(said, "outcome")
    for step in attempt.steps.values():
        if step.state not in FINISHED:
            step.state, step.waits = "skipped", None
    board.at_work.pop(text(said, "attempt"), None)
    writer = board.writers.get(text(said, "attempt"))
    if writer is not None and writer.left is None and writer.request is None:
        yield f"attempt {text(said, 'attempt')} ends, and keeps its base without an open request"


def _task_moved(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    card, after = board.cards[attempt.task], text(said, "column")
    before, starts = text(said, "from") or card.column, board.runnable()
    is_legal = after in BY_ATTEMPT.get(before, ()) or (after == "in_progress" and before in starts)
    if card.column not in (before, UNSAID) or not is_legal:
        name = f"task {attempt.task}"
        yield f"{name} goes from {before} to {after} while it hangs in {card.column}"
    card.column = after


DECISIONS: dict[str, Callable[[Board, Attempt, Said], Iterator[str]]] = {
    "StepDispatched": _step_dispatched,
    "GateOpened": _gate_opened,
    "StepEnded": _step_ended,
    "AttemptEnded": _attempt_ended,
    "TaskMoved": _task_moved,
    **bounds.DECISIONS,
}
