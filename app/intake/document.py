"""YAML and JSON as plain values, with the place of each; what could surprise is refused.

Only what YAML 1.2 calls its core is understood: text, whole and decimal numbers, true and false,
null, lists, and objects whose keys are text. `yes` is a text, `010` is ten, and nothing is a date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

import yaml

from app.domain.digest import text as exact
from app.intake.fault import Place, Unreadable

LARGEST = 256 * 1024  #: bytes of a file
MOST_VALUES = 5_000
DEEPEST = 32

Value: TypeAlias = "str | int | Decimal | bool | None | list[Value] | dict[str, Value]"
Path: TypeAlias = "tuple[str | int, ...]"

_INTEGER = re.compile(r"[-+]?[0-9]{1,15}")
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: Mapping[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip


@dataclass(slots=True)
class Document:
    """A value, and where each part of it stands."""

    value: Value = None
    places: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)  #: of each key of an object

    def place(self, path: Sequence[str | int]) -> Place:
        """Where the value at this path stands, or the nearest one around it."""
        whole = tuple(path)
        while whole not in self.places and whole:
            whole = whole[:-1]
        return self.places.get(whole, Place(1, 1))


def parse(data: bytes) -> Document:
    """The document that these bytes hold; Unreadable with the first place that stops the reader."""
    if len(data) > LARGEST:
        raise Unreadable(1, 1, "too_large", f"more than {LARGEST // 1024} KiB")
    text = _decoded(data)
    document = Document()
    try:
        _Builder(document, yaml.parse(_spaced(text), Loader=yaml.SafeLoader)).build()
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        words = " ".join(filter(None, [fault.context, fault.problem]))
        raise Unreadable(line + 1, column + 1, "bad_syntax", words) from None
    except yaml.reader.ReaderError as fault:
        before = text[: fault.position]
        raise Unreadable(
            *_end_of(before), "bad_character", f"a character that YAML refuses: {fault.character!r}"
        ) from None
    return document


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        before = data[: fault.start].decode("utf-8", "replace")
        byte = data[fault.start]
        raise Unreadable(*_end_of(before), "not_utf8", f"byte 0x{byte:02x} is no UTF-8") from None


def _end_of(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1


def _spaced(text: str) -> str:
    """JSON with its tabs as blanks: they stand between values only, and YAML refuses them there."""
    if "\t" not in text or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text.replace("\t", " ")


class _Builder:
    """Puts one document together from the parser's events, and stops at the first surprise."""

    def __init__(self, document: Document, events: Iterator[yaml.Event]) -> None:
        self._document, self._events = document, events
        self._values = 0

    def build(self) -> None:
        for event in self._events:
            if isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
                continue
            if isinstance(event, yaml.StreamEndEvent):
                raise Unreadable(1, 1, "empty", "nothing is written here")
            self._document.value = self._value(event, ())
            break
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                raise _at(event, "several_documents", "a second document begins here")

    def _value(self, event: yaml.Event, path: Path) -> Value:
        self._check(event, path)
        self._document.places[path] = _place(event)
        match event:
            case yaml.MappingStartEvent():
                return self._object(path)
            case yaml.SequenceStartEvent():
                return self._list(path)
            case yaml.ScalarEvent():
                return _scalar(event)
            case _:
                raise _at(event, "bad_syntax", "a value is expected")

    def _check(self, event: yaml.Event, path: Path) -> None:
        self._values += 1
        if self._values > MOST_VALUES:
            raise _at(event, "too_many_values", f"more than {MOST_VALUES} values")
        if len(path) > DEEPEST:
            raise _at(event, "too_deep", f"more than {DEEPEST} levels")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _at(
                event, "alias_refused", "anchors and aliases are not understood; write it out"
            )
        if (tag := getattr(event, "tag", None)) is not None:
            raise _at(event, "tag_refused", f"the tag {tag} is not understood; quote a text")

    def _object(self, path: Path) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            self._check(event, path)
            key = _scalar(event) if isinstance(event, yaml.ScalarEvent) else None
            if not isinstance(key, str):
                raise _at(event, "key_not_text", "a field's name is a text")
            if key in found:
                raise _at(event, "duplicate_key", f"{key!r} is written twice")
            self._document.keys[(*path, key)] = _place(event)
            found[key] = self._value(next(self._events), (*path, key))
        return found

    def _list(self, path: Path) -> list[Value]:
        found: list[Value] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            found.append(self._value(event, (*path, len(found))))
        return found


def _scalar(event: yaml.ScalarEvent) -> Value:
    written: str = event.value
    if event.style is None:
        if written in _WORDS:
            return _WORDS[written]
        if _INTEGER.fullmatch(written):
            return int(written)
        if _DECIMAL.fullmatch(written):
            return Decimal(written)
    whole = written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # JSON's pairs
    if exact(whole) != whole or "�" in whole or "\0" in whole:
        raise _at(event, "not_exact", "a text is UTF-8 in Unicode form NFC, without NUL")
    return whole


def _place(event: yaml.Event) -> Place:
    assert event.start_mark is not None
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


def _at(event: yaml.Event, code: str, message: str) -> Unreadable:
    where = _place(event)
    return Unreadable(where.line, where.column, code, message)
