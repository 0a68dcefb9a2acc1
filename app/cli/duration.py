"""Durations as people type them: `90s`, `10m`, `2h`."""

from __future__ import annotations

from datetime import timedelta

import click

from app.domain.duration import LONGEST, span
from app.domain.errors import BadInput


class Duration(click.ParamType[timedelta]):
    """Seconds, minutes, hours or days; from a second to a week, if nothing else is said."""

    name = "duration"

    def __init__(
        self, longest: timedelta = LONGEST, least: timedelta = timedelta(seconds=1)
    ) -> None:
        self._longest, self._least = longest, least

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The length of time that was typed."""
        if isinstance(value, timedelta):
            return value
        try:
            return span(str(value), self._least, self._longest)
        except BadInput as fault:
            self.fail(fault.message, param, ctx)


DURATION = Duration()
GRACE = Duration(least=timedelta(0))  #: none at all may be meant
