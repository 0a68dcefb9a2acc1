"""What a worker proves on its own host before it takes work (E02, E06, Q08).

A small run under the real supervisor, with the environment and in the box that an agent will get,
looks about, and leaves a process that does not want to end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app import secrecy
from app.agents import Agent
from app.domain.errors import SetupError
from app.domain.identity import mint
from app.isolation import Apart, Isolation, IsolationUnavailable
from workers.executors import codex_sandbox
from workers.workspace.box import box_for
from workers.workspace.environment import INHERITED, agent_environment, markers
from workers.workspace.namespaces import KEPT
from workers.workspace.owner import own
from workers.workspace.presence import carrying
from workers.workspace.process import Command, Ended, run
from workers.workspace.removal import remove

_LOOKS = """
cd "$HOME" && cat /proc/$$/environ >environ && cat /proc/self/status >status || exit 1
cat /proc/[0-9]*/stat >processes 2>/dev/null
cat /proc/net/dev >network
port=$1; shift
for file; do cat -- "$file" >/dev/null 2>&1 && echo "$file" >>read; done
[ "$port" = 0 ] || git ls-remote "git://127.0.0.1:$port/" >/dev/null 2>&1 </dev/null
new=$(command -v setsid) || new=
($new sh -c 'trap "" TERM INT HUP; echo $$ >escaped; while :; do sleep 5; done' &)
while ! [ -s escaped ]; do sleep 0.01; done
"""
_GRACE = timedelta(milliseconds=20)
_PATIENCE = timedelta(seconds=30)
_ALWAYS = {"PATH", "HOME", "TMPDIR", *INHERITED}
_HARMLESS = sum(1 << right for right in KEPT)


class SelfTestFailed(SetupError):
    """A promise about runs does not hold on this host; the worker takes no work."""

    code = "selftest_failed"
    hint = "run the worker on a host like those in docs/operating.md, and report this"


def prove(place: AbstractContextManager[Path], isolation: Isolation) -> None:
    """A run starts clean, all of it can be ended, and it is denied what it should be denied.

    The place is a FENCEPOST_HOME. SelfTestFailed; IsolationUnavailable: more is asked than had.
    """
    with _said(), place as home, _place(home) as root, _listener() as heard:
        looked = _look(home, root, heard, isolation)
    _check_ending(looked)
    _check_environment(looked)
    if isolation.is_on:
        _check_denials(looked, isolation)


@contextmanager
def in_memory() -> Iterator[Path]:
    """A home for a moment, where there is no room for one on the disk."""
    with tempfile.TemporaryDirectory(prefix="fencepost-", dir="/dev/shm") as folder:
        yield Path(folder)


def prove_codex(home: Path, isolation: Isolation, codex: Agent) -> None:
    """Its own sandbox holds in a box like a run's, if it is here to be used; AgentUnfit."""
    path = shutil.which(codex.program)
    if path is None or not codex.is_sandboxed:
        return
    with _said(), _place(home) as root:
        box = box_for(isolation, home, (root / "tree", root / "scratch"), root / "git")
        codex_sandbox.prove(path, root / "scratch", box)


@dataclass(frozen=True, slots=True)
class _Looked:
    """What the run saw, and what was left of it."""

    ended: Ended
    is_left: bool
    has_escaped: bool
    marked: frozenset[str]
    environ: bytes
    status: dict[str, list[str]]
    processes: tuple[bytes, ...]
    interfaces: tuple[str, ...]
    read: tuple[str, ...]  #: files that it should not
    has_called: bool  #: somebody on this host's loopback


@contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise SelfTestFailed(f"no run can be tried here: {fault}") from fault


@contextmanager
def _place(home: Path) -> Iterator[Path]:
    """A folder among the checkouts, which a sweep removes if we cannot."""
    checkouts = home / "checkouts"
    checkouts.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = checkouts.resolve() / f"selftest-{os.getpid()}-{mint('s')[2:]}"
    ownership = own(root)
    if ownership is None:
        raise SelfTestFailed(f"somebody else holds {root}")
    try:
        for name in ("", "tree", "scratch", "git"):
            (root / name).mkdir(mode=0o700)
        yield root
    finally:
        remove(root)
        ownership.release()


@contextmanager
def _listener() -> Iterator[_Heard]:
    """A server of ours on this host's loopback that hangs up on whoever calls."""
    heard, is_over = _Heard(), threading.Event()

    def hang_up() -> None:
        while not is_over.is_set():
            with contextlib.suppress(TimeoutError):
                caller, _ = listening.accept()
                heard.has_called = True
                caller.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.02)
        heard.port = listening.getsockname()[1]
        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        try:
            yield heard
        finally:
            is_over.set()
            thread.join()


