"""`fencepost flower`: queues, workers and deliveries by meaningful names (Q07)."""

from __future__ import annotations

import ipaddress
import os
import secrets
from pathlib import Path

import click

from app import config
from app.broker.topology import celery_app
from app.cli import home, stack
from app.domain.errors import Refused
from app.embedded import folder


class OpenToOthers(Refused):
    """Flower would answer others without asking who they are."""

    code = "flower_without_authentication"
    hint = "set FLOWER_BASIC_AUTH=NAME:PASSWORD, or leave --address at 127.0.0.1"


@click.command()
@click.option("--address", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65535), default=5555, show_default=True)
def command(address: str, port: int) -> None:
    """Run Flower in this process; it shows and changes nothing.

    Beyond loopback it needs FLOWER_BASIC_AUTH=NAME:PASSWORD in its environment.
    """
    if not is_loopback(address) and not os.environ.get("FLOWER_BASIC_AUTH"):
        raise OpenToOthers(f"{address} can be reached by others")
    settings = config.read()
    # Flower would run a flowerconfig.py of the folder one stands in.
    os.chdir(home.prepare(settings.home))
    os.environ["FLOWER_COOKIE_SECRET"] = _cookie_secret(settings.home / "flower.secret")
    with stack.joined(settings) as found:
        redis_url = config.required(found.redis_url, "FENCEPOST_REDIS_URL")
        print(f"flower: http://{address}:{port}  (Ctrl-C ends it)", flush=True)
        app = celery_app(redis_url, role="flower")
        # It asks much at once, two connections a question: in a small pool they wait for ever.
        app.conf.update(broker_pool_limit=64, broker_pool_acquire_timeout=5)
        app.start(
            ["flower", f"--address={address}", f"--port={port}", "--read_only=true",
             "--purge_offline_workers=120", "--persistent=false"]
        )  # fmt: skip


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _cookie_secret(file: Path) -> str:
    """The same after a restart, so that nobody is signed out by one."""
    try:
        return file.read_text("utf-8").strip()
    except FileNotFoundError:
        secret = secrets.token_urlsafe(48)
        folder.write(file, secret + "\n")
        return secret
