"""`fencepost dispatcher`: one role, for deployments that start each by itself."""

from __future__ import annotations

import os

import click

from app import config
from app.cli import stack
from app.dispatcher.__main__ import main


@click.command()
def command() -> int:
    """Run the dispatcher in this process until SIGTERM.

    It needs FENCEPOST_DATABASE_URL (the login fencepost_app) and FENCEPOST_REDIS_URL. Without them
    it joins the stack that runs in FENCEPOST_HOME, if there is one.
    """
    settings = config.read()
    if settings.database_url is None and (found := stack.running(settings)) is not None:
        os.environ.update(stack.urls(found.app_url, found.redis_url))
    return main()