@dataclass
class _Heard:
    """Who called."""

    port: int = 0
    has_called: bool = False


def _look(home: Path, root: Path, heard: _Heard, isolation: Isolation) -> _Looked:
    marked = markers(root.name, root.name, 1)
    scratch = root / "scratch"
    environment = agent_environment(scratch, marked)
    secret = root / "git" / "config"
    secret.write_text("[core]\n")
    hidden = [secret, home / "logins.json", home / "embedded" / "passwords.json"]
    port = heard.port if isolation.apart is Apart.NETWORK else 0
    box = box_for(isolation, home, (root / "tree", scratch), root / "git")
    argv = ("/bin/sh", "-c", _LOOKS, "sh", str(port), *map(str, hidden))
    command = Command(argv, root / "tree", environment, _PATIENCE, None, _GRACE, box)
    ended = run(command, on_output=lambda _: None, stop=threading.Event(), marker=marked)
    if ended.cause == "not_isolated":
        raise IsolationUnavailable(f"this host does not let runs be kept apart: {ended.why}")
    if ended.exit != 0:
        said = ended.output.tail.decode("utf-8", "replace").strip()[-300:]
        raise SelfTestFailed(f"a run of {argv[0]} does not start here: {ended.cause} {said}")
    seen = scratch / "home"
    return _Looked(
        ended,
        bool(carrying(marked)),
        (seen / "escaped").exists(),
        frozenset(marked),
        (seen / "environ").read_bytes(),
        _fields((seen / "status").read_text()),
        tuple((seen / "processes").read_bytes().splitlines()),
        tuple(_interfaces((seen / "network").read_text())),
        tuple((seen / "read").read_text().splitlines()) if (seen / "read").exists() else (),
        heard.has_called,
    )


def _check_ending(looked: _Looked) -> None:
    if not looked.has_escaped:
        raise SelfTestFailed(f"a run's child did not start: {looked.ended.cause}")
    if looked.ended.survivors or looked.is_left:
        raise SelfTestFailed("a process of a run that ignores TERM outlived it")


def _check_environment(looked: _Looked) -> None:
    given = dict(_pair(one) for one in looked.environ.split(b"\0") if one)
    strange = [
        name for name in given
        if name not in _ALWAYS | looked.marked and not name.startswith("LC_")
    ]  # fmt: skip
    if strange:
        raise SelfTestFailed(f"a run is given {', '.join(sorted(strange))} of our environment")
    if any(form.bytes in looked.environ for form in secrecy.HELD.forms() if form.is_strong):
        raise SelfTestFailed("a credential of the worker stands in a run's environment")


def _check_denials(looked: _Looked, isolation: Isolation) -> None:
    ours = _began(Path("/proc/self/stat").read_bytes())
    faults = {
        "it sees processes of others": any(_began(one) <= ours for one in looked.processes),
        f"it can read {', '.join(looked.read)}": bool(looked.read),
        "it keeps rights that lead out": bool(int(looked.status["CapEff"][0], 16) & ~_HARMLESS),
        "it can gain rights": looked.status.get("NoNewPrivs") != ["1"],
    }
    if isolation.apart is Apart.NETWORK:
        faults["it reaches this host's loopback"] = looked.has_called
        faults["it has a network besides its loopback"] = set(looked.interfaces) != {"lo"}
    if isolation.user is not None:
        wanted = [str(isolation.user.uid)] * 4
        faults["it is not the other user"] = looked.status.get("Uid") != wanted
        faults["it keeps our groups"] = bool(looked.status.get("Groups"))
    if found := [fault for fault, is_so in faults.items() if is_so]:
        raise IsolationUnavailable(f"a run is not kept apart here: {'; '.join(found)}")


def _pair(entry: bytes) -> tuple[str, bytes]:
    name, _, value = entry.partition(b"=")
    return os.fsdecode(name), value


def _fields(status: str) -> dict[str, list[str]]:
    lines = (line.partition(":") for line in status.splitlines())
    return {name: words.split() for name, _, words in lines}


def _interfaces(table: str) -> list[str]:
    return [line.partition(":")[0].strip() for line in table.splitlines() if ":" in line]


def _began(stat: bytes) -> int:
    """When a process began, in ticks since the machine did: the same in every namespace."""
    return int(stat.rpartition(b")")[2].split()[19])
