"""What each verb of a receipt does to the board; what it may not do comes back as words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from app.verify.legal import BY_HAND, ORDER, RETRIED, SHORTEST_REASON
from app.verify.replay import UNSAID, Attempt, Board, Card, Order, Said, said_of, text


def carry_out(board: Board, receipt: Said) -> Iterator[str]:
    """Carry out the verb of a receipt."""
    verb = text(receipt, "verb")
    if verb not in STATELESS:
        yield from VERBS.get(verb, _unknown)(board, receipt)


def _draft(board: Board, receipt: Said) -> Iterator[str]:
    subject = said_of(receipt)
    order = text(subject, "work_order")
    board.orders[order] = Order("draft", text(subject, "specification"), text(receipt, "actor"))
    board.cards[text(subject, "task")] = Card(order)
    yield from ()


def _revise(board: Board, receipt: Said) -> Iterator[str]:
    yield from _lead(board, receipt)
    order = board.orders.get(text(said_of(receipt), "work_order"))
    if order is not None:
        order.digest = text(said_of(receipt), "specification")
        order.author, order.approved, order.approved_by = text(receipt, "actor"), None, None


def _approve(board: Board, receipt: Said) -> Iterator[str]:
    yield from _lead(board, receipt)
    order = board.orders.get(text(said_of(receipt), "work_order"))
    if order is not None:
        order.approved, order.approved_by = order.digest, text(receipt, "actor")
        if text(said_of(receipt), "digest") != order.digest:
            yield "it approves another digest than that of the work order"


def _withhold(board: Board, receipt: Said) -> Iterator[str]:
    yield from _lead(board, receipt)
    order = board.orders.get(text(said_of(receipt), "work_order"))
    if order is not None:
        order.approved, order.approved_by = None, None


def _lead(board: Board, receipt: Said) -> Iterator[str]:
    """A work order from one state to the next."""
    yield from _next_state(board, text(receipt, "verb"), text(said_of(receipt), "work_order"))


def _next_state(board: Board, verb: str, name: str) -> Iterator[str]:
    order, (before, after) = board.orders.get(name), ORDER[verb]
    if order is None:
        yield f"{verb} of work order {name}, which nobody drafted"
        return
    if order.state not in (*before, UNSAID):
        yield f"{verb} of work order {name} while it is {order.state}"
    order.state = after


def _add_child(board: Board, receipt: Said) -> Iterator[str]:
    subject = said_of(receipt)
    child, parent = text(subject, "task"), text(subject, "parent")
    board.cards[child] = Card(text(subject, "work_order"))
    above = board.cards.get(parent)
    if above is None or above.order != text(subject, "work_order"):
        yield f"task {child} is added below {parent}, which is no task of its work order"
    elif subject.get("canonical") is True:
        if above.canonical_child is not None:
            yield f"task {parent} gets a second canonical child, {child}"
        above.canonical_child = child


def _move(board: Board, receipt: Said) -> Iterator[str]:
    subject = said_of(receipt)
    task, before, after = (text(subject, name) for name in ("task", "from", "to"))
    card = board.cards.get(task)
    if card is None:
        yield f"task {task} is moved, and nobody drafted it"
        return
    if card.column not in (before, UNSAID) or after not in BY_HAND.get(before, ()):
        yield f"task {task} is moved from {before} to {after} while it hangs in {card.column}"
    if _active(board, card):
        yield f"task {task} is moved by hand while an attempt is active"
    card.column = after


def _dispatch(board: Board, receipt: Said) -> Iterator[str]:
    """A new attempt; the card moves, and the steps begin, by the decisions that follow."""
    subject, verb = said_of(receipt), text(receipt, "verb")
    task, attempt = text(subject, "task"), text(subject, "attempt")
    card = board.cards.get(task)
    if card is None:
        yield f"task {task} is dispatched, and nobody drafted it"
        return
    yield from _next_state(board, verb, card.order)
    if card.column not in (*board.runnable(), UNSAID):
        yield f"task {task} is dispatched while it hangs in {card.column}"
    if card.canonical_child is not None:
        yield f"task {task} is dispatched, and {card.canonical_child} is its canonical child"
    if _active(board, card):
        yield f"task {task} is dispatched while an attempt is active"
    if attempt in board.attempts:
        yield f"attempt {attempt} begins again"
    yield from _first_or_retry(board, card, verb, text(receipt, "reason"))
    card.attempts.append(attempt)
    approved = board.orders[card.order].approved if card.order in board.orders else None
    board.attempts[attempt] = Attempt(task, card.order, approved)


def _first_or_retry(board: Board, card: Card, verb: str, reason: str) -> Iterator[str]:
    """A retry follows a failure, and says why; a dispatch is the first (T03)."""
    latest = board.attempts[card.attempts[-1]].outcome if card.attempts else None
    if verb == "dispatch" and card.attempts:
        yield "a dispatch of a task that was attempted before"
    if verb == "retry" and latest not in RETRIED:
        yield f"a retry of what ended as {latest}"
    if verb == "retry" and len(reason.strip()) < SHORTEST_REASON:
        yield "a retry without a reason"


def _active(board: Board, card: Card) -> bool:
    return bool(card.attempts) and board.attempts[card.attempts[-1]].outcome is None


def _cancel(board: Board, receipt: Said) -> Iterator[str]:
    attempt = board.attempts.get(text(said_of(receipt), "attempt"))
    if attempt is None or attempt.outcome is not None:
        yield "a cancel of an attempt that is not under way"
    else:
        attempt.canceled = True


def _decide(board: Board, receipt: Said) -> Iterator[str]:
    subject = said_of(receipt)
    attempt, gate = board.attempts.get(text(subject, "attempt")), text(subject, "gate")
    if attempt is None or attempt.step(gate).gate is None or attempt.step(gate).decision:
        yield f"gate {gate} is decided, and it is not open"
        return
    decision = "approved" if subject.get("approved") is True else "rejected"
    attempt.step(gate).decision = (decision, text(receipt, "actor"))


def _set_world(board: Board, receipt: Said) -> Iterator[str]:
    settings = said_of(receipt).get("settings")
    if said_of(receipt).get("before") != board.settings:
        yield "the settings before it were others"
    if isinstance(settings, Mapping) and isinstance(board.settings, Mapping):
        board.settings = {**board.settings, **settings}


def _unknown(board: Board, receipt: Said) -> Iterator[str]:
    """It may do anything to what it names, and nothing else."""
    subject = said_of(receipt)
    if (order := board.orders.get(text(subject, "work_order"))) is not None:
        order.state = UNSAID
    if (card := board.cards.get(text(subject, "task"))) is not None:
        card.column = UNSAID
    yield from ()


#: Verbs that leave the board as it is, but for their decisions.
STATELESS = frozenset(
    {"add_repository", "observe", "observe_requests", "pause", "resume", "resolve"}
)
#: One that is in neither leaves what it names UNSAID.
VERBS: dict[str, Callable[[Board, Said], Iterator[str]]] = {
    "draft": _draft,
    "submit": _withhold,
    "revise": _revise,
    "approve": _approve,
    "reject": _withhold,
    "complete": _lead,
    "cancel_work_order": _lead,
    "add_child": _add_child,
    "move": _move,
    "dispatch": _dispatch,
    "retry": _dispatch,
    "cancel": _cancel,
    "decide": _decide,
    "set_world": _set_world,
}
