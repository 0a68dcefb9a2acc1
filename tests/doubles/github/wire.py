"""HTTP/1.1 on loopback: one write an answer, or half of one, or a reset."""

from __future__ import annotations

import http.server
import io
import socket
import struct
import sys
import threading
import traceback
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING

from doubles.github.exchange import Answer, Request

if TYPE_CHECKING:
    from doubles.github.server import GitHub, Outcome


class Server(http.server.ThreadingHTTPServer):
    """A thread for each connection, none of which keeps the process alive."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    github: GitHub

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""
        if not isinstance(sys.exc_info()[1], OSError):
            traceback.print_exc()


def listen(github: GitHub, port: int) -> Server:
    """Serve from now on."""
    server = Server(("127.0.0.1", port), Handler)
    server.github = github
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


class Handler(http.server.BaseHTTPRequestHandler):
    """Reads a request whole, and sends what the server decides."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        """Any method goes the same way."""
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, path, query, headers, self._body())
        outcome = self.server.github.answer(request)
        self._send(outcome, request)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET  # noqa: N815

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, outcome: Outcome, request: Request) -> None:
        if outcome.answer is None:
            self._reset()
            return
        answer = outcome.answer
        content = b"" if request.method == "HEAD" else answer.content()
        data = self._head(answer, len(content)) + content
        if outcome.is_cut:
            self.wfile.write(data[: len(data) - max(1, len(content) // 2)])
            self.close_connection = True
            return
        self.wfile.write(data)

    def _head(self, answer: Answer, length: int) -> bytes:
        now = self.server.github.world.clock.now()
        headers = {"Server": "GitHub.com", "Date": formatdate(now, usegmt=True), **answer.headers}
        if answer.status not in {204, 304}:
            headers["Content-Length"] = str(length)
        reason = HTTPStatus(answer.status).phrase
        rows = [f"HTTP/1.1 {answer.status} {reason}", *(f"{k}: {v}" for k, v in headers.items())]
        return ("\r\n".join(rows) + "\r\n\r\n").encode("latin-1", "replace")

    def _reset(self) -> None:
        """Close so that the client reads `connection reset`."""
        self.close_connection = True
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.wfile.close()
        self.rfile.close()
        self.connection.close()
        self.rfile = self.wfile = io.BytesIO()  # the base flushes what it no longer has

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base's name
        """The record says it all."""
