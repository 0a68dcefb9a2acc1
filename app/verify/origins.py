"""Every row of the board comes from the receipt of its tick, which says so (L10, T06, T07)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Table

from app.domain.digest import Json, digest_of, text
from app.store import schema
from app.verify.finding import AnyRow, Finding, against, missing
from app.verify.reading import Found, Stream, World, value_of


@dataclass(frozen=True, slots=True)
class Origin:
    """How a table's rows begin: named in a receipt's subject, with some columns as it says."""

    table: Table
    subject: str  #: the field of the subject that is the row's id
    verbs: tuple[str, ...]  #: each leaves one such row
    same: Mapping[str, str] = field(default_factory=dict)  #: column → field of the subject

    @property
    def id(self) -> str:
        return next(one.name for one in self.table.primary_key if one.name != "world_id")


ORIGINS = (
    Origin(schema.repositories, "repository", ("add_repository",), {"url": "url"}),
    Origin(schema.work_orders, "work_order", ("draft",), {"repository_id": "repository"}),
    Origin(
        schema.tasks,
        "task",
        ("draft", "add_child"),
        {"work_order_id": "work_order", "parent_id": "parent", "canonical": "canonical"},
    ),
    Origin(schema.attempts, "attempt", ("dispatch", "retry"), {"task_id": "task"}),
)


_IS_OF_THE_BOARD = schema.facts.c.component.in_(["MissionTask", "WorkOrder"])


def check(world: World) -> Iterator[Finding]:
    """Hold the rows that a tick made against what its receipt says, both ways."""
    for (tick,), found in world.together(
        Stream(schema.receipts, ("tick",), large=("bytes",)),
        Stream(schema.facts, ("tick",), ("value",), _IS_OF_THE_BOARD),
        Stream(schema.idempotency_keys, ("tick",), large=("answer",)),
        *(Stream(origin.table, ("tick",)) for origin in ORIGINS),
    ):
        if not found["receipts"]:
            yield missing("L10", schema.receipts, world.id, tick, what="rows carry its tick")
            continue
        (receipt,) = found["receipts"]
        said = value_of(receipt.bytes) or {}
        subject = said.get("subject")
        if isinstance(subject, dict):
            for origin in ORIGINS:
                yield from _from(world, origin, receipt, subject, found[origin.table.name])
            for attempt in found["attempts"]:
                yield from _by_whom(attempt, said)
            yield from _asked(world, found["idempotency_keys"], said, subject)
        yield from _entities(found)


def _from(
    world: World, origin: Origin, receipt: AnyRow, subject: Mapping[str, Json], rows: list[AnyRow]
) -> Iterator[Finding]:
    named = subject.get(origin.subject)
    for row in rows:
        if getattr(row, origin.id) != named:
            yield against("L10", origin.table, row, f"receipt {receipt.tick} does not name it")
            continue
        for column, said in origin.same.items():
            if said in subject and getattr(row, column) != subject[said]:
                what = f"its {column} is not as receipt {receipt.tick} says"
                yield against("L10", origin.table, row, what)
    if receipt.verb in origin.verbs and named not in {getattr(row, origin.id) for row in rows}:
        what = f"receipt {receipt.tick} made it"
        yield missing("L10", origin.table, world.id, named, what=what)


def _by_whom(attempt: AnyRow, said: Mapping[str, Json]) -> Iterator[Finding]:
    """An attempt has its actor and its reason from the receipt (T03)."""
    reason = None if attempt.reason is None else text(attempt.reason)
    if (attempt.actor, reason) != (said.get("actor"), said.get("reason")):
        yield against("L10", schema.attempts, attempt, "its actor and reason are not its receipt's")


def _asked(
    world: World, keys: list[AnyRow], said: Mapping[str, Json], subject: Mapping[str, Json]
) -> Iterator[Finding]:
    """A receipt with a key has its row; request and answer together are the subject (T06)."""
    key = said.get("key")
    if key is not None and key not in {row.key for row in keys}:
        what = f"receipt {said.get('tick')} was asked for under it"
        yield missing("T06", schema.idempotency_keys, world.id, key, what=what)
    for row in keys:
        answer = value_of(row.answer)
        own = answer is not None and all(subject.get(n) == one for n, one in answer.items())
        if answer is None or not own or row.key != key:
            yield against("T06", schema.idempotency_keys, row, "its answer is not its receipt's")
            continue
        request = {name: one for name, one in subject.items() if name not in answer}
        asked = {
            "verb": said.get("verb"), "actor": said.get("actor"), "request": request,
            "reason": said.get("reason"),
        }  # fmt: skip
        if digest_of(asked) != row.request_digest:
            yield against("T06", schema.idempotency_keys, row, "its request is not its receipt's")


def _entities(found: Found) -> Iterator[Finding]:
    """A task, a work order are the entity that its first fact speaks of."""
    facts = {fact.entity_id: value_of(fact.value) for fact in found["facts"]}
    drafts = {fact.entity_id for fact in found["facts"] if fact.component == "WorkOrder"}
    for order in found["work_orders"]:
        if order.entity_id not in drafts:
            yield against("L10", schema.work_orders, order, "its entity is not about it")
    for task in found["tasks"]:
        if facts.get(task.entity_id) != {"task": task.task_id, "title": task.title}:
            yield against("L10", schema.tasks, task, "its entity is not about it")
