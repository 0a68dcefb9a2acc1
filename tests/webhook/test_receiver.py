"""The webhook's receiver: who is let in, what is junk, and how little follows (G07)."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from app.config import Secret
from app.domain.errors import DatabaseUnreachable
from app.github.account import Account
from app.webhook import __main__ as role
from app.webhook import receiver as http
from app.webhook.door import LARGEST, Rate, Room, TurnedAway
from app.webhook.receiver import Receiver

pytestmark = pytest.mark.contract("G07")

SECRET = "a secret of the tests, long enough"
SHA = "a" * 40
URL = "https://github.com/acme/widgets.git"
BODY = json.dumps(
    {"action": "completed", "check_run": {"head_sha": SHA}, "repository": {"clone_url": URL}}
).encode()


@dataclass
class Heard:
    """A receiver, and the hints that came out of it."""

    port: int
    hints: list[Any] = field(default_factory=list)
    fault: Exception | None = None

    def post(
        self, body: bytes = BODY, *, method: str = "POST", secret: str = SECRET,
        without: tuple[str, ...] = (), **more: str,
    ) -> int:  # fmt: skip
        """Send one delivery as the forge does, or somebody else; the answer's status."""
        proof = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        headers: dict[str, str] = {
            "Content-Type": "application/json", "X-GitHub-Event": "check_run",
            "X-GitHub-Delivery": "d-1", "X-Hub-Signature-256": f"sha256={proof}",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }  # fmt: skip
        kept = {name: value for name, value in headers.items() if name.lower() not in without}
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, "/hook", body, kept)
            return connection.getresponse().status

    def raw(self, *pieces: bytes) -> bytes:
        """Send bytes, and read until the receiver ends the connection."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as one:
            for piece in pieces:
                one.sendall(piece)
            one.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: one.recv(65536), b""))


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """A receiver whose hints go nowhere."""
    found = Heard(0)

    def keep(_store: object, told: Any) -> int:
        if found.fault is not None:
            raise found.fault
        found.hints.append(told)
        return 0

    monkeypatch.setattr(role, "hint", keep)
    store: Any = None
    heed = role.heed(store, Account("https://api.github.com"), Secret("S", SECRET))
    with closing(Server(Receiver("127.0.0.1", 0, heed))) as server:
        found.port = server.receiver.server_port
        yield found


class Server:
    """A receiver in a thread of its own."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        threading.Thread(target=receiver.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.receiver.shutdown()
        self.receiver.server_close()


def test_a_signed_event_is_a_hint(heard: Heard) -> None:
    """Its delivery, its repository in the one form, and the commit that it is about."""
    assert heard.post() == 202

    (told,) = heard.hints
    assert (told.delivery, told.event, told.repository, told.shas) == (
        "d-1", "check_run", URL, (SHA,),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("event", "value", "shas"),
    [
        ("check_suite", {"check_suite": {"head_sha": SHA}}, (SHA,)),
        ("status", {"sha": SHA}, (SHA,)),
        ("pull_request", {"pull_request": {"head": {"sha": SHA}}, "before": "b" * 40},
         (SHA, "b" * 40)),
        ("push", {"before": SHA, "after": "0" * 40}, (SHA,)),
        ("ping", {"zen": "…"}, ()),
        ("status", {"sha": "no sha"}, ()),
        ("status", {"sha": ["a"]}, ()),
        ("check_run", {"check_run": [1]}, ()),
    ],
)  # fmt: skip
def test_each_event_names_its_commits(
    heard: Heard, event: str, value: Mapping[str, Any], shas: tuple[str, ...]
) -> None:
    """Where there are any; what is of another form names none, and is no error."""
    assert heard.post(json.dumps(value).encode(), X_GitHub_Event=event) == 202

    assert [told.shas for told in heard.hints] == [shas]


def test_an_event_that_nobody_asked_for_is_answered_and_not_heeded(heard: Heard) -> None:
    """A hook that sends everything does no harm."""
    assert heard.post(X_GitHub_Event="star") == 202

    assert heard.hints == []


