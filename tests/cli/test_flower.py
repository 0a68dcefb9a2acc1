"""Flower as a role of ours: readable names, no power, and an end."""

from __future__ import annotations

import base64
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.database import Database
from fixtures.role import naming
from fixtures.waiting import until
from flower.urls import handlers

from app.cli.flower import ControlByAnybody, OpenToOthers, UnfitCredentials, check_access
from app.cli.flower_process import readable
from app.domain.errors import Refused
from app.embedded import valkey
from app.embedded.servers import Addresses

NOBODY, OPS = "", "ops:s3cret"
#: Pages that show nothing of queues, workers and deliveries.
EMPTY = ("/healthcheck", "/static/x", "/login", "/logout")


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


@pytest.fixture(params=[False, True], ids=["read-only", "control"])
def open_flower(
    request: pytest.FixtureRequest, tmp_path: Path, database: Database, embedded: Addresses
) -> Iterator[tuple[int, bool]]:
    """The port of a Flower that others could reach, and whether it may control.

    What its environment says against that does not count.
    """
    port, control = valkey.free_port(), bool(request.param)
    urls = {
        "FENCEPOST_DATABASE_URL": database.app_url,
        "FENCEPOST_REDIS_URL": embedded.redis_url,
        "FLOWER_BASIC_AUTH": OPS,
        "FLOWER_READ_ONLY": "false",
        "FLOWER_UNIX_SOCKET": str(tmp_path / "socket"),
    }
    words = ["--address", "0.0.0.0", "--port", str(port)] + ["--allow-control"] * control
    begun = Fencepost(tmp_path / "home", urls).begin("flower", *words)
    until(lambda: _asked(port, "GET", "/healthcheck", NOBODY) == 200, 40)
    yield port, control
    begun.terminate()
    begun.communicate(timeout=10)


@pytest.mark.contract("Q07")
def test_beyond_loopback_nothing_is_shown_to_nobody(open_flower: tuple[int, bool]) -> None:
    """Each address asks who it is, that of Flower's metrics too; a wrong password is nobody."""
    port, _ = open_flower
    paths = [path for path in _every_path() if not path.startswith(EMPTY)]

    shown = {
        (method, path, who): code
        for path in paths
        for method in ("GET", "POST")
        for who in (NOBODY, "ops:guess", "ops:")
        if (code := _asked(port, method, path, who)) not in (401, 405)
    }

    assert "/metrics" in paths
    assert len(paths) > 20
    assert shown == {}
    assert _asked(port, "GET", "/metrics", OPS) == 200


@pytest.mark.contract("Q07")
def test_control_is_taken_only_where_it_was_allowed(open_flower: tuple[int, bool]) -> None:
    """Who they are is not enough: Flower takes no orders, unless it was started to."""
    port, control = open_flower

    answer = _asked(port, "POST", "/api/worker/shutdown/nobody", OPS)

    assert answer == (404 if control else 403)


@pytest.mark.contract("Q07")
@pytest.mark.parametrize(
    ("address", "credentials", "control", "refusal"),
    [
        ("127.0.0.1", None, False, None), ("::1", None, False, None),
        ("127.0.0.1", OPS, True, None), ("0.0.0.0", OPS, False, None),
        ("0.0.0.0", "a:b,c:d", True, None),
        ("0.0.0.0", None, False, OpenToOthers), ("0.0.0.0", "", False, OpenToOthers),
        ("127.0.0.1", None, True, ControlByAnybody), ("localhost", "", True, ControlByAnybody),
        ("0.0.0.0", "ops", False, UnfitCredentials), ("0.0.0.0", ",", False, UnfitCredentials),
        ("0.0.0.0", "ops:", False, UnfitCredentials), ("0.0.0.0", ":pw", True, UnfitCredentials),
        ("127.0.0.1", "ops:pass,word", False, UnfitCredentials),
    ],
)  # fmt: skip
def test_access_needs_whole_credentials(
    address: str, credentials: str | None, control: bool, refusal: type[Refused] | None
) -> None:
    """Others are asked who they are, and so is whoever may control; half a password is none."""
    if refusal is None:
        check_access(address, credentials, allow_control=control)
        return
    with pytest.raises(refusal) as refused:
        check_access(address, credentials, allow_control=control)

    assert "FLOWER_BASIC_AUTH" in refused.value.advice
    assert not credentials or credentials not in refused.value.message


def test_somebody_elses_task_is_shown_as_it_is() -> None:
    """Arguments that are not ours are left alone, whatever they are."""

    class Task:
        kwargs: str | None = None

    for kwargs in (None, "", "{'a': 1}", "not python(", "[1, 2]", "{'attempt': 1, }..."):
        task = Task()
        task.kwargs = kwargs
        assert readable(task).kwargs == kwargs


def _every_path() -> list[str]:
    """A path for each pattern that Flower answers to."""
    patterns = [getattr(one, "regex", None) or re.compile(one[0]) for one in handlers]
    paths = [re.sub(r"\(.*?\)", "x", one.pattern).rstrip("$?") for one in patterns]
    return [path for path in paths if path.startswith("/")]


def _asked(port: int, method: str, path: str, who: str) -> int | None:
    """The status that somebody gets; None while nobody answers."""
    url = f"http://127.0.0.1:{port}{path}"
    request = urllib.request.Request(url, method=method, data=b"" if method == "POST" else None)
    if who:
        request.add_header("Authorization", f"Basic {base64.b64encode(who.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except OSError:
        return None


def _page(port: int, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text
    except OSError:
        return ""
