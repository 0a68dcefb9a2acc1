"""Everything that was received, in order: in memory, and in a file that only grows."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from doubles.github.exchange import Answer, Request

SECRET = frozenset({"authorization", "cookie", "proxy-authorization"})


@dataclass
class Entry:
    """One request and what became of it."""

    seq: int  #: order of arrival, from 1
    method: str
    path: str
    query: str
    headers: dict[str, str]  #: without secrets
    token: str | None  #: the name of the token, "jwt", or "unknown"; never the secret
    body: Any  #: JSON, or text; for git the ref commands of a push
    at: float
    template: str | None = None  #: the path as GitHub's description writes it
    status: int | None = None  #: as decided; None while it hangs
    sent: str = "no"  #: yes, no (reset or still hanging), cut
    stored: bool = False
    fault: str | None = None
    note: Any = None
    answer: Any = field(default=None, repr=False)
    secrets_in: list[str] = field(default_factory=list)  #: where a secret showed outside a header


class Record:
    """The entries of one server."""

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._file = path.open("a", encoding="utf-8") if path else None

    def begin(self, request: Request, token: str | None, secrets: list[str], at: float) -> Entry:
        """A place in the order, taken at arrival."""
        headers = {k: v for k, v in request.headers.items() if k not in SECRET}
        with self._lock:
            entry = Entry(
                seq=len(self._entries) + 1,
                method=request.method,
                path=request.path,
                query=request.query_string,
                headers=headers,
                token=token,
                body=_body(request),
                at=at,
                secrets_in=[
                    name
                    for name, text in (("path", request.path), ("query", request.query_string))
                    if any(secret in text for secret in secrets)
                ],
            )
            self._entries.append(entry)
        self._write("received", entry)
        return entry

    def decide(self, entry: Entry, answer: Answer, fault: str | None) -> None:
        """What the server did, known before the sender hears of it."""
        with self._lock:
            entry.status, entry.stored, entry.fault = answer.status, answer.stored, fault
            entry.note, entry.answer = answer.note, _json(answer)
        self._write("decided", entry)

    def entries(self) -> list[Entry]:
        """All of them so far, in order of arrival."""
        with self._lock:
            return list(self._entries)

    def forget(self) -> None:
        """Begin anew in memory; the file keeps everything."""
        with self._lock:
            self._entries.clear()

    def _write(self, what: str, entry: Entry) -> None:
        if self._file is None:
            return
        row = {"event": what, **asdict(entry)}
        row.pop("answer")
        with self._lock:
            if not self._file.closed:
                self._file.write(json.dumps(row) + "\n")
                self._file.flush()

    def close(self) -> None:
        """Write no more."""
        with self._lock:
            if self._file is not None:
                self._file.close()


def _body(request: Request) -> Any:
    if not request.body or request.path.endswith(("-pack", "/info/refs")):
        return None
    try:
        return json.loads(request.body)
    except ValueError:
        return request.body[:2000].decode("utf-8", "replace")


def _json(answer: Answer) -> Any:
    """The body, without the secret of a token that was just made."""
    if isinstance(answer.body, dict) and {"token", "expires_at"} <= set(answer.body):
        return {**answer.body, "token": "***"}
    return None if isinstance(answer.body, bytes) else answer.body
