"""`fencepost webhook` as a process: it starts, turns strangers away, and ends (G07)."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import signal
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from fixtures.stack import Stack
from fixtures.waiting import until
from sqlalchemy import func, select

from app.store.schema import webhook_deliveries

pytestmark = pytest.mark.contract("G07")

SECRET = "a secret of the tests, long enough"
BODY = b'{"sha": "%s"}' % (b"a" * 40)


def heard(stack: Stack) -> int:
    with stack.store.begin() as tx:
        return tx.execute(select(func.count()).select_from(webhook_deliveries)).scalar_one()


def post(address: str, secret: str, delivery: str = "d-1") -> int:
    proof = "sha256=" + hmac.new(secret.encode(), BODY, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json", "X-GitHub-Event": "status",
        "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": proof,
    }  # fmt: skip
    with closing(http.client.HTTPConnection(urlsplit(f"//{address}").netloc)) as connection:
        connection.request("POST", "/", BODY, headers)
        return connection.getresponse().status


def test_a_forged_event_leaves_no_trace_and_a_repeated_one_no_second(stack: Stack) -> None:
    """Signed once, sent twice; TERM ends the process in order."""
    stack.settings["FENCEPOST_WEBHOOK_SECRET"] = SECRET
    role = stack._start(
        ("app.cli", "webhook", "--port", "0"), stack.database.app_url, None
    )  # fmt: skip
    stack.until(lambda: role.says("address="))
    address = role.log.read_text().partition("address=")[2].split()[0]

    assert post(address, "what somebody else thinks it is") == 401
    assert heard(stack) == 0
    assert [post(address, SECRET), post(address, SECRET)] == [202, 202]
    assert heard(stack) == 1

    role.process.send_signal(signal.SIGTERM)
    assert role.process.wait(20) == 0
    assert SECRET not in role.log.read_text()


@pytest.mark.parametrize(
    ("settings", "more", "code"),
    [
        ({}, (), "setting_unfit"),
        ({"FENCEPOST_WEBHOOK_SECRET": "short"}, (), "setting_unfit"),
        ({"FENCEPOST_WEBHOOK_SECRET": SECRET}, ("--host", "192.0.2.1"), "webhook_unavailable"),
    ],
)
def test_what_cannot_be_is_said(
    stack: Stack, settings: dict[str, str], more: tuple[str, ...], code: str
) -> None:
    """Before anything listens."""
    stack.settings |= settings
    role = stack._start(
        ("app.cli", "webhook", "--port", "0", *more), stack.database.app_url, None
    )  # fmt: skip

    until(lambda: not role.is_alive, 30)

    assert role.process.returncode == 2
    assert role.says(code)
