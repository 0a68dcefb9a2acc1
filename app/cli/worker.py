"""`fencepost worker`: one role, for deployments that start each by itself."""

from __future__ import annotations

import os
import sys
from datetime import timedelta

import click

from app import config
from app.cli import home, stack
from app.cli.duration import GRACE
from app.config import Settings
from app.kinds.registry import KINDS


@click.command()
@click.option("--slots", type=click.IntRange(1, 1000), default=4, show_default=True)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(list(KINDS)),
    help="Take only this kind of activity; may be repeated.  [default: every kind]",
)
@click.option("--grace", type=GRACE,
              help="How long running work may take to end after TERM.  [default: 6s]")  # fmt: skip
def command(slots: int, kinds: tuple[str, ...], grace: timedelta | None) -> None:
    """Run a worker in this process: TERM drains it, a second one hands its work back.

    It needs FENCEPOST_DATABASE_URL (the login fencepost_worker) and FENCEPOST_REDIS_URL. Without
    them it joins the stack that runs in FENCEPOST_HOME, if there is one.
    What still runs after the grace is handed back too, so that another worker begins it at once.
    """
    words = ["--slots", str(slots)]
    for kind in kinds:
        words += ["--kind", kind]
    if grace is not None:
        words += ["--grace", f"{grace.total_seconds():g}"]
    # Away from the folder one stands in: a repository may hold packages of our names.
    settings = config.read()
    os.chdir(home.prepare(settings.home, is_shared=True))
    os.environ.update(_logins(settings))
    sys.stdout.flush()
    # The app never imports the workers; the process becomes one.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "workers", *words])


def _logins(settings: Settings) -> dict[str, str]:
    """The URLs of the stack that runs here, where none were given."""
    found = None if settings.database_url is not None else stack.running(settings)
    return {} if found is None else stack.urls(found.worker_url, found.redis_url)
