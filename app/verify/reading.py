"""One read-only snapshot of a database, streamed in the order of its keys.

Rows are put together here and not by the server, so that no view, no function and no statement of
the product has a say in what is found, and so that memory does not grow with the tables.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Column, ColumnElement, Connection, LargeBinary, Table, Text, select

from app.domain.digest import Json, parse
from app.domain.errors import UnfitInput
from app.store import schema
from app.store.engine import open_engine
from app.verify.finding import AnyRow

BATCH = 500  #: rows that are in memory at a time, a stream
SECRET = {"token_hash"}  #: the control plane's login cannot read it, and no law needs it

Value: TypeAlias = Mapping[str, Json]
Key: TypeAlias = tuple[object, ...]
Found: TypeAlias = Mapping[str, list[AnyRow]]


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows of a table in the order of some columns; large values only where they are named."""

    table: Table
    by: Sequence[str]
    large: Sequence[str] = ()
    where: ColumnElement[bool] | None = None


@dataclass(slots=True)
class Reading:
    """The whole database as of one moment."""

    connection: Connection
    mirrors: Path  #: the folder of the local forge
    rows_read: int = field(default=0)

    def worlds(self) -> list[AnyRow]:
        """Every world, oldest first."""
        return list(self.rows(Stream(schema.worlds, ("created_at", "world_id"), ("settings",))))

    def rows(self, stream: Stream) -> Iterator[AnyRow]:
        """Stream rows; text is ordered by its bytes, as Python orders it."""
        table = stream.table
        rest = [column.name for column in table.primary_key if column.name not in stream.by]
        query = select(*_light(table, stream.large)).order_by(
            *(_ordered(table.c[name]) for name in (*stream.by, *rest))
        )
        if stream.where is not None:
            query = query.where(stream.where)
        found: Iterable[AnyRow] = self.connection.execute(
            query, execution_options={"yield_per": BATCH}
        )
        for row in found:
            self.rows_read += 1
            yield row

    def strangers(self, table: Table) -> list[str]:
        """The world ids in a table that no world has."""
        known = select(schema.worlds.c.world_id)
        column = table.c.world_id
        query = select(column).where(column.is_not(None), column.not_in(known)).distinct()
        return list(self.connection.execute(query).scalars())


@dataclass(frozen=True, slots=True)
class World:
    """One world of the snapshot."""

    reading: Reading
    row: AnyRow

    @property
    def id(self) -> str:
        return str(self.row.world_id)

    def rows(
        self, table: Table, by: Sequence[str] = (), *, large: Sequence[str] = (),
        where: ColumnElement[bool] | None = None,
    ) -> Iterator[AnyRow]:  # fmt: skip
        """Rows of this world, by these columns and then by their key."""
        mine = table.c.world_id == self.id
        both = mine if where is None else mine & where
        return self.reading.rows(Stream(table, by, large, both))

    def together(self, *streams: Stream) -> Iterator[tuple[Key, Found]]:
        """Rows of several tables that agree in the columns by which each is ordered."""
        tagged = [self._tagged(stream) for stream in streams]
        names = [stream.table.name for stream in streams]
        merged = heapq.merge(*tagged, key=_key_of)
        for key, group in groupby(merged, key=_key_of):
            found: dict[str, list[AnyRow]] = {name: [] for name in names}
            for _, name, row in group:
                found[name].append(row)
            yield key, found

    def payload(self, digest: str) -> bytes | None:
        """The bytes behind the digest of a result."""
        where = schema.payloads.c.digest == digest
        rows = list(self.rows(schema.payloads, large=("bytes",), where=where))
        return bytes(rows[0].bytes) if rows else None

    def _tagged(self, stream: Stream) -> Iterator[tuple[Key, str, AnyRow]]:
        by, name = tuple(stream.by), stream.table.name
        for row in self.rows(stream.table, by, large=stream.large, where=stream.where):
            yield tuple(getattr(row, column) for column in by), name, row


@contextmanager
def snapshot(url: str, mirrors: Path) -> Iterator[Reading]:
    """Read everything as of one moment; nothing is locked and nothing can be written."""
    # without the short timeouts of those who write: a large database takes its time
    engine = open_engine(url, name="fencepost-verify", connections=1, timeouts=False)
    try:
        with engine.connect().execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        ) as connection:
            yield Reading(connection, mirrors)
    finally:
        engine.dispose()


def value_of(data: bytes) -> Value | None:
    """Canonical bytes as an object; None for anything else."""
    try:
        value = parse(bytes(data))
    except UnfitInput:
        return None
    return value if isinstance(value, Mapping) else None


def _light(table: Table, large: Sequence[str]) -> list[Column[object]]:
    return [
        column for column in table.c
        if column.name not in SECRET
        and (column.name in large or not isinstance(column.type, LargeBinary))
    ]  # fmt: skip


def _ordered(column: Column[object]) -> ColumnElement[str] | Column[object]:
    return column.collate("C") if isinstance(column.type, Text) else column


def _key_of(tagged: tuple[Key, str, AnyRow]) -> Key:
    return tagged[0]
