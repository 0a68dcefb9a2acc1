"""Output as lines, and a stream of JSON, an object a line, on which other words may come too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from app import secrecy

_LONGEST = 4 * 1024 * 1024  #: bytes of a line; of a longer one nothing is read
_BEGINS = '{"'

Line: TypeAlias = dict[str, Any] | bytes


class Lines:
    """Takes output of any form in bounded memory; gives the lines that are not blank."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._is_too_long = False

    def take(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that this chunk completes."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._keep(line)
            yield from self.end()
        self._keep(rest)

    def end(self) -> Iterator[bytes]:
        """What is held as a line."""
        line, was_too_long = bytes(self._held), self._is_too_long
        self._held.clear()
        self._is_too_long = False
        if was_too_long:
            yield b"(a line of more than 4 MiB)\n"
        elif line.strip():
            yield line + b"\n"

    def _keep(self, part: bytes) -> None:
        self._is_too_long = self._is_too_long or len(self._held) + len(part) > _LONGEST
        if self._is_too_long:
            self._held.clear()
        else:
            self._held += part


def parts(line: bytes) -> Iterator[Line]:
    """The object in a line; other words before or after it came from something the agent ran.

    No secret is in the object: models are known to repeat the key that they refuse.
    """
    words = line.decode("utf-8", "replace")
    start = words.find(_BEGINS)
    if start < 0:
        yield line
        return
    try:
        found, end = json.JSONDecoder().raw_decode(words, start)
    except (ValueError, RecursionError):
        yield line
        return
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        yield line
        return
    if before := words[:start].strip():
        yield before.encode() + b"\n"
    yield secrecy.redacted_object(found)
    if after := words[end:].strip():
        yield after.encode() + b"\n"
