"""The one way out of a network of a run's own: to its model, and to nothing else.

The supervisor accepts on sockets that live in the run's network, and connects from the host's.
Standard library alone, like its neighbours. Each connection is two threads and two buffers of
fixed size; who opens too many waits. No thread of these ends a run, or keeps one from ending.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable

_CHUNK = 64 * 1024
_MOST = 64  #: connections at a time
_LONGEST = 16 * 1024  #: bytes of what asks for a tunnel
_PATIENCE = 30.0  #: seconds for that, and for the model to take a connection
_STACK = 512 * 1024


class Relay:
    """Serves listeners until the process ends."""

    def __init__(self, host: str, port: int, is_tunnel: bool) -> None:
        self._model = (host, port)
        self._is_tunnel = is_tunnel
        self._room = threading.BoundedSemaphore(_MOST)

    def serve(self, listeners: list[socket.socket]) -> None:
        """Begin; returns at once."""
        threading.stack_size(_STACK)
        for listener in listeners:
            listener.setblocking(True)
            _begin(self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:  # no descriptor is left: one may come free
                time.sleep(0.1)
                continue
            self._room.acquire()
            try:
                _begin(self._carry, near)
            except RuntimeError:  # no thread is left
                self._room.release()
                near.close()

    def _carry(self, near: socket.socket) -> None:
        try:
            with near, self._reach(near) as far:
                back = _begin(_pump, far, near)
                _pump(near, far)
                back.join()
        except OSError:
            pass  # either end is gone; the agent sees a closed connection, as without us
        finally:
            self._room.release()

    def _reach(self, near: socket.socket) -> socket.socket:
        """A connection to the model; a tunnel to anywhere else is refused with 403."""
        if self._is_tunnel:
            near.settimeout(_PATIENCE)
            if not self._is_asked_for(_head(near)):
                near.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                raise OSError("not the model")
        try:
            far = socket.create_connection(self._model, _PATIENCE)
        except OSError:
            if self._is_tunnel:
                near.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            raise
        if self._is_tunnel:
            near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for end in (near, far):
            end.settimeout(None)
        return far

    def _is_asked_for(self, head: bytes) -> bool:
        host, port = self._model
        name = f"[{host}]" if ":" in host else host
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        return words[:1] == ["CONNECT"] and words[1:2] == [f"{name}:{port}"]


def _head(near: socket.socket) -> bytes:
    """All of a request up to its empty line; nobody sends more before he is answered."""
    head = b""
    while not head.endswith(b"\r\n\r\n") and len(head) < _LONGEST:
        chunk = near.recv(_LONGEST - len(head))
        if not chunk:
            raise OSError("it asked for nothing")
        head += chunk
    return head


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry bytes one way to their end, and pass the end on."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    for end, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            end.shutdown(how)


def _begin(work: Callable[..., None], *given: socket.socket) -> threading.Thread:
    thread = threading.Thread(target=work, args=given, daemon=True)
    thread.start()
    return thread
