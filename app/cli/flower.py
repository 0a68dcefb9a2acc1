"""`fencepost flower`: queues, workers and deliveries by meaningful names (Q07)."""

from __future__ import annotations

import ipaddress
import os
import secrets
import subprocess
import sys
import threading
from pathlib import Path

import click

from app import config
from app.broker.topology import celery_app
from app.cli import failing, home, stack
from app.cli.interrupt import on_stop
from app.domain.errors import Refused
from app.embedded import folder
from app.parentage import PARENT_FD, watch_parent

_PATIENCE = 1.5  #: seconds for Flower's own end


class OpenToOthers(Refused):
    """Flower would answer others without asking who they are."""

    code = "flower_without_authentication"
    hint = "set FLOWER_BASIC_AUTH=NAME:PASSWORD, or leave --address at 127.0.0.1"


@click.command()
@click.option("--address", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65535), default=5555, show_default=True)
def command(address: str, port: int) -> int:
    """Run Flower, which shows and changes nothing; Ctrl-C ends it.

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
        return _until_told([f"--address={address}", f"--port={port}"], redis_url)


def serve(arguments: list[str]) -> None:
    """Be Flower; the Redis that it looks at is in the environment, where nobody else reads it."""
    watch_parent()
    app = celery_app(os.environ["FENCEPOST_REDIS_URL"], role="flower")
    # It asks much at once, two connections a question: in a small pool they wait for ever.
    app.conf.update(broker_pool_limit=64, broker_pool_acquire_timeout=5)
    app.start(
        ["flower", *arguments, "--read_only=true", "--purge_offline_workers=120",
         "--persistent=false"]
    )  # fmt: skip


def _until_told(arguments: list[str], redis_url: str) -> int:
    """Run Flower as a child: when it is told to end, its questions to workers hold it for long."""
    told = threading.Event()
    on_stop(lambda *_: told.set())
    reading, writing = os.pipe()
    environment = os.environ | {"FENCEPOST_REDIS_URL": redis_url, PARENT_FD: str(reading)}
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.cli.flower", *arguments],
        env=environment, stdin=subprocess.DEVNULL, pass_fds=[reading], process_group=0,
    )  # fmt: skip
    os.close(reading)
    while child.poll() is None and not told.wait(0.1):
        pass
    if not told.is_set():
        return failing.FAILED
    child.terminate()
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    os.close(writing)
    return failing.DONE


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


if __name__ == "__main__":
    serve(sys.argv[1:])
