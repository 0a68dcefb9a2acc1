"""Runs that are kept apart, as whoever types the commands meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from doubles.models import ModelServer, Run, Say
from doubles.models.responses import Responses
from fixtures.agents import KEY, binary
from fixtures.command import Fencepost
from fixtures.shut_in import ROOT

from app import isolation
from app.config import SettingUnfit
from app.isolation import Apart, Isolation, IsolationUnavailable, User

APART = {"FENCEPOST_AGENT_ISOLATION": "network"}
OTHER = APART | ({"FENCEPOST_AGENT_USER": "65534"} if os.geteuid() == 0 else {})
UID = "65534" if os.geteuid() == 0 else str(os.geteuid())
LOOKS = (
    "echo begins; id -u; ls -d /proc/[0-9]* | wc -l; tail -n +3 /proc/net/dev | cut -d: -f1; "
    'ls "$1"; '
    'cat "$1"/embedded/passwords.json 2>/dev/null; git status --short; echo y >> src/a.py'
)


@pytest.mark.contract("E02", "E06", "O10")
def test_a_command_that_is_kept_apart_ends_in_a_request(own: Fencepost, repository: Path) -> None:
    """As another user, without a network or a sight of anybody, it still changes its tree."""
    check = "test $(id -u) = " + UID + " && ! cat /proc/net/dev | grep -q eth && grep -q y src/a.py"
    words = ("run", "--check", check, "--", "sh", "-c", LOOKS, "sh", str(own.home))

    said = own(*words, at=repository, **OTHER)

    assert said.code == 0, said.err
    assert said.out.startswith("pull request #1  ")
    seen = [line.rpartition("| ")[2].strip() for line in said.err.splitlines() if "| " in line]
    seen = seen[seen.index("begins") + 1 :]
    assert seen[0] == UID
    assert int(seen[1]) <= 6, "its init, itself, and what lists them"
    assert seen[2] == "lo"
    assert seen[3:5] == ["checkouts", "forge"], "the way to its checkout and what that borrows"
    assert not [line for line in seen if line.startswith(("{", "fatal"))], "no password; git works"
    assert not any((own.home / "checkouts").iterdir())


@pytest.mark.contract("E10", "E02", "O10")
def test_codex_that_is_kept_apart_ends_in_a_request(own: Fencepost, repository: Path) -> None:
    """Its model is let through to it, and its own sandbox holds inside."""
    script = [Run("echo y = 2 >> src/a.py"), Say("I added y.")]
    with ModelServer(Responses(), script) as server:
        said = own(
            "run", "--agent", "codex", "--check", "grep -q y src/a.py", "Add y.", at=repository,
            FENCEPOST_CODEX=binary("codex"), FENCEPOST_OPENAI_BASE_URL=f"{server.url}/v1",
            FENCEPOST_OPENAI_API_KEY=KEY, **OTHER,
        )  # fmt: skip

    assert said.code == 0, said.err
    assert said.out.startswith("pull request #1  ")


@pytest.mark.contract("E06")
def test_a_worker_that_cannot_keep_apart_takes_no_work(own: Fencepost) -> None:
    """Nothing runs less apart than was asked for."""
    said = own("worker", FENCEPOST_AGENT_USER="no-such-user")

    assert said.code == 2
    assert "FENCEPOST_AGENT_USER: there is no user no-such-user" in said.err
    assert "setting_unfit" in said.err


@pytest.mark.contract("E06")
def test_a_host_that_refuses_stops_the_worker(tmp_path: Path) -> None:
    """It says which step was refused and what to do, by a stable code."""
    done = refused(
        "workers", FENCEPOST_HOME=str(tmp_path / "home"), **APART,
        FENCEPOST_DATABASE_URL="postgresql://w@127.0.0.1:1/w", FENCEPOST_REDIS_URL="redis://127.0.0.1:1",
    )  # fmt: skip

    assert done.returncode == 2
    assert "code=isolation_unavailable" in done.stderr
    assert "unshare No space left on device" in done.stderr
    assert "FENCEPOST_AGENT_ISOLATION=off asks for none" in done.stderr


def test_doctor_says_what_a_host_refuses(tmp_path: Path) -> None:
    """Unasked for it is a warning, asked for a fault."""
    home = {"FENCEPOST_HOME": str(tmp_path / "home")}
    off = json.loads(refused("app.cli", "doctor", "--json", **home).stdout)
    on = json.loads(refused("app.cli", "doctor", "--json", **home, **APART).stdout)

    told = [
        (one["verdict"], one["code"], "unshare No space left" in one["says"])
        for said in (off, on) for one in said["checks"] if one["name"] == "isolation"
    ]  # fmt: skip
    assert told == [
        ("warning", "agent_is_not_isolated", True), ("fault", "isolation_unavailable", True),
    ]  # fmt: skip


def refused(module: str, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a module where the kernel makes no more process namespaces."""
    lock = 'echo 0 >/proc/sys/user/max_pid_namespaces && exec "$@"'
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", lock, "sh",
         sys.executable, "-P", "-m", module, *words],
        cwd=ROOT, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **settings},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_doctor_says_what_is_in_force_and_what_could_be(own: Fencepost) -> None:
    """Off is a warning with what it would bring; what is in force is tried, not believed."""
    off, on = own("doctor", "--json"), own("doctor", "--json", **OTHER)

    (told,) = [one for one in off.value["checks"] if one["name"] == "isolation"]
    assert (told["verdict"], told["code"]) == ("warning", "agent_is_not_isolated")
    assert "processes (a run sees no process" in told["says"]
    assert "FENCEPOST_AGENT_ISOLATION=network" in told["then"]
    (told,) = [one for one in on.value["checks"] if one["name"] == "isolation"]
    assert told["verdict"] == "ok"
    assert told["says"].startswith("in force: processes, network")
    assert ("user 65534" in told["says"] or "nobody" in told["says"]) is (os.geteuid() == 0)


@pytest.mark.parametrize(
    "setting",
    [
        {"FENCEPOST_AGENT_ISOLATION": "perhaps"},
        {"FENCEPOST_AGENT_USER": "0"},
        {"FENCEPOST_AGENT_USER": "no-such-user"},
        {"FENCEPOST_AGENT_USER": str(2**32)},
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_meant_is_refused(setting: dict[str, str]) -> None:
    """Before anything runs."""
    with pytest.raises(SettingUnfit, match=next(iter(setting))):
        isolation.read(setting)


def test_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept apart unless it is asked for; another user takes root."""
    assert isolation.read({}) == Isolation()
    assert isolation.read({"FENCEPOST_AGENT_ISOLATION": "processes"}).apart is Apart.PROCESSES
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert isolation.read({"FENCEPOST_AGENT_USER": "1234567"}) == Isolation(
        user=User("1234567", 1234567, 1234567)
    )
    assert isolation.read({"FENCEPOST_AGENT_USER": "1234567"}).is_on
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(IsolationUnavailable, match="as root"):
        isolation.read({"FENCEPOST_AGENT_USER": "1234567"})
