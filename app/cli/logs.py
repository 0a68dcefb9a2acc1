"""`fencepost logs`."""

from __future__ import annotations

import sys
import time

import click

from app import config
from app.cli import stack
from app.cli.follow import Follower, News, follow
from app.cli.shown import elapsed, json_line, plain
from app.cli.telling import journal_sentence, output_lines
from app.store.views.artifacts import artifact_bytes
from app.store.views.attempt import AttemptSeen
from app.store.views.finding import find
from app.store.views.journal import Written


@click.command()
@click.argument("attempt")
@click.option("--follow", "stay", is_flag=True, help="Go on until the attempt has ended.")
@click.option("--json", "as_json", is_flag=True, help="One line for each event.")
@click.option("--artifact", "name", help="Print this artifact instead: agent-output, diff.")
def command(attempt: str, stay: bool, as_json: bool, name: str | None) -> None:
    """Show what happened to an attempt and what it wrote, in the order of its sequence."""
    with stack.opened(config.read()) as store:
        with store.begin() as tx:
            found = find(tx, attempt, "attempt")
            if name is not None:
                return _print(artifact_bytes(tx, found.world, found.id, name))
        follower = Follower(store, found.world, found.id)

        def show(seen: AttemptSeen, news: list[News]) -> None:
            written = [(one.step, one.told) for one in news if isinstance(one.told, Written)]
            for step, told in sorted(written, key=lambda one: one[1].sequence):
                _tell(seen, step, told, as_json=as_json)

        if stay:
            follow(follower, show, lambda seen: time.sleep(0.2))
        else:
            while (looked := follower.look())[1]:
                show(*looked)
    return None


def _tell(seen: AttemptSeen, step: str, event: Written, *, as_json: bool) -> None:
    if as_json:
        return json_line({"sequence": event.sequence, "step": step, "at": event.at,
                          "fence": event.fence, "type": event.type,
                          "value": event.value})  # fmt: skip
    start = f"{elapsed(event.at - seen.created_at):>9}  {step:<13}"
    words = journal_sentence(event)
    for line in [words] if words else [f"| {line}" for line in output_lines(event)]:
        print(start + line, flush=True)
    return None


def _print(artifact: bytes) -> None:
    """As it is, for programs and files; on a terminal so that it cannot steer it."""
    if not sys.stdout.isatty():
        return click.echo(artifact, nl=False)
    for line in artifact.decode("utf-8", "replace").split("\n"):
        print(plain(line.expandtabs()))
    return None
