"""What is shut in sees, reaches and survives nothing; what it does inside is told as ever."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from doubles.models import Hang, Run, Say, Write
from doubles.models.messages import Messages
from fixtures.agents import NETWORK, SOMEBODY_ELSE, Stand, claude, codex
from fixtures.encrypted import EncryptedModel
from fixtures.shut_in import NOBODY, Site, copy_code, site

from app.isolation import Apart, Isolation, IsolationUnavailable, User
from workers import selftest
from workers.selftest import SelfTestFailed, in_memory, prove
from workers.workspace.box import box_for
from workers.workspace.checkout import open_checkout
from workers.workspace.environment import agent_environment
from workers.workspace.presence import carrying
from workers.workspace.process import Command, run

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
OTHER = [NOBODY, NOBODY]

#: A process in a session of its own, without its parent, deaf to TERM, holding the output open.
ESCAPEE = """
import os, signal, time
told, tell = os.pipe()
if os.fork():
    os.read(told, 1)
    print("ready", flush=True)
    {after}
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(name, signal.SIG_IGN)
os.write(tell, b"!")
while True:
    time.sleep(1)
"""
CONNECT = """
import socket
for address in {addresses}:
    try:
        socket.create_connection(address, 5)
        print("reached", flush=True)
    except OSError as fault:
        print(fault.errno, flush=True)
"""


@pytest.fixture(scope="module")
def code() -> Iterator[Path]:
    """Our packages where everybody may read them."""
    with tempfile.TemporaryDirectory(prefix="fencepost-isolation-") as folder:
        yield copy_code(Path(folder))


@pytest.fixture(params=["us", "somebody"])
def at(request: pytest.FixtureRequest, code: Path) -> Iterator[Site]:
    """A worker that is us, and one of an ordinary user; nothing that it ran is left."""
    uid = NOBODY if request.param == "somebody" and os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="fencepost-isolation-") as folder:
        made = site(Path(folder), uid, code)
        yield made
        assert carrying(made.marker) == []


@pytest.fixture
def ours(code: Path) -> Iterator[Site]:
    """A worker that is us alone."""
    with tempfile.TemporaryDirectory(prefix="fencepost-isolation-") as folder:
        made = site(Path(folder), None, code)
        yield made
        assert carrying(made.marker) == []


class Server(ThreadingHTTPServer):
    """One that many may call at once."""

    request_queue_size = 128


@contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A server of ours on loopback, and what it was sent; it sends back each body."""
    heard: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", str(len(heard[-1])))
            self.end_headers()
            self.wfile.write(heard[-1])

        def log_message(self, *parts: object) -> None:
            """Say nothing."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_port, heard
        server.shutdown()


@pytest.mark.contract("E06")
@pytest.mark.parametrize("number", [0, 3, 255])
def test_the_exit_code_is_the_agents(at: Site, number: int) -> None:
    """An init stands between; its own end is nobody's business."""
    ended = at.sh(f"echo out; echo err >&2; exit {number}")

    assert (ended["exit"], ended["signal"], ended["cause"]) == (number, None, "exited")
    assert (ended["said"], ended["survivors"]) == ("out\nerr\n", 0)


def test_the_signal_is_the_agents(at: Site) -> None:
    """What a signal ended is told with it, though an init cannot end so."""
    ended = at.sh("kill -SEGV $$")

    assert (ended["exit"], ended["signal"], ended["cause"]) == (None, signal.SIGSEGV, "exited")


@pytest.mark.parametrize(
    ("argv", "cause"),
    [
        (("no-such-program",), "not_found"),
        (("/",), "not_executable"),
        (("nul\0",), "not_executable"),
    ],
)
def test_what_cannot_run_says_so(at: Site, argv: tuple[str, ...], cause: str) -> None:
    """As it does outside."""
    assert at.run(*argv)["cause"] == cause


@pytest.mark.contract("Q08", "O09")
def test_term_reaches_all_of_it(at: Site) -> None:
    """The agent and a child in a session of its own hear TERM, and say their last words."""
    child = "trap 'echo child; exit' TERM; echo up; while :; do sleep 0.02; done"
    script = f"""setsid sh -c "{child}" 2>/dev/null & trap 'wait; echo bye; exit 5' TERM; wait"""

    ended = at.sh(script, stop_at="up", limits={"grace": 5})

    assert (ended["cause"], ended["exit"]) == ("stopped", 5)
    assert sorted(ended["said"].split()) == ["bye", "child", "up"]
    assert len(ended["found"]) >= 3, "its processes are found by their markers from outside"
    assert ended["left"] == []


