"""Commands that count their executions outside."""

from __future__ import annotations

import pytest
from fixtures.stack import Stack


@pytest.fixture
def work(stack: Stack) -> str:
    """A command that changes the source."""
    return f"{stack.counted('author')}; echo 'y = 2' >> a.py"


@pytest.fixture
def waiting(stack: Stack) -> str:
    """The same, which ends only once there is a file `go` outside."""
    wait = f"until [ -e {stack.outside}/go ]; do sleep 0.05; done"
    return f"{stack.counted('author')}; {wait}; echo 'y = 2' >> a.py"
