"""What `fencepost doctor` looks at of what keeps runs apart: what is in force, what could be."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping

from app import agents, isolation
from app.cli.doctor_check import Check, fault, ok, warning
from app.config import Settings
from app.isolation import Apart, Isolation

#: What can be had → what it would separate.
_GAINS: Mapping[str, str] = {
    "processes": "a run sees no process of others and nothing of FENCEPOST_HOME",
    "network": "and reaches its model alone",
    "user": "and reads no file that others may not",
}
_PATIENCE = 120  #: seconds


def apart(settings: Settings) -> Iterator[Check]:
    """What is in force, then what this host would allow besides; each is tried, not guessed."""
    asked = isolation.read()
    why = _tried()
    lacking = [what for what in _wanted(asked) if why.get(what)]
    possible = [what for what in _GAINS if not why.get(what)]
    if lacking:
        says = "; ".join(f"{what}: {why[what]}" for what in lacking)
        yield fault("isolation", "isolation_unavailable", f"asked for, and not to be had: {says}",
                    "let this host do it, as docs/agents.md says, or ask for less")  # fmt: skip
    elif asked.is_on:
        yield ok("isolation", f"in force: {_told(asked)}; possible here: {', '.join(possible)}")
    elif possible:
        gain = ", ".join(f"{what} ({_GAINS[what]})" for what in possible)
        yield warning("isolation", "agent_is_not_isolated", f"off; possible here: {gain}",
                      _then(possible))  # fmt: skip
    else:
        says = f"off, and not to be had here: {why['processes']}"
        yield warning("isolation", "agent_is_not_isolated", says,
                      "run the workers in a container or a machine of their own")  # fmt: skip
    yield from _sandbox(why.get("codex"))


def _tried() -> dict[str, str]:
    """What → why it is not to be had; empty where it is. A worker's own self-test tries it."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "workers.trial"], stdin=subprocess.DEVNULL,
        capture_output=True, timeout=_PATIENCE, check=False, cwd="/",
    )  # fmt: skip
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return dict.fromkeys(_GAINS, "it could not be tried") | {
        one["what"]: one["why"] for one in said
    }


def _wanted(asked: Isolation) -> list[str]:
    found = [] if asked.apart is Apart.OFF else [str(asked.apart)]
    return found if asked.user is None else [*found, "user"]


def _told(asked: Isolation) -> str:
    names = ["processes"] + ["network"] * (asked.apart is Apart.NETWORK)
    return ", ".join(names + ([] if asked.user is None else [f"user {asked.user.name}"]))


def _then(possible: list[str]) -> str:
    setting = "network" if "network" in possible else "processes"
    also = ", and FENCEPOST_AGENT_USER" if "user" in possible else ""
    return f"set FENCEPOST_AGENT_ISOLATION={setting}{also} for the workers"


def _sandbox(why: str | None) -> Iterator[Check]:
    codex = agents.read().codex
    if why:
        then = "set FENCEPOST_CODEX_SANDBOX=off where the workers are in one of yours"
        yield warning("isolation", "agent_unfit", why, then)
    elif why is not None:
        yield ok("isolation", "Codex's own sandbox holds, also in what is in force")
    elif not codex.is_sandboxed:
        yield ok("isolation", "Codex's own sandbox is off, as asked")
