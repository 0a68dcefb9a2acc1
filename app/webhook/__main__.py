"""The webhook receiver: a role that hears hints; any number, and none is needed (G07)."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Mapping

from app import config, logs
from app.config import Address, Secret, SettingUnfit
from app.domain.errors import FencepostError, SetupError
from app.events import Moment, emit
from app.github.account import Account, account_of
from app.parentage import watch_parent
from app.store import footing
from app.store.engine import Store, open_store
from app.transitions.hint import forget, hint
from app.webhook.door import Rate, check_signature
from app.webhook.event import hint_of
from app.webhook.receiver import Heed, Receiver

#: Seconds between two times of forgetting old deliveries.
SWEEP = 3600.0
SHORTEST = 16  #: characters of a secret


class WebhookUnavailable(SetupError):
    """The address for webhooks cannot be listened at."""

    code = "webhook_unavailable"
    hint = "choose another --host or --port; port 0 is any free one"


def main(arguments: list[str] | None = None) -> int:
    """Hear webhooks until SIGTERM or SIGINT; nothing is decided here."""
    parser = argparse.ArgumentParser(prog="fencepost webhook")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8480)
    told = parser.parse_args(arguments)
    logs.to_stderr("webhook")
    stop = threading.Event()
    for signalled in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signalled, lambda *_: stop.set())
    watch_parent()
    settings = config.read()
    try:
        url = config.required(settings.database_url, "FENCEPOST_DATABASE_URL")
        secret = _secret(settings.webhook_secret)
        store = open_store(url, name="fencepost-webhook")
        footing.check(store, footing.Login.APP)
        receiver = _listen(told.host, told.port, heed(store, account_of(settings), secret))
    except FencepostError as fault:
        emit(Moment.TROUBLE, code=fault.code, what=fault.message, hint=fault.advice)
        return 2
    threading.Thread(target=receiver.serve_forever, name="receiver", daemon=True).start()
    address = str(Address(told.host, receiver.server_port))
    emit(Moment.ROLE_STARTED, role="webhook", address=address)
    _forget(store)
    while not stop.wait(SWEEP):
        _forget(store)
    receiver.shutdown()
    receiver.server_close()
    emit(Moment.ROLE_STOPPED, role="webhook")
    return 0


def heed(store: Store, account: Account, secret: Secret) -> Heed:
    """What is done with a body: its signature, its form, and then the hint."""
    rate = Rate()

    def act(headers: Mapping[str, str], body: bytes) -> None:
        check_signature(headers, body, secret.text())
        event, delivery = headers.get("x-github-event", ""), headers.get("x-github-delivery", "")
        found = hint_of(event, delivery, body, account)
        if found is not None and rate.may_one():  # what is not heeded, the next look sees
            hint(store, found)

    return act


def _secret(given: Secret | None) -> Secret:
    if given is None:
        raise SettingUnfit(
            "FENCEPOST_WEBHOOK_SECRET is not set", hint="set it to what the hook at the forge has"
        )
    if len(given.text()) < SHORTEST:
        raise SettingUnfit(
            f"FENCEPOST_WEBHOOK_SECRET has less than {SHORTEST} characters",
            hint="make one with: python3 -c 'import secrets; print(secrets.token_hex(32))'",
        )
    return given


def _listen(host: str, port: int, what: Heed) -> Receiver:
    try:
        return Receiver(host, port, what)
    except (OSError, OverflowError) as fault:
        raise WebhookUnavailable(f"{host}:{port} cannot be listened at: {fault}") from fault


def _forget(store: Store) -> None:
    try:
        forget(store)
    except FencepostError as fault:
        emit(Moment.TROUBLE, code=fault.code, what=fault.message)


if __name__ == "__main__":
    sys.exit(main())