@pytest.mark.contract("E06", "Q08")
@pytest.mark.parametrize("after", ["", "time.sleep(600)"], ids=["ends", "stays"])
def test_nothing_escapes(at: Site, after: str) -> None:
    """A double fork into a new session, deaf to TERM, ends with the agent or with the wish."""
    ended = at.py(ESCAPEE.format(after=after), stop_at="ready", stops=bool(after))

    assert ended["cause"] == ("stopped" if after else "exited")
    assert (ended["survivors"], ended["left"]) == (0, [])


@pytest.mark.contract("E07")
@pytest.mark.parametrize("limit", ["deadline", "stall"])
def test_limits_hold(at: Site, limit: str) -> None:
    """Time runs out in there as it does outside."""
    ended = at.sh("echo once; exec sleep 60", limits={limit: 0.5})

    assert ended["cause"] == {"deadline": "deadline", "stall": "stalled"}[limit]
    assert ended["signal"] == signal.SIGTERM


@pytest.mark.contract("E06")
@pytest.mark.parametrize("whom", ["worker", "supervisor", "init"])
def test_a_kill_ends_everything_within(at: Site, whom: str, until: Callable[..., None]) -> None:
    """Whoever of those above is killed, the kernel or the supervisor ends all that is inside."""
    worker = at.begin(
        at.python, "-c", ESCAPEE.format(after="time.sleep(600)"), stop_at="ready", stops=False
    )
    assert worker.stdout is not None
    started = json.loads(worker.stdout.readline())["pid"]
    found = json.loads(worker.stdout.readline())["found"]
    init = parent_of(started)
    supervisor = parent_of(init)
    assert {started, init, supervisor} <= set(found)

    os.kill({"worker": worker.pid, "supervisor": supervisor, "init": init}[whom], signal.SIGKILL)

    until(lambda: carrying(at.marker) == [], seconds=6)
    out, _ = worker.communicate(timeout=20)
    if whom != "worker":
        ended = json.loads(out)
        cause = {"supervisor": "lost", "init": "exited"}[whom]
        assert (ended["cause"], ended["survivors"]) == (cause, 0)
        assert ended["signal"] == (signal.SIGKILL if whom == "init" else None)


@pytest.mark.contract("E06")
def test_a_killed_supervisor_takes_the_run_along(ours: Site, until: Callable[..., None]) -> None:
    """The kernel does it: no worker has to look for what is left."""
    worker = ours.begin("sleep", "600")
    assert worker.stdout is not None
    started = json.loads(worker.stdout.readline())["pid"]
    init = parent_of(started)
    os.kill(worker.pid, signal.SIGSTOP)

    os.kill(parent_of(init), signal.SIGKILL)

    until(lambda: carrying(ours.marker) == [])
    assert not Path(f"/proc/{started}").exists()
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()


@pytest.mark.contract("E02", "E06")
def test_it_sees_no_process_of_others(at: Site) -> None:
    """Neither a pid nor an environment of anybody outside; it cannot signal them either."""
    program = (
        "import os\n"
        "pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]\n"
        "print(len(pids), max(pids), os.getpid())\n"
        f"try: os.kill({os.getpid()}, 0)\n"
        "except OSError as fault: print(type(fault).__name__)\n"
    )

    ended = at.py(program)

    assert ended["said"].split() == ["2", "2", "2", "ProcessLookupError"], "its init, and itself"


@pytest.mark.contract("E02")
def test_it_sees_nothing_else_of_the_home(at: Site) -> None:
    """Of FENCEPOST_HOME there is its tree, its scratch and what is lent, which it may not write."""
    root = at.tree.parent
    ended = at.sh(
        f"cat {at.home}/passwords.json {root}/git/config 2>/dev/null; ls {root}; "
        f"echo mine > {root}/scratch/x; echo mine > made; cat {at.home}/lent/object; "
        f"touch {at.home}/lent/y {at.home}/z 2>/dev/null || echo denied; "
        f"umount {at.home} 2>/dev/null || unshare -Urm umount {at.home} 2>/dev/null || echo covered"
    )

    assert ended["said"].split() == ["scratch", "tree", "lent", "denied", "covered"]
    assert (at.tree / "made").read_text() == "mine\n"
    assert not (at.home / "z").exists()


