"""`fencepost down`."""

from __future__ import annotations

import signal
from datetime import timedelta
from pathlib import Path

import click

from app import config
from app.cli import left_behind, record, tenancy
from app.cli.duration import GRACE
from app.cli.home import check_ours
from app.cli.record import ParentKind
from app.cli.tail import Tail
from app.embedded import process, servers

#: Beyond the grace: for handing back, for killing, and for the servers' own end.
_MORE = 60.0


@click.command()
@click.option("--grace", type=GRACE, default="60s", show_default=True,
              help="How long running work may take to end.")  # fmt: skip
@click.option("--purge", is_flag=True,
              help="Also delete the databases of homes that are gone; root has such.")  # fmt: skip
def command(grace: timedelta, purge: bool) -> None:
    """Stop a running `up`, its roles, and the embedded servers; also what a kill left behind."""
    home = config.home()  # the other settings may be unfit, and must not keep it from ending
    check_ours(home)
    tail = Tail(home, "worker")
    stopped = _stop_parents(home, grace.total_seconds())
    left = record.sweep(home)
    handed_back = sum(" claim.released " in line for line in tail.lines())
    served = servers.running(home) is not None
    is_free = tenancy.stop_unless_used(home) if home.is_dir() else True
    if stopped:
        print("stopped the stack")
    if left:
        print(f"ended {left} processes that a dead parent left behind")
    if handed_back:
        print(f"handed back unfinished work ({handed_back}): the next stack goes on with it")
    if not is_free:
        print("left the servers running: another command uses them")
    elif served and not stopped:
        print("stopped the servers")
    elif not stopped and not left:
        print("nothing was running")
    left_behind.purge() if purge else left_behind.tell()
    print("next: fencepost up, or fencepost run -- COMMAND")


def _stop_parents(home: Path, grace: float) -> int:
    """Ask every `up` to end, and wait; one that does not is killed with its roles."""
    running = [
        one for one in record.read_all(home)
        if one.kind is ParentKind.UP and process.is_alive(one.process)
    ]  # fmt: skip
    for one in running:
        process.end(one.process, (signal.SIGTERM, grace), (signal.SIGTERM, _MORE))
    return len(running)
