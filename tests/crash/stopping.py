"""A process of Fencepost that stops itself at a named moment, once; a test kills it from outside.

`python -P stopping.py "MOMENT name=value …" MARKER MODULE-OR-FILE argument…`
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
from pathlib import Path

from app import events


def main() -> None:
    at, marker, role, *arguments = sys.argv[1:]
    moment, *wanted = at.split()

    def stop(event: events.Event) -> None:
        facts = {f"{name}={value}" for name, value in event.facts.items()}
        if event.moment == moment and facts.issuperset(wanted) and not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGSTOP)

    events.subscribers.append(stop)
    sys.argv = [role, *arguments]
    if role.endswith(".py"):
        runpy.run_path(role, run_name="__main__")
    else:
        runpy.run_module(role, run_name="__main__")


main()
