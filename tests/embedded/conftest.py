"""Homes with real servers, and real processes that start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.embedded import place, process, servers
from app.embedded.servers import Addresses

_STARTER = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from app.embedded import servers
print(json.dumps(asdict(servers.start(Path(sys.argv[1])))), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose servers run; for tests that leave them running."""
    home = tmp_path_factory.mktemp("home")
    servers.start(home)
    yield home
    servers.destroy(home)


@pytest.fixture
def addresses(home: Path) -> Addresses:
    """Where the servers of the common home answer."""
    return servers.start(home)


@pytest.fixture
def own_home(tmp_path: Path) -> Iterator[Path]:
    """A home that a test may do anything to; nothing runs there yet."""
    home = tmp_path / "home"
    yield home
    servers.destroy(home)


@pytest.fixture
def starter() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Another process that starts a home's servers, says where they answer, and stays."""
    begun: list[subprocess.Popen[str]] = []

    def begin(home: Path) -> subprocess.Popen[str]:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        begun.append(
            subprocess.Popen(
                [sys.executable, "-c", _STARTER, str(home)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
            )
        )  # fmt: skip
        return begun[-1]

    yield begin
    for one in begun:
        one.kill()
        one.communicate()


@pytest.fixture(scope="session")
def said() -> Callable[[subprocess.Popen[str]], Addresses]:
    """What a starter says once its servers answer."""

    def read(one: subprocess.Popen[str]) -> Addresses:
        assert one.stdout
        return Addresses(**json.loads(one.stdout.readline()))

    return read


@pytest.fixture(scope="session")
def processes() -> Callable[[Path], dict[int, str]]:
    """Every live process that has to do with a home's servers: pid and command."""

    def of(home: Path) -> dict[int, str]:
        where = place.locate(home)
        marks = (os.fsencode(where.data), where.name.encode())
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            is_ours = any(mark in command for mark in marks) and process.started_at(int(entry.name))
            if is_ours and int(entry.name) != os.getpid():
                found[int(entry.name)] = command.replace(b"\0", b" ").decode()
        return found

    return of


@pytest.fixture(scope="session")
def until() -> Callable[[Callable[[], object]], None]:
    """Wait for a condition, at most twenty seconds."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.001)

    return wait
