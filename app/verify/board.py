"""What the state columns of the board say is what the receipts led to (L7, L10, T04, T05)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from app.domain.digest import Json, canonical
from app.store import schema
from app.verify import bounds, budgets, decisions, steps, verbs
from app.verify.finding import AnyRow, Finding, Unread, against
from app.verify.reading import Stream, World, value_of
from app.verify.replay import UNSAID, Board


def check(world: World) -> Iterator[Finding]:
    """Replay every receipt, then hold each row against where that led."""
    board, unknown = Board(), set[str]()
    for receipt in world.rows(schema.receipts, ("tick",), large=("bytes",)):
        said: Mapping[str, Json] = value_of(receipt.bytes) or {}
        for carry_out in (verbs.carry_out, decisions.carry_out):
            for words in carry_out(board, said):
                yield against("L7", schema.receipts, receipt, words)
        if receipt.verb not in verbs.VERBS and receipt.verb not in verbs.STATELESS:
            unknown.add(receipt.verb)
    yield from (Unread(f"what the verb {verb} does to the board") for verb in sorted(unknown))
    if bytes(world.row.settings) != canonical(board.settings):
        yield against("L10", schema.worlds, world.row, "its settings are not the receipts'")
    yield from _orders(world, board)
    yield from _tasks(world, board)
    yield from _attempts(world, board)
    yield from steps.check(world, board)
    yield from bounds.check(world, board)
    yield from budgets.check(world, board)


def _orders(world: World, board: Board) -> Iterator[Finding]:
    for row in world.rows(schema.work_orders, large=("bytes",)):
        told = board.orders.get(row.work_order_id)
        if told is None:
            yield against("L10", schema.work_orders, row, "no receipt drafted it")
            continue
        if told.state not in (row.state, UNSAID):
            what = f"it is {row.state}, and the receipts say {told.state}"
            yield against("L10", schema.work_orders, row, what)
        if (row.digest, row.author) != (told.digest, told.author):
            yield against("L10", schema.work_orders, row, "it is not its latest revision")
        if (row.approved_digest, row.approved_by) != (told.approved, told.approved_by):
            yield against("L10", schema.work_orders, row, "it is not what was approved, by whom")
        said = value_of(row.bytes) or {}
        if (row.title, row.second_person) != (said.get("title"), said.get("second_person")):
            yield against("L10", schema.work_orders, row, "its columns are not as its bytes say")
        if row.second_person and told.approved_by == told.author:
            yield against("S05", schema.work_orders, row, "its author approved it")


def _tasks(world: World, board: Board) -> Iterator[Finding]:
    for row in world.rows(schema.tasks):
        told = board.cards.get(row.task_id)
        column = None if told is None else told.column
        if column not in (row.board_column, UNSAID):
            what = f"it hangs in {row.board_column}, and the receipts say {column}"
            yield against("L10", schema.tasks, row, what)
        above = board.cards.get(row.parent_id) if row.parent_id else None
        if row.canonical and (above is None or above.canonical_child != row.task_id):
            yield against(
                "T01", schema.tasks, row, "no receipt made it its parent's canonical child"
            )


def _attempts(world: World, board: Board) -> Iterator[Finding]:
    for _, found in world.together(Stream(schema.attempts, ("task_id",))):
        rows = sorted(found["attempts"], key=lambda row: int(row.number))
        yield from _one_after_the_other(rows)
        for row in rows:
            told = board.attempts.get(row.attempt_id)
            if told is None:
                yield against("L10", schema.attempts, row, "no receipt began it")
            elif (told.task, told.outcome) != (row.task_id, row.outcome):
                what = f"it ended as {row.outcome}, and the receipts say {told.outcome}"
                yield against("L10", schema.attempts, row, what)


def _one_after_the_other(rows: Sequence[AnyRow]) -> Iterator[Finding]:
    for expected, row in enumerate(rows, 1):
        if (row.number, row.retry) != (expected, expected - 1):
            what = f"it is number {row.number}, retry {row.retry}: the {expected}. of its task"
            yield against("T04", schema.attempts, row, what)
        if row.ended_at is not None and row.ended_at < row.created_at:
            yield against("L7", schema.attempts, row, "it ended before it began")
    for row, following in pairwise(rows):
        if row.ended_at is None or row.ended_at > following.created_at:
            yield against("T05", schema.attempts, following, "it began while another was active")