def test_nothing_is_mounted_outside(at: Site, until: Callable[..., None]) -> None:
    """What a run's mounts are is nobody else's concern, while it runs and after."""
    before = Path("/proc/self/mountinfo").read_text()
    worker = at.begin("sleep", "600", network=True)
    assert worker.stdout is not None
    worker.stdout.readline()

    assert Path("/proc/self/mountinfo").read_text() == before

    worker.kill()
    worker.communicate()
    until(lambda: carrying(at.marker) == [])
    assert Path("/proc/self/mountinfo").read_text() == before


@pytest.mark.contract("E06")
def test_it_keeps_no_right_that_leads_out(at: Site) -> None:
    """Nothing can be mounted, traced or loaded; no program gives it more than it has."""
    said = at.sh("cat /proc/self/status")["said"]
    status = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)

    assert int(status["CapEff"], 16) & 0xFFFFFFFF_7FFBFA04 == 0
    assert status["NoNewPrivs"] == "1"
    if at.uid is not None:
        assert int(status["CapEff"], 16) == 0


def test_it_reaches_nobody(at: Site) -> None:
    """Neither a server on this host's loopback nor an address beyond; its own loopback works."""
    with listening() as (port, heard):
        addresses = f"[('127.0.0.1', {port}), ('192.0.2.1', 80)]"
        inside = at.py(CONNECT.format(addresses=addresses), network=True)
        outside = at.py(CONNECT.format(addresses=addresses.split("), (")[0] + ")]"))
        own = at.py(
            "import socket; s = socket.create_server(('127.0.0.1', 0)); "
            "socket.create_connection(s.getsockname()); print('own')",
            network=True,
        )

    assert inside["said"].split() == ["111", "101"], "refused, and unreachable"
    assert outside["said"] == "reached\n"
    assert own["said"] == "own\n"
    assert heard == []


POST = """
import sys, urllib.request
sent = bytes(range(256)) * 20_000
for _ in range(3):
    got = urllib.request.urlopen("http://127.0.0.1:{port}/", sent, timeout=20).read()
    print(got == sent, flush=True)
"""
TUNNEL = """
import http.client, os, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
for port in {ports}:
    line = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=20)
    line.set_tunnel("127.0.0.1", port)
    try:
        line.request("POST", "/", b"through")
        print(line.getresponse().read().decode(), flush=True)
    except OSError as fault:
        print(fault, flush=True)
line = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=20)
line.request("GET", "http://127.0.0.1:{ports[0]}/")
print(line.getresponse().status, flush=True)
"""


def test_it_reaches_its_model(at: Site) -> None:
    """A model on this machine is where it says that it is, and nothing beside it."""
    with listening() as (port, heard), listening() as (other, unheard):
        model = f"http://127.0.0.1:{port}/v1"
        ended = at.py(POST.format(port=port), network=True, model=model)
        beside = at.py(CONNECT.format(addresses=f"[('127.0.0.1', {other})]"), network=True,
                       model=model)  # fmt: skip

    assert ended["said"].split() == ["True"] * 3
    assert [len(one) for one in heard] == [5_120_000] * 3
    assert beside["said"] == "111\n"
    assert unheard == []


def test_it_reaches_a_model_elsewhere_by_a_tunnel(at: Site) -> None:
    """The tunnel leads to the model's host and port; to any other it is refused."""
    with listening() as (port, heard), listening() as (other, unheard):
        ended = at.py(TUNNEL.format(ports=[port, other]), network=True,
                      model=f"https://127.0.0.1:{port}/v1")  # fmt: skip

    assert ended["said"].splitlines() == [
        "through", "Tunnel connection failed: 403 Forbidden", "403",
    ]  # fmt: skip
    assert (heard, unheard) == ([b"through"], [])


def test_many_connections_wait_and_are_served(ours: Site) -> None:
    """More than are carried at a time are no fault, and none that idles ends the run's own."""
    program = """
import socket, threading
idle = [socket.create_connection(("127.0.0.1", {port})) for _ in range(63)]
def ask():
    line = socket.create_connection(("127.0.0.1", {port}), 20)
    line.sendall(b"POST / HTTP/1.0\\r\\nContent-Length: 2\\r\\n\\r\\nhi")
    found = b""
    while chunk := line.recv(4096): found += chunk
    print(found.endswith(b"hi"), flush=True)
them = [threading.Thread(target=ask) for _ in range(40)]
for one in them: one.start()
for one in them: one.join()
"""
    with listening() as (port, heard):
        ended = ours.py(program.format(port=port), network=True, model=f"http://127.0.0.1:{port}")

    assert ended["said"].split() == ["True"] * 40
    assert len(heard) == 40


