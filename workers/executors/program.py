"""A vendor's program on this host: found, asked for its version, and probed where that is new."""

from __future__ import annotations

import functools
import os
import re
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.config import Secret
from app.domain.agent import AgentKeyMissing, AgentMissing, AgentUnfit
from app.domain.event import EventType
from app.domain.identity import mint
from workers.executors.base import Noted
from workers.workspace.environment import OPERATION
from workers.workspace.process import Command, run

_PATIENCE = timedelta(minutes=1)  #: the first run of a program of 400 MB on a cold disk takes some
_ENVIRONMENT = {"PATH": os.defpath, "HOME": os.devnull}  #: for who only says what it is
_LONGEST = 120_000  #: bytes of one argument; Linux takes 128 KiB
_VERSION = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Tested:
    """Which versions were tested, and what any other one must know to be tried."""

    least: tuple[int, int, int]
    below: tuple[int, int, int]
    help: tuple[str, ...]  #: the arguments that print what it knows
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can be run."""

    path: str
    version: str
    notes: tuple[Noted, ...] = ()  #: it is not a version that was tested


def find(name: str, setting: str, tested: Tested) -> Program:
    """The program of a setting, or of PATH; AgentMissing, AgentUnfit.

    A version outside the tested range is asked for the options that it will be given.
    """
    path = shutil.which(name)
    if path is None:
        raise AgentMissing(
            f"no program {name} is here", hint=f"install it on the worker's PATH, or set {setting}"
        )
    stat = Path(path).stat()  # another file under the same name is asked again
    version = _version(path, stat.st_mtime_ns, stat.st_size)
    numbers = tuple(map(int, version.split(".")))
    if tested.least <= numbers < tested.below:
        return Program(path, version)
    _probe(path, version, tested)
    words = f"{name} {version} is not a version that was tested"
    return Program(path, version, (Noted(EventType.STEP, {"step": "warning", "text": words}),))


def asked(prompt: str | None) -> str:
    """The prompt as an argument; one that is too long for that is AgentUnfit."""
    words = prompt or ""
    if (size := len(words.encode())) > _LONGEST:
        raise AgentUnfit(
            f"the prompt has {size:,} bytes; {_LONGEST:,} are possible",
            hint="put it into a file of the repository, and name that file in the prompt",
        )
    return words


def key_of(key: Secret | None, setting: str) -> str:
    """The key of a model; AgentKeyMissing where the worker has none."""
    if key is None:
        raise AgentKeyMissing(
            f"{setting} is not set", hint=f"set {setting} or {setting}_FILE for the workers"
        )
    return key.word()


@functools.lru_cache(maxsize=16)
def _version(path: str, changed: int, size: int) -> str:
    found = _VERSION.search(_said(path, ("--version",)))
    if found is None:
        raise AgentUnfit(f"{path} --version names no version")
    return found[0]


def _probe(path: str, version: str, tested: Tested) -> None:
    said = _said(path, tested.help)
    if missing := [option for option in tested.options if option not in said]:
        raise AgentUnfit(f"{path} {version} does not know {', '.join(missing)}")


def _said(path: str, arguments: Sequence[str]) -> str:
    """What it writes about itself; like a run, it leaves no process behind."""
    command = Command((path, *arguments), Path("/"), _ENVIRONMENT, _PATIENCE, stall=None)
    marker = {OPERATION: mint("probe")}
    ended = run(command, on_output=lambda chunk: None, stop=threading.Event(), marker=marker)
    if ended.cause != "exited":
        raise AgentUnfit(f"{path} {' '.join(arguments)}: {ended.cause.replace('_', ' ')}")
    return ended.output.tail.decode("utf-8", "replace")
