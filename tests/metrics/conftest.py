"""A stack that answers Prometheus, and commands for it."""

from __future__ import annotations

import pytest
from fixtures.stack import Stack


@pytest.fixture
def counted(stack: Stack) -> Stack:
    """A stack whose roles answer Prometheus, each at a port of its own."""
    stack.settings["FENCEPOST_METRICS"] = "0"
    return stack


@pytest.fixture
def work(stack: Stack) -> str:
    """A command that changes the source."""
    return "echo 'y = 2' >> a.py"


@pytest.fixture
def waiting(stack: Stack) -> str:
    """The same, which ends only once there is a file `go` outside."""
    wait = f"until [ -e {stack.outside}/go ]; do sleep 0.05; done"
    return f"{stack.counted('author')}; {wait}; echo 'y = 2' >> a.py"
