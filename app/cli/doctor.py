"""`fencepost doctor`: what an installation lacks, and what mends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import click

from app import config
from app.cli import (
    doctor_agents,
    doctor_embedded,
    doctor_host,
    doctor_isolation,
    doctor_repository,
    doctor_servers,
    doctor_stack,
)
from app.cli.doctor_check import Check, Verdict, of_error, ok, tried
from app.cli.failing import DONE, FAILED
from app.cli.shown import as_json, painted, plain
from app.config import Settings
from app.domain.errors import SetupError
from app.kinds import registry

#: What is looked at, in the order in which one thing stands on another.
LOOKS: Mapping[str, Callable[[Settings], Iterable[Check]]] = {
    "python": doctor_host.python,
    "git": doctor_host.git,
    "home": doctor_host.home,
    "disk": doctor_host.disk,
    "secrets": doctor_host.secrets,
    "programs": doctor_embedded.programs,
    "socket": doctor_embedded.socket,
    "user": doctor_embedded.user,
    "servers": doctor_embedded.life,
    "database": doctor_servers.database,
    "redis": doctor_servers.redis,
    "stack": doctor_stack.stacks,
    "checkouts": doctor_stack.checkouts,
    "separation": doctor_embedded.separation,
    "isolation": doctor_isolation.apart,
    "github": doctor_repository.account,
    "agents": doctor_agents.installed,
}
#: What cannot be looked at without a home, and what not without servers either.
INSIDE = {"secrets", "socket", "servers", "stack", "checkouts"}
ANSWERING = {"database", "redis"}
_COLORS = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.FAULT: "red"}


@click.command()
@click.option("--json", "in_full", is_flag=True, help="In full, for programs.")
@click.option(
    "--repo", metavar="URL", help="A repository instead: what it and the credential allow."
)
def command(in_full: bool, repo: str | None) -> int:
    """Check the installation, a line a check, and say what to mend; exit 1 on any fault.

    It changes nothing and starts nothing, so it may run beside a working stack. With --repo it
    makes a ref at GitHub and takes it away again.
    """
    checks = []
    for check in examined() if repo is None else doctor_repository.examined(config.read(), repo):
        checks.append(check)
        if not in_full:
            print(_line(check))
    counts = Counter(check.verdict for check in checks)
    if in_full:
        as_json({"checks": checks, **{v.value: counts[v] for v in Verdict}})
    else:
        print(f"{counts[Verdict.FAULT]} faults, {counts[Verdict.WARNING]} warnings")
        print("next: " + (_then(checks) if repo is None else _then_run(checks, repo)))
    return FAILED if counts[Verdict.FAULT] else DONE


def examined() -> Iterator[Check]:
    """Every check; settings that cannot be read are a fault, and the rest goes on without them."""
    try:
        settings = config.read()
        registry.check(settings.lease)
        yield ok("settings", "servers of your own" if settings.database_url else "embedded servers")
    except SetupError as error:
        yield of_error("settings", error)
        settings = Settings(config.home(), None, None, None)
    lost: set[str] = set()
    for name, look in LOOKS.items():
        for check in () if name in lost else tried(name, partial(look, settings)):
            yield check
            if name == "home" and check.verdict is Verdict.FAULT:
                lost = INSIDE if settings.database_url else INSIDE | ANSWERING


def _line(check: Check) -> str:
    verdict = painted(f"{check.verdict:<8}", _COLORS[check.verdict])
    mend = f" ({check.code}); next: {plain(check.then or '')}" if check.code else ""
    return f"{verdict} {check.name:<10}  {plain(check.says)}{mend}"


def _then_run(checks: list[Check], repo: str) -> str:
    first = next((one for one in checks if one.verdict is Verdict.FAULT), None)
    return first.then or "" if first else f"fencepost run --repo {repo} -- COMMAND"


def _then(checks: list[Check]) -> str:
    first = next((one for one in checks if one.verdict is Verdict.FAULT), None)
    return first.then or "fencepost status" if first else "fencepost up, or fencepost status"
