"""Output as bytes: counted, hashed and bounded while it runs, and made safe to show (E05, E09)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from app import secrecy

KEPT = 64 * 1024  #: bytes of a run's output that are kept
SHOWN = 4 * 1024  #: bytes of it that evidence carries

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC, DCS and their like: titles, links
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_UNSHOWABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # directions, and what is unseen
    r"\U000e0000-\U000e0fff]"  # tags and selectors: a text inside a text
)
_ENDS = re.compile(r"\r\n|[\r\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class OutputTail:
    """The end of a run's merged output, and a proof of all of it."""

    tail: bytes  #: without secrets
    total: int  #: bytes
    sha256: str  #: of every byte, as it came


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
        kept = self._kept + secrecy.LONGEST  # a secret amid which the end begins is found whole
        self._tail += chunk[-kept:]
        if len(self._tail) > 2 * kept:
            del self._tail[:-kept]

    def so_far(self) -> OutputTail:
        """What came until now."""
        tail = bytes(self._tail[-self._kept - secrecy.LONGEST :])
        is_whole = self._total <= self._kept
        clean = secrecy.redacted_bytes(tail) if is_whole else secrecy.redacted_end(tail)
        return OutputTail(clean[-self._kept :], self._total, self._hash.hexdigest())


def shown(output: bytes, limit: int = SHOWN) -> str:
    """The end of some output as text that is fit for canonical bytes, a terminal and a page.

    Escapes, NULs and other controls are gone, invalid UTF-8 is replaced, the form is NFC. A secret
    in which they stood is left out. At most `limit` bytes of UTF-8; of longer text the end.
    """
    text = _ENDS.sub("\n", output.decode("utf-8", "replace"))
    clean = _UNSHOWABLE.sub("", _ESCAPES.sub("", text))
    formed = secrecy.redacted(unicodedata.normalize("NFC", clean))
    return formed.encode()[-limit:].decode("utf-8", "ignore")
