"""The tables, for statements; the revisions under migrations/ are what makes them.

A test holds this file against a migrated database, column by column.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Identity,
    Integer,
    Interval,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.engine import Dialect


class Sha256(TypeDecorator[str]):
    """Thirty-two bytes in the database, lower-case hex in the code."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        return None if value is None else bytes.fromhex(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        return None if value is None else bytes(value).hex()


When = DateTime(timezone=True)

metadata = MetaData(schema="fencepost")


def _table(name: str, *columns: Column[Any]) -> Table:
    return Table(name, metadata, *columns)


def _key(*names: str) -> tuple[Column[str], ...]:
    """Columns of a primary key."""
    return tuple(Column(name, Text, primary_key=True) for name in names)


def _keyed() -> tuple[Column[str], ...]:
    """The key of an activity."""
    return _key("world_id", "kind", "activity_id")


def _fenced() -> tuple[Column[str] | Column[int], ...]:
    """The key of what one claim writes."""
    return (*_keyed(), Column("fence", BigInteger, primary_key=True))


installation = _table(
    "installation",
    Column("only_one", Boolean, primary_key=True),
    Column("installation_id", Text, nullable=False),
    Column("created_at", When, nullable=False),
)

principals = _table(
    "principals",
    Column("principal_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("worlds", ARRAY(Text)),
    Column("token_hash", Sha256),
    Column("created_at", When, nullable=False),
    Column("revoked_at", When),
)

worlds = _table(
    "worlds",
    Column("world_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("tick", BigInteger, nullable=False),
    Column("entity_sequence", BigInteger, nullable=False),
    Column("receipt_digest", Sha256),
    Column("settings", LargeBinary, nullable=False),
    Column("created_at", When, nullable=False),
)

receipts = _table(
    "receipts",
    Column("world_id", Text, primary_key=True),
    Column("tick", BigInteger, primary_key=True),
    Column("verb", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("bytes", LargeBinary, nullable=False),
    Column("digest", Sha256, nullable=False),
    Column("previous", Sha256),
    Column("recorded_at", When, nullable=False),
)

idempotency_keys = _table(
    "idempotency_keys",
    *_key("world_id", "key"),
    Column("request_digest", Sha256, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("tick", BigInteger, nullable=False),
)

entities = _table(
    "entities",
    Column("world_id", Text, primary_key=True),
    Column("entity_id", BigInteger, primary_key=True),
    Column("tick", BigInteger, nullable=False),
)

facts = _table(
    "facts",
    Column("world_id", Text, primary_key=True),
    Column("entity_id", BigInteger, primary_key=True),
    Column("component", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("tick", BigInteger, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("digest", Sha256, nullable=False),
)

relations = _table(
    "relations",
    Column("world_id", Text, primary_key=True),
    Column("source", BigInteger, primary_key=True),
    Column("relation", Text, primary_key=True),
    Column("target", BigInteger, primary_key=True),
    Column("tick", BigInteger, nullable=False),
)

projector_cursors = _table(
    "projector_cursors",
    *_key("world_id", "projector"),
    Column("tick", BigInteger, nullable=False),
)

repositories = _table(
    "repositories",
    *_key("world_id", "repository_id"),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("forge", Text, nullable=False),
    Column("tick", BigInteger, nullable=False),
)

work_orders = _table(
    "work_orders",
    *_key("world_id", "work_order_id"),
    Column("repository_id", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("bytes", LargeBinary, nullable=False),
    Column("digest", Sha256, nullable=False),
    Column("state", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("second_person", Boolean, nullable=False),
    Column("approved_digest", Sha256),
    Column("approved_by", Text),
    Column("entity_id", BigInteger, nullable=False),
    Column("tick", BigInteger, nullable=False),
    Column("created_at", When, nullable=False),
)

tasks = _table(
    "tasks",
    *_key("world_id", "task_id"),
    Column("work_order_id", Text, nullable=False),
    Column("parent_id", Text),
    Column("canonical", Boolean, nullable=False),
    Column("entity_id", BigInteger, nullable=False),
    Column("board_column", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("tick", BigInteger, nullable=False),
    Column("created_at", When, nullable=False),
)

attempts = _table(
    "attempts",
    *_key("world_id", "attempt_id"),
    Column("task_id", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("retry", Integer, nullable=False),
    Column("workflow", LargeBinary, nullable=False),
    Column("workflow_digest", Sha256, nullable=False),
    Column("actor", Text, nullable=False),
    Column("reason", Text),
    Column("tick", BigInteger, nullable=False),
    Column("created_at", When, nullable=False),
    Column("ended_at", When),
    Column("outcome", Text),
)

steps = _table(
    "steps",
    *_key("world_id", "attempt_id", "name"),
    Column("position", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("activity_id", Text),
    Column("state", Text, nullable=False),
    Column("outcome", Text),
    Column("outputs", LargeBinary),
    Column("waits_for", Text),
    Column("waits_at", Text),
    Column("waits_since", When),
)

writers = _table(
    "writers",
    *_key("world_id", "attempt_id"),
    Column("repository_id", Text, nullable=False),
    Column("base", Text, nullable=False),
    Column("bound", Integer, nullable=False),
    Column("tick", BigInteger, nullable=False),
    Column("request", Integer),
    Column("left_tick", BigInteger),
    Column("left_because", Text),
    Column("left_sha", Text),
)

gates = _table(
    "gates",
    *_key("world_id", "attempt_id", "step"),
    Column("tick", BigInteger, nullable=False),
    Column("opened_at", When, nullable=False),
    Column("decided_at", When),
    Column("decision", Text),
    Column("decided_by", Text),
    Column("reason", Text),
)

activities = _table(
    "activities",
    *_keyed(),
    Column("attempt_id", Text, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("request_digest", Sha256, nullable=False),
    Column("tick", BigInteger, nullable=False),
    Column("lease", Interval, nullable=False),
    Column("most_starts", Integer, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("stop", Text),
    Column("admitted_at", When, nullable=False),
)

claims = _table(
    "claims",
    *_fenced(),
    Column("token_hash", Sha256, nullable=False),
    Column("worker", Text, nullable=False),
    Column("delivery", BigInteger),
    Column("claimed_at", When, nullable=False),
    Column("lease_until", When, nullable=False),
    Column("ended", When),
    Column("end_cause", Text),
    Column("end_detail", Text),
    Column("retry_at", When),
)

deliveries = _table(
    "deliveries",
    *_keyed(),
    Column("number", BigInteger, primary_key=True),
    Column("cause", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("not_before", When, nullable=False),
    Column("deadline", When, nullable=False),
    Column("created_at", When, nullable=False),
    Column("published_at", When),
    Column("claimed_fence", BigInteger),
    Column("replaced_at", When),
    Column("sending_until", When),
)

limits = _table(
    "limits",
    Column("limit_id", BigInteger, Identity(always=True), primary_key=True),
    Column("what", Text, nullable=False),
    Column("queue", Text),
    Column("world_id", Text),
    Column("value", BigInteger),
    Column("set_by", Text, nullable=False),
    Column("set_at", When, nullable=False),
    Column("reason", Text, nullable=False),
)

turns = _table(
    "turns",
    *_key("world_id", "kind"),
    Column("turn", BigInteger, nullable=False),
)

bindings = _table(
    "bindings",
    *_keyed(),
    Column("fence", BigInteger, nullable=False),
    Column("operation_id", Text, nullable=False),
    Column("recorded_at", When, nullable=False),
)

starts = _table(
    "starts",
    *_fenced(),
    Column("sha", Text),
    Column("recorded_at", When, nullable=False),
    Column("mode", Text, nullable=False),
)

effect_calls = _table(
    "effect_calls",
    *_fenced(),
    Column("n", Integer, primary_key=True),
    Column("call", Text, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("digest", Sha256, nullable=False),
    Column("recorded_at", When, nullable=False),
)

effect_answers = _table(
    "effect_answers",
    *_keyed(),
    Column("fence", BigInteger, nullable=False),
    Column("call_fence", BigInteger, primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("outcome", Text, nullable=False),
    Column("evidence", LargeBinary, nullable=False),
    Column("digest", Sha256, nullable=False),
    Column("recorded_at", When, nullable=False),
)

events = _table(
    "events",
    *_fenced(),
    Column("n", Integer, primary_key=True),
    Column("attempt_id", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("type", Text, nullable=False),
    Column("key", Text),
    Column("value", LargeBinary, nullable=False),
    Column("recorded_at", When, nullable=False),
)

artifacts = _table(
    "artifacts",
    *_fenced(),
    Column("name", Text, primary_key=True),
    Column("attempt_id", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("key", Text),
    Column("bytes", LargeBinary, nullable=False),
    Column("digest", Sha256, nullable=False),
    Column("recorded_at", When, nullable=False),
)

attempt_counters = _table(
    "attempt_counters",
    *_key("world_id", "attempt_id"),
    Column("event_sequence", BigInteger, nullable=False),
    Column("artifact_bytes", BigInteger, nullable=False),
)

attempt_events = _table(
    "attempt_events",
    *_key("world_id", "attempt_id"),
    Column("sequence", BigInteger, primary_key=True),
    Column("type", Text, nullable=False),
    Column("value", LargeBinary, nullable=False),
    Column("tick", BigInteger, nullable=False),
    Column("recorded_at", When, nullable=False),
)

payloads = _table(
    "payloads",
    Column("world_id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("activity_id", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("digest", Sha256, primary_key=True),
    Column("bytes", LargeBinary, nullable=False),
    Column("recorded_at", When, nullable=False),
    Column("deposited", Boolean, nullable=False),
)

results = _table(
    "results",
    *_keyed(),
    Column("fence", BigInteger, nullable=False),
    Column("digest", Sha256, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("recorded_at", When, nullable=False),
)

unknowns = _table(
    "unknowns",
    *_fenced(),
    Column("code", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("opened_at", When, nullable=False),
    Column("decided_at", When),
    Column("decision", Text),
    Column("decided_by", Text),
    Column("reason", Text),
    Column("adopts", Integer),
    Column("decided_tick", BigInteger),
)

ends = _table(
    "ends",
    *_keyed(),
    Column("fence", BigInteger, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("ended_at", When, nullable=False),
    Column("staged_at", When),
)

staged_batches = _table(
    "staged_batches",
    *_keyed(),
    Column("result_digest", Sha256, primary_key=True),
    Column("bytes", LargeBinary, nullable=False),
    Column("digest", Sha256, nullable=False),
    Column("staged_at", When, nullable=False),
    Column("consumed_tick", BigInteger),
)

settlements = _table(
    "settlements",
    *_keyed(),
    Column("result_digest", Sha256, nullable=False),
    Column("tick", BigInteger, nullable=False),
    Column("marker_digest", Sha256, nullable=False),
    Column("settled_at", When, nullable=False),
)

verdicts = _table(
    "verdicts",
    Column("verdict_id", BigInteger, Identity(always=True), primary_key=True),
    Column("world_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("activity_id", Text, nullable=False),
    Column("delivery", BigInteger),
    Column("verdict", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("recorded_at", When, nullable=False),
)

dead_letters = _table(
    "dead_letters",
    Column("dead_letter_id", BigInteger, Identity(always=True), primary_key=True),
    Column("cause", Text, nullable=False),
    Column("world_id", Text),
    Column("kind", Text),
    Column("activity_id", Text),
    Column("queue", Text),
    Column("bytes", LargeBinary),
    Column("digest", Sha256),
    Column("size", BigInteger),
    Column("detail", Text, nullable=False),
    Column("recorded_at", When, nullable=False),
)

replays = _table(
    "replays",
    Column("dead_letter_id", BigInteger, primary_key=True),
    Column("world_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("activity_id", Text, nullable=False),
    Column("batch", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("attempt_id", Text),
    Column("tick", BigInteger),
    Column("delivery", BigInteger),
    Column("replayed_at", When, nullable=False),
)

webhook_deliveries = _table(
    "webhook_deliveries",
    Column("delivery_id", Text, primary_key=True),
    Column("event", Text, nullable=False),
    Column("repository", Text),
    Column("shas", ARRAY(Text), nullable=False),
    Column("received_at", When, nullable=False),
)

dismissals = _table(
    "dismissals",
    Column("dead_letter_id", BigInteger, primary_key=True),
    Column("actor", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("dismissed_at", When, nullable=False),
)
