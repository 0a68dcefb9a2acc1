"""What could keep runs apart on this host, tried one by one: for `fencepost doctor`."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from app import agents, isolation
from app.domain.errors import SetupError
from app.isolation import Apart, Isolation, User
from workers.selftest import in_memory, prove, prove_codex

_SOMEBODY = User("nobody", 65534, 65534)
_OPTIONS: Mapping[str, Isolation] = {
    "processes": Isolation(Apart.PROCESSES),
    "network": Isolation(Apart.NETWORK),
    "user": Isolation(Apart.OFF, _SOMEBODY),
}


def main() -> int:
    """Say of each, in a line of JSON, why it is not to be had; nothing where it is."""
    for what, option in _OPTIONS.items():
        if option.user is not None and os.geteuid() != 0:
            _say(what, "it takes root")
        else:
            _say(what, _why_not(partial(prove, in_memory(), option)))
    codex = agents.read().codex
    if codex.is_sandboxed and shutil.which(codex.program):
        with tempfile.TemporaryDirectory(prefix="fencepost-") as home:
            _say("codex", _why_not(partial(prove_codex, Path(home), isolation.read(), codex)))
    return 0


def _why_not(tried: Callable[[], None]) -> str:
    try:
        tried()
    except SetupError as fault:
        return fault.message
    return ""


def _say(what: str, why: str) -> None:
    sys.stdout.write(json.dumps({"what": what, "why": why}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
