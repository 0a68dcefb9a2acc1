"""Durations as people type them: `90s`, `10m`, `2h`."""

from __future__ import annotations

import re
from datetime import timedelta

import click

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_LONGEST = timedelta(days=7)


class Duration(click.ParamType[timedelta]):
    """A whole number of seconds, minutes, hours or days; at least a second, at most a week."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The length of time that was typed."""
        if isinstance(value, timedelta):
            return value
        found = re.fullmatch(r"([0-9]{1,9})([smhd])", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is no duration; write 90s, 10m or 2h", param, ctx)
        length = timedelta(**{_UNITS[found[2]]: int(found[1])})
        if not timedelta(seconds=1) <= length <= _LONGEST:
            self.fail(f"{value!r} is not between 1s and 7d", param, ctx)
        return length


DURATION = Duration()
