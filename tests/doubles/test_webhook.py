"""Webhooks: signed, repeated with one id, or never sent."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from doubles.github import Door
from doubles.hands import REPO, Client


class Listener(BaseHTTPRequestHandler):
    """Keeps what it gets."""

    server: Any

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.heard.append((headers, body))
        self.send_response(202)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def heard(door: Door) -> Iterator[list[tuple[dict[str, str], bytes]]]:
    """What a receiver with the secret `s3` heard."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    server.heard = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    door.add_webhook(full_name=REPO, url=url, secret="s3")
    yield server.heard
    server.shutdown()
    server.server_close()


Heard = list[tuple[dict[str, str], bytes]]


def names(heard: Heard) -> list[str]:
    found = [(headers["x-github-event"], json.loads(body)) for headers, body in heard]
    return [
        ".".join([event, *([body["action"]] if "action" in body else [])]) for event, body in found
    ]


def test_every_change_is_told_and_signed(client: Client, door: Door, heard: Heard) -> None:
    """With the HMAC of the bytes as sent."""
    app = door.add_app(slug="ci")
    sha = door.push(full_name=REPO, branch="work")
    client.open()
    door.set_check(full_name=REPO, sha=sha, name="build", app_id=app["id"])
    door.set_status(full_name=REPO, sha=sha, context="ci", state="success")
    door.merge_pull(full_name=REPO, number=1)
    door.drain_deliveries()

    assert names(heard) == [
        "push", "pull_request.opened", "check_run.created", "check_suite.completed", "status",
        "pull_request.closed",
    ]  # fmt: skip
    for headers, body in heard:
        digest = hmac.new(b"s3", body, hashlib.sha256).hexdigest()
        assert headers["x-hub-signature-256"] == f"sha256={digest}"
    assert [each["statuses"] for each in door.deliveries()] == [[202]] * len(heard)


def test_delivery_is_repeated_with_its_id_or_left_out(
    client: Client, door: Door, heard: Heard
) -> None:
    """As GitHub does both."""
    door.skip_deliveries(count=1, event="pull_request")
    client.open()
    door.set_status(full_name=REPO, sha="0" * 40, context="ci", state="success")
    [skipped, sent] = door.deliveries()

    door.redeliver(delivery_id=sent["id"])
    door.drain_deliveries()

    assert (skipped["is_skipped"], names(heard)) == (True, ["status", "status"])
    assert len({headers["x-github-delivery"] for headers, _ in heard}) == 1
