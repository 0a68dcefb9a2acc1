"""A small HTTP server for one thing: signed deliveries of a forge's webhook.

Each connection is one request, has a few seconds for all of it, and is one of a bounded number.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from app.domain.errors import BadInput, FencepostError
from app.events import Moment, emit
from app.webhook.door import Room, TurnedAway, check_form

Heed = Callable[[Mapping[str, str], bytes], None]

PATIENCE = 10.0  #: seconds for a whole request
MOST = 32  #: connections at once
_LINGER = 256 * 1024  #: bytes that are read and dropped, so that a refusal arrives


class Receiver(ThreadingHTTPServer):
    """Listens, and hands each body that may be read to `heed`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, heed: Heed) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.heed, self.room = heed, Room()
        self._places = threading.BoundedSemaphore(MOST)
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for a connection, if there is a place; the others wait to be accepted."""
        if not self._places.acquire(timeout=PATIENCE):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """What the thread does; the place is free afterwards."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is nobody's trouble."""


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    timeout = PATIENCE

    def setup(self) -> None:
        super().setup()
        self._end = threading.Timer(PATIENCE, self._cut)
        self._end.daemon = True
        self._end.start()

    def finish(self) -> None:
        self._end.cancel()
        with contextlib.suppress(OSError):
            super().finish()

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            self.server.heed(headers, self._body(headers))
        except TurnedAway as refusal:
            self._answer(refusal.status, refusal.message)
        except BadInput as fault:
            self._answer(400, fault.message)
        except FencepostError as fault:  # the database, the secret's file: nothing is wrong with it
            emit(Moment.TROUBLE, code=fault.code, what=fault.message)
            self._answer(503, "not now")
        else:
            self._answer(202, "heard")

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:  # fmt: skip
        """What the base class will not have: an unknown method, or no HTTP."""
        self._answer(405 if code == 501 else 400, "only POST of JSON is understood")

    def log_message(self, *_: object) -> None:
        """Moments are told elsewhere; a stranger writes nothing into our log."""

    def _body(self, headers: Mapping[str, str]) -> bytes:
        length = check_form(headers)
        self.server.room.take(length)
        try:
            body = self.rfile.read(length)
        finally:
            self.server.room.give_back(length)
        if len(body) != length:
            raise TurnedAway("the body is shorter than it says", 400)
        return body

    def _answer(self, status: int, words: str) -> None:
        body = f"{words}\n".encode()
        self.request_version = self.protocol_version  # of what is no HTTP it is another
        with contextlib.suppress(OSError):
            self.send_response_only(status)
            if status == 405:
                self.send_header("Allow", "POST")
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
            self.wfile.flush()
            self._drop_the_rest()
        self.close_connection = True

    def _drop_the_rest(self) -> None:
        """Read a little of what is still sent: a reset would take our answer with it."""
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(1.0)
        left = _LINGER
        while left > 0 and (more := self.connection.recv(65536)):
            left -= len(more)

    def _cut(self) -> None:
        """The time is over: whatever is being read ends here."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
