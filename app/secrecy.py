"""What this process holds and must never tell: each credential that it has read (E09).

A value is noted by whoever reads it, so nobody can use one that is not known here. What was read
from a file is read again, for the file may have been replaced by now. What came by the environment
is no longer shown in /proc.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.concealment import conceal
from app.domain import redaction
from app.domain.digest import Json
from app.domain.redaction import Form, Redactor
from app.domain.secret_form import forms
from app.domain.secret_shape import LONGEST

__all__ = ["HELD", "LONGEST", "Redactor", "note", "redacted", "stream", "watch"]

_MOST = 8  #: values of one name; it is the old ones that are forgotten
_LOOK = 1.0  #: seconds between two looks at the files


class Held:
    """The values of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, list[str]] = {}
        self._files: dict[str, Path] = {}
        self._forms: tuple[Form, ...] = ()
        self._looked = 0.0

    def note(self, name: str, value: str) -> str:
        """Keep a value of this name from being told, and give it back."""
        with self._lock:
            self._note(name, value)
        return value

    def watch(self, name: str, file: Path, value: str) -> str:
        """The same for what is in a file, and for what will be there one day."""
        with self._lock:
            self._files[name] = file
            self._note(name, value)
        return value

    def forms(self) -> Sequence[Form]:
        """All of it, in each form."""
        with self._lock:
            if self._files and time.monotonic() > self._looked + _LOOK:
                self._looked = time.monotonic()
                for name, file in self._files.items():
                    with suppress(OSError, UnicodeDecodeError):  # what it held before is still kept
                        self._note(name, file.read_text("utf-8").strip())
            return self._forms

    def forget(self) -> None:
        """Begin anew."""
        with self._lock:
            self._values.clear()
            self._files.clear()
            self._forms = ()

    def _note(self, name: str, value: str) -> None:
        values = self._values.setdefault(name, [])
        if value in values[-1:]:
            return
        values[:] = [*(one for one in values if one != value), value][-_MOST:]
        found = {
            form.bytes: form
            for name, values in self._values.items()
            for value in values
            for form in forms(name, value)
        }
        self._forms = tuple(found.values())
        conceal(name)


HELD = Held()
note, watch = HELD.note, HELD.watch


def stream() -> Redactor:
    """Leaves secrets out of a stream; what is noted while it flows counts from then on."""
    return Redactor(HELD.forms)


def redacted(text: str) -> str:
    """A text without secrets."""
    data = text.encode("utf-8", "surrogatepass")
    clean = redacted_bytes(data)
    return text if clean == data else clean.decode("utf-8", "surrogatepass")


def redacted_bytes(data: bytes) -> bytes:
    """Bytes without secrets; they are whole."""
    return redaction.redacted(data, HELD.forms())


def redacted_end(data: bytes) -> bytes:
    """The end of something longer, without secrets and without a line that was cut."""
    return redaction.redacted_end(data, HELD.forms())


def redacted_beginning(data: bytes) -> bytes:
    """The beginning of something longer, without secrets and without a line that was cut."""
    return redaction.redacted_beginning(data, HELD.forms())


def redacted_value(value: Json) -> Json:
    """Any JSON without secrets, neither in its texts nor in its names."""
    match value:
        case str():
            return redacted(value)
        case Mapping():
            return {redacted(name): redacted_value(one) for name, one in value.items()}
        case list() | tuple():
            return [redacted_value(one) for one in value]
        case _:
            return value


def redacted_object(found: dict[str, Any]) -> dict[str, Any]:
    """An object that was read from JSON, of whatever shape, without secrets."""
    clean = redacted_value(found)
    assert isinstance(clean, dict)
    return clean


def name_in(*texts: str) -> str | None:
    """The name of the first value that one of these texts tells, or of a shape that it has."""
    for text in texts:
        seen = stream()
        seen.take(text.encode("utf-8", "surrogatepass"))
        seen.end()
        if found := [*seen.values, *seen.shapes]:
            return found[0]
    return None
