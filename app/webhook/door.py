"""Whether a delivery is let in: its form, its size, and whether the forge has signed it (G07)."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Mapping

from app.domain.errors import FencepostError

LARGEST = 25 * 1024 * 1024  #: bytes of a body; a forge sends no more
_JSON = "application/json"
_PREFIX = "sha256="


class TurnedAway(FencepostError):
    """A delivery is not let in; `status` says why in HTTP's words."""

    code = "turned_away"
    hint = "docs/checks.md says what the receiver takes"

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def check_form(headers: Mapping[str, str]) -> int:
    """The length of the body; TurnedAway for what is not even to be read."""
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not (length.isascii() and length.isdigit()):
        raise TurnedAway("a body has a length", 400)
    if len(length) > 12 or int(length) > LARGEST:
        raise TurnedAway(f"a body has at most {LARGEST} bytes", 413)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON:
        raise TurnedAway(f"the hook's content type is {_JSON}", 415)
    return int(length)


def check_signature(headers: Mapping[str, str], body: bytes, secret: str) -> None:
    """TurnedAway unless whoever sent these bytes knows the secret."""
    said = headers.get("x-hub-signature-256", "")
    proof = _PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(said.encode("utf-8", "replace"), proof.encode()):
        raise TurnedAway("the signature is missing, or not by our secret", 401)


class Room:
    """How many bytes are being read at once; a stranger can take no more memory than this."""

    def __init__(self, most: int = 4 * LARGEST) -> None:
        self._left, self._lock = most, threading.Lock()

    def take(self, size: int) -> None:
        """Take room; TurnedAway where there is none now."""
        with self._lock:
            if size > self._left:
                raise TurnedAway("too much is being read at once", 503)
            self._left -= size

    def give_back(self, size: int) -> None:
        """Give it back."""
        with self._lock:
            self._left += size


class Rate:
    """How many hints are heeded: so many a second, and a few more after a rest."""

    def __init__(self, a_second: float = 20.0, burst: float = 100.0) -> None:
        self._a_second, self._burst, self._left = a_second, burst, burst
        self._at, self._lock = time.monotonic(), threading.Lock()

    def may_one(self) -> bool:
        """Whether one more is heeded."""
        with self._lock:
            now = time.monotonic()
            self._left = min(self._burst, self._left + (now - self._at) * self._a_second)
            self._at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True
