"""The server in a process of its own, and its door from here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class DoorShut(Exception):
    """What was asked of the door failed there; the text says why."""


class Remote:
    """The methods of `Door`, called over HTTP with keyword arguments."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.api = f"{self.url}/api/v3"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            return self.ask(name, arguments)

        return call

    def ask(self, name: str, arguments: dict[str, Any]) -> Any:
        """What the method gives, or DoorShut."""
        request = urllib.request.Request(
            f"{self.url}/_control/{name}", json.dumps(arguments).encode(), method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise DoorShut(json.load(error)["error"]) from None


@contextmanager
def running(folder: Path) -> Iterator[Remote]:
    """A server in a process of its own, which ends with this block or with this process."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-m", "doubles.github", "--folder", str(folder), "--with-parent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        line = process.stdout.readline()
        if not line.startswith("http"):
            raise DoorShut(f"the server did not start: {line!r}")
        yield Remote(line.strip())
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
