"""`fencepost flower`: queues, workers and deliveries by meaningful names (Q07)."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from app import config
from app.cli import failing, home, stack
from app.cli.interrupt import on_stop
from app.config import Settings
from app.domain.errors import Refused
from app.embedded import folder
from app.parentage import PARENT_FD

_PATIENCE = 1.5  #: seconds for Flower's own end
_CREDENTIALS = re.compile(r"[^:,\s]+:[^,\s]+(,[^:,\s]+:[^,\s]+)*")


class OpenToOthers(Refused):
    """Flower would answer others without asking who they are."""

    code = "flower_without_authentication"
    hint = "set FLOWER_BASIC_AUTH=NAME:PASSWORD, or leave --address at 127.0.0.1"


class UnfitCredentials(Refused):
    """Flower would read these credentials as others, or as none."""

    code = "flower_credentials"
    hint = "set FLOWER_BASIC_AUTH=NAME:PASSWORD, without blanks and commas"


class ControlByAnybody(Refused):
    """Whoever reaches the page could stop workers."""

    code = "flower_control_without_authentication"
    hint = "set FLOWER_BASIC_AUTH=NAME:PASSWORD, or leave --allow-control"


@click.command()
@click.option("--address", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65535), default=5555, show_default=True)
@click.option("--allow-control", is_flag=True, help="Let it stop workers and revoke tasks.")
def command(address: str, port: int, allow_control: bool) -> int:
    """Run Flower, which shows and changes nothing; Ctrl-C ends it.

    Beyond loopback, and to control, it needs FLOWER_BASIC_AUTH=NAME:PASSWORD in its environment,
    or in the file that FLOWER_BASIC_AUTH_FILE names. Of servers of your own it needs Redis alone.
    Search its tasks by the id of an attempt or an activity.
    """
    settings = config.read(redis_alone=True)
    if credentials := config.secret(os.environ, "FLOWER_BASIC_AUTH"):
        os.environ["FLOWER_BASIC_AUTH"] = credentials  # where Flower itself looks for it
    check_access(address, credentials, allow_control=allow_control)
    # Flower would run a flowerconfig.py of the folder one stands in.
    os.chdir(home.prepare(settings.home, is_shared=True))
    os.environ["FLOWER_COOKIE_SECRET"] = _cookie_secret(settings.home / "flower.secret")
    with _redis_url(settings) as redis_url:
        print(f"flower: http://{address}:{port}  (Ctrl-C ends it)", flush=True)
        limit = f"--read_only={'false' if allow_control else 'true'}"
        return _until_told([f"--address={address}", f"--port={port}", limit], redis_url)


@contextmanager
def _redis_url(settings: Settings) -> Iterator[str]:
    """The Redis that is named, or the one of the stack that is there."""
    if settings.redis_url and not settings.database_url:
        yield settings.redis_url
        return
    with stack.joined(settings) as found:
        yield config.required(found.redis_url, "FENCEPOST_REDIS_URL")


def check_access(address: str, credentials: str | None, *, allow_control: bool) -> None:
    """Refuse what would let somebody see or do something without saying who they are (Q07)."""
    if credentials and not _CREDENTIALS.fullmatch(credentials):
        raise UnfitCredentials("FLOWER_BASIC_AUTH is not NAME:PASSWORD")
    if not credentials and not is_loopback(address):
        raise OpenToOthers(f"{address} can be reached by others")
    if not credentials and allow_control:
        raise ControlByAnybody("--allow-control needs authentication, on this machine too")


def _until_told(arguments: list[str], redis_url: str) -> int:
    """Run Flower as a child: when it is told to end, its questions to workers hold it for long."""
    told = threading.Event()
    on_stop(lambda *_: told.set())
    reading, writing = os.pipe()
    kept = {
        name: value for name, value in os.environ.items()
        if not name.startswith(("FENCEPOST_GITHUB_", "FENCEPOST_TOKEN"))
    }  # fmt: skip
    environment = kept | {"FENCEPOST_REDIS_URL": redis_url, PARENT_FD: str(reading)}
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.cli.flower_process", *arguments],
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
