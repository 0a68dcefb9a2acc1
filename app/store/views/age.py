"""Ages, by the database's clock alone."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Interval, type_coerce

from app.store import clock


def age(moment: ColumnElement[datetime]) -> ColumnElement[timedelta]:
    """How long ago."""
    return type_coerce(clock.now() - moment, Interval)
