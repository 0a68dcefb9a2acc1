"""`fencepost webhook`: hears a forge's webhooks, so that what waits looks sooner (G07)."""

from __future__ import annotations

import os

import click

from app import config
from app.cli import stack
from app.webhook.__main__ import main


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8480, show_default=True)
def command(host: str, port: int) -> int:
    """Hear webhooks in this process until SIGTERM.

    It needs FENCEPOST_WEBHOOK_SECRET, and FENCEPOST_DATABASE_URL (the login fencepost_app); without
    the latter it joins the stack that runs in FENCEPOST_HOME, if there is one. At the forge the
    hook's content type is application/json. Nothing depends on it: without it, looks come later.
    """
    settings = config.read()
    if settings.database_url is None and (found := stack.running(settings)) is not None:
        os.environ.update(stack.urls(found.app_url, found.redis_url))
    return main(["--host", host, "--port", str(port)])
