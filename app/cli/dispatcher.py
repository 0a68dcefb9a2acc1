"""`fencepost dispatcher`: one role, for deployments that start each by itself."""

from __future__ import annotations

import click

from app.dispatcher.__main__ import main


@click.command()
def command() -> int:
    """Run the dispatcher in this process until SIGTERM.

    It needs FENCEPOST_DATABASE_URL (the login fencepost_app) and FENCEPOST_REDIS_URL.
    """
    return main()
