"""What a check finds: a law that the rows do not keep, or something that could not be read."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Row, Table

AnyRow = Row[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Violation:
    """One row that a law does not allow, or that it misses."""

    law: str  #: its contract id
    table: str
    identity: str  #: the row's primary key, parts joined by slashes
    what: str

    def __str__(self) -> str:
        return f"{self.law} {self.table} {self.identity}: {self.what}"


@dataclass(frozen=True, slots=True)
class Unread:
    """Something outside the database that could not be reached, or that no row speaks of."""

    what: str

    def __str__(self) -> str:
        return f"not read: {self.what}"


Finding = Violation | Unread


def against(law: str, table: Table, row: AnyRow, what: str) -> Violation:
    """A violation by a row that is there."""
    parts = [getattr(row, column.name) for column in table.primary_key]
    return Violation(law, table.name, path(*parts), what)


def missing(law: str, table: Table, *identity: object, what: str) -> Violation:
    """A violation by a row that ought to be there."""
    return Violation(law, table.name, path(*identity), f"missing: {what}")


def path(*parts: object) -> str:
    """An identity as one word."""
    return "/".join(map(str, parts))
