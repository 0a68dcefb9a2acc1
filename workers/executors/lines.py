"""A stream of JSON, an object a line, on which other words may come between (stderr is merged)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

_LONGEST = 4 * 1024 * 1024  #: bytes of a line; of a longer one nothing is read
_BEGINS = '{"'

Line: TypeAlias = dict[str, Any] | bytes


class Lines:
    """Takes output of any form in bounded memory; gives objects, and what is none as it is.

    A secret is left out wherever it stands: models are known to repeat the key that they refuse.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._held = bytearray()
        self._is_too_long = False

    def take(self, chunk: bytes) -> Iterator[Line]:
        """The lines that this chunk completes."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._keep(line)
            yield from self.end()
        self._keep(rest)

    def end(self) -> Iterator[Line]:
        """What is held as a line."""
        line, was_too_long = bytes(self._held), self._is_too_long
        self._held.clear()
        self._is_too_long = False
        if was_too_long:
            yield b"(a line of more than 4 MiB)\n"
        elif line.strip():
            yield from _parts(line.replace(self._secret, b"***") if self._secret else line)

    def _keep(self, part: bytes) -> None:
        self._is_too_long = self._is_too_long or len(self._held) + len(part) > _LONGEST
        if self._is_too_long:
            self._held.clear()
        else:
            self._held += part


def _parts(line: bytes) -> Iterator[Line]:
    """The object in a line; other words before or after it were on the other stream."""
    words = line.decode("utf-8", "replace")
    start = words.find(_BEGINS)
    if start < 0:
        yield line + b"\n"
        return
    try:
        found, end = json.JSONDecoder().raw_decode(words, start)
    except (ValueError, RecursionError):
        yield line + b"\n"
        return
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        yield line + b"\n"
        return
    if before := words[:start].strip():
        yield before.encode() + b"\n"
    yield found
    if after := words[end:].strip():
        yield from _parts(after.encode())