def test_a_host_that_refuses_is_told(at: Site) -> None:
    """Nothing has run; it is said which step was refused."""
    ended = at.sh("echo ran", cover=str(at.home / "not-there"))

    assert (ended["cause"], ended["exit"], ended["said"]) == ("not_isolated", None, "")
    assert ended["why"].startswith(f"mount tmpfs on {at.home}/not-there")


@as_root
@pytest.mark.contract("E02")
def test_another_user_reads_nothing_of_ours(ours: Site) -> None:
    """It is nobody else's group, and of the home it has its own folders alone."""
    ours.home.parent.chmod(0o700)  # as the home of root is: nobody else comes even near
    root = ours.tree.parent
    said = ours.sh(
        f"id -u; id -G; cat {root}/git/config {ours.home}/passwords.json /etc/shadow 2>/dev/null; "
        f"cat {ours.home}/lent/object; echo mine > made; stat -c %u made .; "
        f"ls {ours.home.parent} 2>/dev/null",
        user=OTHER,
    )["said"]

    assert said.split() == [str(NOBODY)] * 2 + ["lent"] + [str(NOBODY)] * 2
    assert (ours.tree / "made").stat().st_uid == NOBODY


@as_root
@pytest.mark.contract("E01", "E04")
def test_what_another_user_made_is_the_workers(upstream: Any, base: str, tmp_path: Path) -> None:
    """It uses git and writes files; the worker takes its tree, and removes all of it."""
    isolation = Isolation(Apart.NETWORK, User("somebody", NOBODY, NOBODY))
    home = tmp_path / "home"
    with open_checkout(
        home / "checkouts", "a1-author-1", upstream.remote, base, upstream.objects
    ) as checkout:
        box = box_for(isolation, home, (checkout.tree, checkout.scratch), checkout.git_dir)
        script = "git log --oneline | wc -l; git status --short; echo a = 2 > src/a.py; " \
                 "mkdir -m 000 closed; echo x > .git/x; git diff --stat | tail -1"  # fmt: skip
        for _ in range(2):  # as the agent, then as a check
            command = Command(
                ("sh", "-c", script), checkout.tree, agent_environment(checkout.scratch, {}),
                timedelta(seconds=30), None, box=box,
            )  # fmt: skip
            marker = {"FENCEPOST_OPERATION": tmp_path.name}
            ended = run(command, on_output=lambda _: None, stop=threading.Event(), marker=marker)
            assert ended.output.tail.decode().split("\n")[0].strip() == "1", ended
        changes = checkout.changes(base, checkout.snapshot())

    assert [change.path for change in changes] == ["src/a.py"]
    assert not checkout.root.exists()


