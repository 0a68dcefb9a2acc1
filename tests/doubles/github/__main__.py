"""`python -m doubles.github --folder DIR [--port N]`: prints its address, then serves."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from doubles.github.server import GitHub


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(prog="python -m doubles.github", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="repositories and the record")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path, help="the file to append requests to")
    parser.add_argument(
        "--with-parent", action="store_true", help="end when standard input is closed"
    )
    options = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with GitHub(options.folder, options.port, options.record) as github:
        print(github.url, flush=True)
        if options.with_parent:
            threading.Thread(target=end_with_input, args=(ended,), daemon=True).start()
        ended.wait()


def end_with_input(ended: threading.Event) -> None:
    """Whoever started this holds the other end, and lets go of it even when killed."""
    sys.stdin.buffer.read()
    ended.set()


if __name__ == "__main__":
    main()
