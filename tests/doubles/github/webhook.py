"""Signed deliveries to whoever listens; some repeated, some never sent."""

from __future__ import annotations

import hashlib
import hmac
import json
import queue
import threading
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Hook:
    """Where a repository's events go."""

    repository: int
    url: str
    secret: str
    events: list[str]


@dataclass
class Delivery:
    """One event on its way; it keeps its id when it is sent again."""

    id: str
    event: str
    hook: Hook
    payload: dict[str, Any]
    statuses: list[int | None] = field(default_factory=list)  #: one a sending; None: no answer
    is_skipped: bool = False


class Webhooks:
    """Sends in order, one at a time, by a thread of its own."""

    def __init__(self) -> None:
        self.hooks: list[Hook] = []
        self.deliveries: list[Delivery] = []
        self._skips: list[str] = []
        self._copies = 1
        self._waiting: queue.Queue[Delivery | None] = queue.Queue()
        self._thread: threading.Thread | None = None

    def skip(self, count: int, event: str = "*") -> None:
        """Never send the next ones of the kind."""
        self._skips += [event] * count

    def repeat(self, copies: int) -> None:
        """Send each of the following so many times, with one id."""
        self._copies = copies

    def emit(self, repository: int, event: str, payload: dict[str, Any]) -> None:
        """Send an event to the hooks that ask for it."""
        for hook in self.hooks:
            if hook.repository == repository and {event, "*"} & set(hook.events):
                delivery = Delivery(str(uuid.uuid4()), event, hook, payload)
                self.deliveries.append(delivery)
                skipped = next((each for each in self._skips if each in {"*", event}), None)
                if skipped is not None:
                    self._skips.remove(skipped)
                    delivery.is_skipped = True
                    continue
                for _ in range(self._copies):
                    self.send(delivery)

    def send(self, delivery: Delivery) -> None:
        """Put one in the line, for the first time or again."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._waiting.put(delivery)

    def again(self, delivery_id: str) -> None:
        """Send one again, as the button does; the id stays."""
        self.send(next(each for each in self.deliveries if each.id == delivery_id))

    def drain(self) -> None:
        """Return when everything in the line was sent."""
        self._waiting.join()

    def close(self) -> None:
        """Send no more."""
        self._waiting.put(None)

    def _run(self) -> None:
        while (delivery := self._waiting.get()) is not None:
            try:
                delivery.statuses.append(post(delivery))
            finally:
                self._waiting.task_done()


def post(delivery: Delivery) -> int | None:
    """The status of one sending; None when nobody answered within ten seconds."""
    body = json.dumps(delivery.payload).encode()
    request = urllib.request.Request(delivery.hook.url, data=body, method="POST", headers={
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/0000000",
        "X-GitHub-Delivery": delivery.id,
        "X-GitHub-Event": delivery.event,
        "X-GitHub-Hook-ID": "1",
        "X-Hub-Signature-256": signature(delivery.hook.secret, body),
    })  # fmt: skip
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def signature(secret: str, body: bytes) -> str:
    """The value of `X-Hub-Signature-256`."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
