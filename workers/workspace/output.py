"""Output as bytes: counted, hashed and bounded while it runs, and made safe to show (E05)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

KEPT = 64 * 1024  #: bytes of a run's output that are kept
SHOWN = 4 * 1024  #: bytes of it that evidence carries

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC, DCS and their like: titles, links
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_UNSHOWABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class OutputTail:
    """The end of a run's merged output, and a proof of all of it."""

    tail: bytes
    total: int  #: bytes
    sha256: str  #: of every byte


class Output:
    """Takes output of any length in bounded memory."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._tail = bytearray()
        self._total = 0
        self._hash = hashlib.sha256()

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._total += len(chunk)
        self._hash.update(chunk)
        self._tail += chunk[-self._kept :]
        if len(self._tail) > 2 * self._kept:
            del self._tail[: -self._kept]

    def so_far(self) -> OutputTail:
        """What came until now."""
        return OutputTail(bytes(self._tail[-self._kept :]), self._total, self._hash.hexdigest())


def shown(output: bytes, limit: int = SHOWN) -> str:
    """The end of some output as text that is fit for canonical bytes, a terminal and a page.

    Escapes, NULs and other controls are gone, invalid UTF-8 is replaced, the form is NFC. At most
    `limit` bytes of UTF-8; of longer text the end.
    """
    text = output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    clean = _UNSHOWABLE.sub("", _ESCAPES.sub("", text))
    formed = unicodedata.normalize("NFC", clean)
    return formed.encode()[-limit:].decode("utf-8", "ignore")