@as_root
def test_runs_of_one_other_user_do_not_see_each_other(ours: Site) -> None:
    """The same user runs both, and neither finds the other's process or checkout."""
    other = ours.tree.parent.with_name("b")
    (other / "tree").mkdir(parents=True)
    (other / "tree" / "theirs").write_text("theirs")
    for path in (other, *other.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    sleeping = subprocess.Popen(["sleep", "60"], user=NOBODY, group=NOBODY, extra_groups=[])

    said = ours.sh(
        f"cat {other}/tree/theirs 2>/dev/null; kill -9 {sleeping.pid} 2>/dev/null; kill -9 -1; "
        "echo there",
        user=OTHER,
    )["said"]

    assert sleeping.poll() is None
    assert "theirs" not in said
    sleeping.kill()
    sleeping.wait()


STANDS: dict[str, Callable[..., Stand]] = {
    "command/v1": partial(Stand, "command/v1"),
    "codex/v1": partial(Stand, "codex/v1", agents=codex),
    "claude-code/v1": partial(Stand, "claude-code/v1", agents=claude, wire=Messages),
}


@pytest.fixture(params=[(name, who) for name in STANDS for who in ("us", "other")], ids="-".join)
def stand(request: pytest.FixtureRequest, tmp_path: Path) -> Stand:
    """Each executor in a network of its own, as the worker's user and as another."""
    name, who = request.param
    if who == "other" and os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    return STANDS[name](tmp_path / "stand", isolation=NETWORK if who == "us" else SOMEBODY_ELSE)


@pytest.mark.contract("E10", "E02", "O09")
def test_every_executor_works_shut_in(stand: Stand) -> None:
    """Its model answers, its files and commands reach the checkout, and nothing else does."""
    with listening() as (port, heard):
        call = f"git ls-remote git://127.0.0.1:{port}/ >/dev/null 2>&1 || echo no >> seen"
        looks = f"cut -d: -f1 /proc/net/dev | tail -n +3 > seen; id -u >> seen; {call}"
        ran = stand.run(Run(looks), Write("src/b.txt", "b\n"), Say("All of it."))

    assert ran.outcome.problem is None
    assert (stand.tree / "src" / "b.txt").read_text() == "b\n"
    user = stand.isolation.user
    uid = os.geteuid() if user is None else user.uid
    assert (stand.tree / "seen").read_text().split() == ["lo", str(uid), "no"]
    assert stand.left() == []
    assert heard == []


@pytest.mark.contract("E10")
@pytest.mark.parametrize("name", ["codex/v1", "claude-code/v1"])
def test_a_vendors_program_takes_the_tunnel(name: str, tmp_path: Path) -> None:
    """A model by https is reached as the vendor's binary does it, encrypted from end to end."""
    stand = STANDS[name](tmp_path / "stand", isolation=NETWORK)
    stand.models = partial(EncryptedModel, folder=stand.tree)
    authority = str(stand.tree / "authority.pem")
    stand.more = {"SSL_CERT_FILE": authority, "NODE_EXTRA_CA_CERTS": authority}

    ran = stand.run(Run("echo second >> a.txt"), Say("All of it."))

    assert ran.outcome.problem is None
    assert (stand.tree / "a.txt").read_text() == "first\nsecond\n"
    assert len(stand.server.asked) >= 2


@pytest.mark.contract("Q08", "E06", "O09")
def test_every_executor_is_canceled_shut_in(stand: Stand) -> None:
    """A command that traps TERM and leaves its session does not survive the cancel."""
    flag = stand.tree / "is-running"
    stubborn = "trap '' TERM INT HUP; touch is-running; while :; do sleep 1; done"

    ran = stand.run(
        Run(f'setsid sh -c "{stubborn}" & sh -c "{stubborn}"'), Hang(), stop_when=flag.exists
    )

    assert ran.ended.cause == "stopped"
    assert ran.took < 8
    assert stand.left() == []


@pytest.mark.contract("E02", "E06", "Q08")
@pytest.mark.parametrize("apart", list(Apart))
def test_a_host_that_keeps_its_promises_passes(apart: Apart) -> None:
    """The self-test of a worker finds nothing to complain of here, and leaves nothing."""
    with in_memory() as home:
        prove(kept(home), Isolation(apart))

        assert list((home / "checkouts").iterdir()) == []


@pytest.mark.contract("E02")
def test_an_environment_that_is_not_clean_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """One name too many, and the worker takes no work."""

    def leaking(*given: Any) -> dict[str, str]:
        return agent_environment(*given) | {"FENCEPOST_DATABASE_URL": "postgresql://"}

    monkeypatch.setattr(selftest, "agent_environment", leaking)

    with pytest.raises(SelfTestFailed, match="FENCEPOST_DATABASE_URL"):
        prove(in_memory(), Isolation())


@pytest.mark.contract("E06", "Q08")
def test_a_survivor_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is still found by its markers has not been killed."""
    monkeypatch.setattr(selftest, "carrying", lambda marker: [1])

    with pytest.raises(SelfTestFailed, match="outlived"):
        prove(in_memory(), Isolation())


def test_a_box_that_does_not_hold_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for and not in force is found out, by each thing that the run could do."""
    monkeypatch.setattr(selftest, "box_for", lambda *given: None)

    with pytest.raises(IsolationUnavailable) as found:
        prove(in_memory(), Isolation(Apart.NETWORK))

    for words in ("processes of others", "git/config", "loopback", "can gain rights"):
        assert words in found.value.message


def test_a_host_that_cannot_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that was refused is in the message, and what to do about it."""

    def broken(isolation: Isolation, home: Path, *given: Any) -> Any:
        return box_for(isolation, home / "not-there", *given)

    monkeypatch.setattr(selftest, "box_for", broken)

    with pytest.raises(IsolationUnavailable, match="mount tmpfs on"):
        prove(in_memory(), Isolation(Apart.PROCESSES))


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@contextmanager
def kept(home: Path) -> Iterator[Path]:
    yield home
