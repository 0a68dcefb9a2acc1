"""A Redis that hangs keeps nothing waiting but what needs it (Q11, Q12)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from fixtures.stack import Stack
from fixtures.world import Attempt, activity_of

from app.domain.identity import ActivityKey


class Hanging:
    """A server that takes connections and requests, and never answers."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self.asked = threading.Event()
        self.given_up = threading.Event()  #: whoever asked first has stopped waiting
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        first, _ = self._listener.accept()
        while first.recv(4096):
            self.asked.set()
        self.given_up.set()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    server = Hanging()
    yield server
    server.close()


@pytest.mark.contract("Q11", "Q12")
def test_the_dispatcher_decides_while_redis_hangs(stack: Stack, hanging: Hanging) -> None:
    """A dispatch is admitted while the relay still waits for its first answer."""
    stack.redis_url = hanging.url
    dispatcher = stack.start_dispatcher()
    stack.until(hanging.asked.is_set)

    attempt = stack.dispatch("true")
    stack.until(lambda: admitted(stack, attempt) is not None)

    assert not hanging.given_up.is_set(), "the relay had given up before anything was decided"
    assert dispatcher.is_alive


@pytest.mark.contract("Q12")
def test_a_dispatcher_stops_at_once_while_redis_hangs(stack: Stack, hanging: Hanging) -> None:
    """TERM is obeyed though a turn waits for Redis: it holds no state that could be lost."""
    stack.redis_url = hanging.url
    dispatcher = stack.start_dispatcher()
    stack.until(hanging.asked.is_set)

    dispatcher.process.terminate()

    assert dispatcher.process.wait(20) == 0
    assert dispatcher.says("role.stopped")


def admitted(stack: Stack, attempt: Attempt) -> ActivityKey | None:
    try:
        return activity_of(stack.store, attempt)
    except ValueError:
        return None
