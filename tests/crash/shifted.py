"""A process of Fencepost whose own clock is wrong, in all that Python can ask it.

`python -P shifted.py SECONDS MODULE argument…`
"""

from __future__ import annotations

import datetime
import runpy
import sys
import time
from typing import Any


def main() -> None:
    seconds, module, *arguments = sys.argv[1:]
    shift(float(seconds))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def shift(seconds: float) -> None:
    """Let the time of day be another; clocks that only measure lengths go on."""
    right, right_ns, right_clock = time.time, time.time_ns, time.clock_gettime

    def clock_gettime(clock: int) -> float:
        return right_clock(clock) + (seconds if clock == time.CLOCK_REALTIME else 0.0)

    time.time = lambda: right() + seconds
    time.time_ns = lambda: right_ns() + int(seconds * 1e9)
    time.clock_gettime = clock_gettime
    for name in ("gmtime", "localtime"):
        setattr(time, name, _shown(getattr(time, name)))
    right_datetime, by = datetime.datetime, datetime.timedelta(seconds=seconds)

    class Kind(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, right_datetime)

        def __subclasscheck__(cls, one: type) -> bool:
            return issubclass(one, right_datetime)

    class Shifted(right_datetime, metaclass=Kind):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return right_datetime.now(tz) + by

        @classmethod
        def utcnow(cls) -> Any:
            return right_datetime.now(datetime.UTC).replace(tzinfo=None) + by

        @classmethod
        def today(cls) -> Any:
            return right_datetime.now() + by  # as it is there

    datetime.datetime = Shifted  # type: ignore[misc]  # that is the point


def _shown(right: Any) -> Any:
    return lambda seconds=None: right(time.time() if seconds is None else seconds)


main()