@pytest.mark.parametrize(
    ("status", "more"),
    [
        (401, {"secret": "another secret, as long as ours"}),
        (401, {"without": ("x-hub-signature-256",)}),
        (401, {"X_Hub_Signature_256": "sha256="}),
        (401, {"X_Hub_Signature_256": "sha1=" + "0" * 40}),
        (401, {"X_Hub_Signature_256": "é" * 71}),
        (405, {"method": "GET"}),
        (405, {"method": "PUT"}),
        (405, {"method": "BREW"}),
        (415, {"Content_Type": "application/x-www-form-urlencoded"}),
        (415, {"without": ("content-type",)}),
        (400, {"body": b""}),
        (400, {"body": b"{"}),
        (400, {"body": b"[1]"}),
        (400, {"body": b"\xff\xfe"}),
        (400, {"body": b"[" * 100_000}),
        (400, {"body": b"9" * 10_000}),
        (400, {"without": ("x-github-delivery",)}),
        (400, {"X_GitHub_Delivery": "../../etc"}),
        (400, {"X_GitHub_Delivery": "d" * 65}),
    ],
)  # fmt: skip
def test_what_is_refused_leaves_nothing(heard: Heard, status: int, more: dict[str, Any]) -> None:
    """Each with its own status, and none is our fault."""
    if more.get("X_Hub_Signature_256", "").startswith("é"):
        more["X_Hub_Signature_256"] = more["X_Hub_Signature_256"].encode().decode("latin-1")

    assert heard.post(**more) == status

    assert heard.hints == []


def test_a_body_that_is_too_large_is_not_read(heard: Heard) -> None:
    """It is refused by its length alone."""
    said = heard.raw(
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % (LARGEST + 1)
    )

    assert b" 413 " in said.splitlines()[0]


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 4,
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + b"X: y\r\n" * 300 + b"\r\n",
        b"POST / HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\nshort",
    ],
)
def test_junk_is_never_our_fault(heard: Heard, sent: bytes) -> None:
    """No junk is answered by 500, and the next one is heard."""
    said = heard.raw(sent)

    assert said == b"" or b" 400 " in said.splitlines()[0]
    assert heard.post() == 202


def test_whoever_sends_slowly_is_cut_off(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a request has a few seconds, however steadily it drips."""
    monkeypatch.setattr(http, "PATIENCE", 0.3)
    with socket.create_connection(("127.0.0.1", heard.port), 20) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nX")

        assert slow.recv(100) == b""


def test_a_database_that_is_away_is_said(heard: Heard) -> None:
    """The forge may send it again; nothing is lost but a hint."""
    heard.fault = DatabaseUnreachable("away")

    assert heard.post() == 503


def test_hints_are_bounded(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A storm of signed events is answered, and only so many of it are heeded."""
    monkeypatch.setattr(Rate, "may_one", lambda _: len(heard.hints) < 3)

    assert {heard.post(X_GitHub_Delivery=f"d-{number}") for number in range(6)} == {202}

    assert len(heard.hints) == 3


def test_a_rate_lets_a_burst_pass_and_then_so_many_a_second() -> None:
    """Without time passing, the burst is all."""
    rate = Rate(a_second=0.0, burst=5.0)

    assert [rate.may_one() for _ in range(7)] == [True] * 5 + [False] * 2


def test_room_is_given_back() -> None:
    """What is being read at once is bounded in bytes."""
    room = Room(10)
    room.take(8)
    with pytest.raises(TurnedAway):
        room.take(3)

    room.give_back(8)

    room.take(10)


def test_a_secret_in_a_file_may_be_replaced(tmp_path: Path) -> None:
    """It counts from its next use on."""
    file = tmp_path / "secret"
    file.write_text(SECRET)
    secret = Secret("S", file=str(file))
    assert secret.text() == SECRET

    file.write_text("another one that is long enough")

    assert secret.text() == "another one that is long enough"
