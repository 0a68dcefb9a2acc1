"""What every test shares: the plugins of the house."""

from __future__ import annotations

import signal

pytest_plugins = [
    "contract_report",
    "dear_first",
    "fixtures.database",
    "fixtures.stack",
    "fixtures.valkey",
    "long_tests",
    "skips",
]


def pytest_configure() -> None:
    """Hear every signal: tests send them, and `nohup` or a shell's `&` had them ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for other in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(other, signal.SIG_DFL)
