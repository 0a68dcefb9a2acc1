"""Durations as people type them: `90s`, `10m`, `2h`."""

from __future__ import annotations

from datetime import timedelta

import click

from app.domain.duration import duration
from app.domain.errors import BadInput


class Duration(click.ParamType[timedelta]):
    """A whole number of seconds, minutes, hours or days; at least a second, at most a week."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The length of time that was typed."""
        if isinstance(value, timedelta):
            return value
        try:
            return duration(str(value).strip())
        except BadInput as fault:
            self.fail(fault.message, param, ctx)


DURATION = Duration()
