"""Nothing ran beyond its bounds, and the writers of bases are as the receipts tell (O08)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from app.store import schema
from app.verify.finding import Finding, against, missing
from app.verify.reading import World
from app.verify.replay import Attempt, Board, Said, Step, Writer, text


def check(world: World, board: Board) -> Iterator[Finding]:
    """Hold each writer against the replay."""
    seen = set()
    for row in world.rows(schema.writers):
        seen.add(row.attempt_id)
        told = board.writers.get(row.attempt_id)
        if told is None:
            yield against("L10", schema.writers, row, "no receipt let it write")
            continue
        left = None if row.left_tick is None else (row.left_tick, row.left_because, row.left_sha)
        found = Writer(row.repository_id, row.base, row.bound, row.tick, row.request, left)
        if found != told:
            yield against("O08", schema.writers, row, f"the receipts say {told}")
    for attempt in sorted(set(board.writers) - seen):
        yield missing("O08", schema.writers, world.id, attempt, what="its receipt let it write")


#: A kind whose steps wait for others, and take no place.
WAITING = "forge.checks"


def begun(board: Board, attempt: str, kind: str) -> Iterator[str]:
    """A step runs now; an attempt that was not at work takes a place of its world's."""
    if kind == WAITING:
        return
    is_new = not board.at_work[attempt]
    board.at_work[attempt] += 1
    limit = board.settings.get("concurrency") if isinstance(board.settings, Mapping) else None
    if is_new and isinstance(limit, int) and len(+board.at_work) > limit:
        yield f"attempt {attempt} begins beside {limit} others, and no more may be at work"


def ended(board: Board, attempt: str, step: Step) -> None:
    """A step that ran runs no longer; what waits for others never did."""
    if step.state == "dispatched" and step.activity is not None and step.kind != WAITING:
        board.at_work[attempt] -= 1


def _entered(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    name, bound = text(said, "attempt"), int(text(said, "bound"))
    place = (text(said, "repository"), text(said, "base"))
    others = board.here.setdefault(place, set())
    bounds = [bound, *(board.writers[one].bound for one in others)]
    if len(others) >= min(bounds):
        yield f"attempt {name} writes on {place[1]} beside {', '.join(sorted(others))}"
    if name in board.writers:
        yield f"attempt {name} becomes a writer again"
    others.add(name)
    board.writers[name] = Writer(*place, bound, int(text(said, "tick")))


def _stays(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    writer = board.writers.get(text(said, "attempt"))
    if writer is None or writer.left is not None:
        yield f"attempt {text(said, 'attempt')} has an open request, and writes on no base"
    else:
        writer.request = int(text(said, "request"))


def _left(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    name = text(said, "attempt")
    writer = board.writers.get(name)
    if writer is None or writer.left is not None:
        yield f"attempt {name} leaves a base on which it does not write"
        return
    writer.left = (int(text(said, "tick")), text(said, "because"), text(said, "sha") or None)
    board.here[writer.repository, writer.base].discard(name)


def _waits(board: Board, attempt: Attempt, said: Said) -> Iterator[str]:
    step = attempt.step(text(said, "step"))
    if step.state != "pending":
        yield f"step {text(said, 'step')} of {text(said, 'attempt')} waits while {step.state}"
    step.waits = (text(said, "bound"), text(said, "at")) if said.get("bound") else None


DECISIONS: Mapping[str, Callable[[Board, Attempt, Said], Iterator[str]]] = {
    "WriterEntered": _entered,
    "WriterStays": _stays,
    "WriterLeft": _left,
    "StepWaits": _waits,
}
