"""Flower as a role of ours: readable names, no power, and an end."""

from __future__ import annotations

import signal
import urllib.error
import urllib.request

import pytest
from fixtures.command import Fencepost
from fixtures.role import naming
from fixtures.waiting import until

from app.embedded import valkey


@pytest.mark.contract("Q07")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_flower_shows_the_worker_and_ends(up: Fencepost, number: signal.Signals) -> None:
    """On loopback it shows the workers by name, takes no orders, and soon ends when told."""
    port = valkey.free_port()
    flower = up.begin("flower", "--port", str(port))

    until(lambda: "fencepost-" in _page(port, "/workers"), 40)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/task/revoke/x", data=b"", timeout=5)
    flower.send_signal(number)
    out, _ = flower.communicate(timeout=4)

    assert refused.value.code in (401, 403)
    assert flower.returncode == 0
    assert str(port) in out
    assert not [line for line in naming(up.home).values() if "flower" in line]


def test_flower_beyond_loopback_asks_who_it_is(up: Fencepost) -> None:
    """Without credentials it does not listen where others could reach it."""
    said = up("flower", "--address", "0.0.0.0")

    assert said.code == 2
    assert "(flower_without_authentication)" in said.err


def _page(port: int, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text
    except OSError:
        return ""
