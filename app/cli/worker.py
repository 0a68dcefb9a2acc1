"""`fencepost worker`: one role, for deployments that start each by itself."""

from __future__ import annotations

import os
import sys

import click

from app import config
from app.cli import home


@click.command()
@click.option("--slots", type=click.IntRange(1, 1000), default=4, show_default=True)
def command(slots: int) -> None:
    """Run a worker in this process: TERM drains it, a second one hands its work back.

    It needs FENCEPOST_DATABASE_URL (the login fencepost_worker) and FENCEPOST_REDIS_URL.
    """
    # Away from the folder one stands in: a repository may hold packages of our names.
    os.chdir(home.prepare(config.read().home))
    sys.stdout.flush()
    # The app never imports the workers; the process becomes one.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "workers", "--slots", str(slots)])
