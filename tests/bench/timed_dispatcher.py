"""A dispatcher that says at its end where its time went: by turn, and by function.

`python -P -m bench.timed_dispatcher`; the functions are those of the first loop's thread.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from collections import defaultdict

from app.dispatcher.__main__ import main
from app.dispatcher.loop import Turn

#: Of each turn: how often it was taken, how much it did, and the seconds that it took.
spent: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0])
_take = Turn.take


def take(turn: Turn) -> int:
    """Take the turn, and keep how long that was."""
    begun = time.perf_counter()
    done = _take(turn)
    mine = spent[turn.name]
    mine[0], mine[1], mine[2] = mine[0] + 1, mine[1] + done, mine[2] + time.perf_counter() - begun
    return done


if __name__ == "__main__":
    Turn.take = take  # type: ignore[method-assign]
    profile = cProfile.Profile()
    begun = time.perf_counter()
    cpu = time.process_time()
    code = profile.runcall(main) if "--profile" in sys.argv else main()
    whole = time.perf_counter() - begun
    print(f"== of {whole:.1f} s, {time.process_time() - cpu:.1f} s on a processor", file=sys.stderr)
    for name, (times, done, seconds) in spent.items():
        print(f"{name:8} {times:6.0f} turns {done:6.0f} done {seconds:7.2f} s", file=sys.stderr)
    if "--profile" in sys.argv:
        pstats.Stats(profile, stream=sys.stderr).sort_stats("cumtime").print_stats(45)
    sys.exit(code)
