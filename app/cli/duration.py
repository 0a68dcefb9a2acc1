"""Durations as people type them: `90s`, `10m`, `2h`."""

from __future__ import annotations

from datetime import timedelta

import click

from app.domain.duration import LONGEST, duration
from app.domain.errors import BadInput


class Duration(click.ParamType[timedelta]):
    """A whole number of seconds, minutes, hours or days; at most a week, if nothing is said."""

    name = "duration"

    def __init__(self, longest: timedelta = LONGEST) -> None:
        self._longest = longest

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The length of time that was typed."""
        if isinstance(value, timedelta):
            return value
        try:
            return duration(str(value).strip(), self._longest)
        except BadInput as fault:
            self.fail(fault.message, param, ctx)


DURATION = Duration()
