"""The HTTP side of a scripted model: listens on loopback, and keeps every request."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, Self

from doubles.models.script import Answer, Cut, Fail, Hang, Say

_LONGEST = 120.0  #: seconds that an answer hangs at most


class Wire(Protocol):
    """One vendor's words."""

    path: str  #: that a conversation is sent to

    def turn(self, request: dict[str, Any]) -> int:
        """How many answers of tools a conversation holds."""

    def told(self, request: dict[str, Any]) -> list[str]:
        """What the tools answered so far, oldest first."""

    def fault(self, fail: Fail) -> dict[str, Any]:
        """The body beside a status."""

    def events(self, answer: Answer, turn: int, model: str) -> Iterator[dict[str, Any]]:
        """An answer as it is streamed; each event names its type."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any] = field(repr=False)


class ModelServer:
    """A model that follows its script, for any number of conversations at once."""

    def __init__(self, wire: Wire, script: Sequence[Answer] = (Say(),)) -> None:
        self.wire, self.script = wire, list(script)
        self.asked: list[Asked] = []
        self._closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def do_GET(self) -> None:
                server._refuse(self)

            def do_POST(self) -> None:
                server._answer(self)

            def log_message(self, *parts: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *fault: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def told(self) -> list[str]:
        """What the tools answered in the longest conversation so far."""
        return max((self.wire.told(one.body) for one in self.asked), key=len, default=[])

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length", 0))
        request = json.loads(handler.rfile.read(length) or b"{}")
        path = handler.path.partition("?")[0]
        if path != self.wire.path:
            return self._refuse(handler)
        self.asked.append(Asked(path, dict(handler.headers.items()), request))
        turn = self.wire.turn(request)
        answer = self.script[turn] if turn < len(self.script) else Say()
        if isinstance(answer, Fail):
            return _send(handler, answer.status, json.dumps(self.wire.fault(answer)).encode())
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        with contextlib.suppress(OSError):  # the agent hung up
            self._stream(handler, answer, turn, str(request.get("model")))
        return None

    def _stream(
        self, handler: BaseHTTPRequestHandler, answer: Answer, turn: int, model: str
    ) -> None:
        for number, event in enumerate(self.wire.events(answer, turn, model)):
            words = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            handler.wfile.write(words.encode())
            handler.wfile.flush()
            if isinstance(answer, Cut) and number == 0:
                return
            if isinstance(answer, Hang) and number == 0:
                for _ in range(int(_LONGEST / 0.1)):
                    if answer.until.wait(0.1) or self._closing.is_set():
                        break

    def _refuse(self, handler: BaseHTTPRequestHandler) -> None:
        _send(handler, 404, b'{"error":{"message":"not here"}}')


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
