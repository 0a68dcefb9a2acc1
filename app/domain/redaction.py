"""Leaving secrets out of a stream of bytes, wherever its chunks end (E09).

What is a secret is said by its shape, or by a list of the forms that known values may take. The
same bytes give the same result however they are cut; at most a few KiB are held back, and a line
that has ended never is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.domain.secret_shape import LONGEST, SHAPES, Shape

_SEEN = 32  #: bytes before, that tell whether a word begins
_CUT_KEY = re.compile(
    rb"\A(?:[ \t>|+]{0,16}[A-Za-z0-9+/=]{1,100}[ \t]*(?:\r?\n|(?:\\+[rn])+))*"
    rb"(?=[ \t>|+]{0,16}-----END [A-Z0-9 ]{0,40}PRIVATE KEY)"
)


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a value that must not be told."""

    name: str  #: of the value, never the value
    bytes: bytes
    is_strong: bool = True  #: nobody writes this by chance


@dataclass(frozen=True, slots=True)
class _Span:
    """A secret, by its place in the bytes that are held; negative: it began before them."""

    start: int
    end: int
    rank: int
    name: str
    more: re.Pattern[bytes] | None = None  #: how it may still go on

    def moved(self, by: int) -> _Span:
        return replace(self, start=self.start + by, end=self.end + by)


class Redactor:
    """Takes a stream, gives it back with a marker in the place of each secret."""

    def __init__(self, known: Callable[[], Sequence[Form]] = tuple) -> None:
        self._known = known
        self._before = b""
        self._held = b""
        self._open: list[_Span] = []
        self._reach = -1  #: to where the last marker stands for something, in what is held
        self.shapes: Counter[str] = Counter()  #: secrets that were seen by their shape alone
        self.values: Counter[str] = Counter()  #: strong values that were seen

    def take(self, chunk: bytes) -> bytes:
        """What the next bytes decide."""
        self._held += chunk
        decided = max(self._held.rfind(b"\n"), self._held.rfind(b"\r")) + 1
        if len(self._held) - decided > 2 * LONGEST:
            decided = len(self._held) - LONGEST
        return self._give(decided) if decided else b""

    def end(self) -> bytes:
        """The rest."""
        return self._give(len(self._held))

    def _give(self, length: int) -> bytes:
        whole = self._before + self._held
        first = len(self._before)
        stop, reach = first + length, first + self._reach if self._reach >= 0 else -1
        spans = [_grown(span.moved(first), whole, stop) for span in self._open]
        spans += self._of_values(whole, first, stop)
        for rank, shape in enumerate(SHAPES):
            begun = max((span.end for span in spans if span.rank == rank), default=-1)
            spans += self._of_shape(shape, rank, whole, (first, stop), begun)
        spans.sort(key=lambda span: (span.start, span.rank))
        given, place = [], first
        for span in spans:
            if span.start >= stop:
                break
            if span.start > reach:
                given += [whole[place : span.start], b"[redacted:", span.name.encode(), b"]"]
            reach = max(reach, span.end)
            place = max(place, span.end)
        given.append(whole[place:stop])
        self._open = _left(spans, stop)
        self._reach = max(-1, reach - stop)
        self._before = whole[max(0, stop - _SEEN) : stop]
        self._held = whole[stop:]
        return b"".join(given)

    def _of_values(self, whole: bytes, first: int, stop: int) -> Iterator[_Span]:
        for form in self._known():
            size = len(form.bytes)
            start = whole.find(form.bytes, first, stop + size - 1)
            while start >= 0:
                if form.is_strong:
                    self.values[form.name] += 1
                yield _Span(start, start + size, -1, form.name)
                start = whole.find(form.bytes, start + 1, stop + size - 1)

    def _of_shape(
        self, shape: Shape, rank: int, whole: bytes, place: tuple[int, int], end: int
    ) -> Iterator[_Span]:
        first, stop = place
        found = shape.head.search(whole, first)
        while found is not None and found.start() < stop:
            if found.end() > end:  # else it is inside of the last one, and ends with it
                self.shapes[shape.name] += 1
                start = found.start(found.lastindex or 0)
                begun = _Span(start, found.end(), rank, shape.name, shape.more)
                span = _grown(begun, whole, stop)
                end = span.end
                yield span
            found = shape.head.search(whole, found.start() + 1)


def redacted(data: bytes, known: Sequence[Form] = ()) -> bytes:
    """Some bytes that are whole."""
    stream = Redactor(lambda: known)
    return stream.take(data) + stream.end()


def redacted_end(data: bytes, known: Sequence[Form] = ()) -> bytes:
    """The end of a longer text, which may begin amid a secret: so its first line is left out."""
    line = re.search(rb"[\r\n]", data[:LONGEST])
    rest = data[line.end() if line else LONGEST :]
    return redacted(_CUT_KEY.sub(b"[redacted:private-key]", rest), known)


def redacted_beginning(data: bytes, known: Sequence[Form] = ()) -> bytes:
    """The beginning of a longer text, which may end amid a secret: its last line is left out."""
    return Redactor(lambda: known).take(data)


def _left(spans: list[_Span], stop: int) -> list[_Span]:
    """What goes on after what was given: of each kind that has begun the longest, and all else."""
    begun: dict[int, _Span] = {}
    later = []
    for span in spans:
        if span.start >= stop:
            later.append(span.moved(-stop))
        elif (span.end > stop or span.more is not None) and (
            span.rank not in begun or begun[span.rank].end < span.end - stop
        ):
            begun[span.rank] = span.moved(-stop)
    return [*begun.values(), *later]


def _grown(span: _Span, whole: bytes, stop: int) -> _Span:
    """As much of a secret as is there: until it ends, or beyond what is given now."""
    if span.more is None:
        return span
    place = span.end
    while place < stop:
        part = span.more.match(whole, place)
        if part is None:
            return replace(span, end=place, more=None)
        place = part.end()
    return replace(span, end=place)


def without_password(text: str) -> str:
    """A message fit to be shown: passwords inside URLs are left out."""
    return re.sub(r"(://[^:/@\s]*):[^@\s]*@", r"\1:***@", text)
