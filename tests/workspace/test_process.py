"""A run ends, with everything it started, whatever happens to anybody."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from fixtures.role import naming, state_of

from workers.workspace import process
from workers.workspace.environment import OPERATION
from workers.workspace.presence import carrying
from workers.workspace.process import Command, alive, kill_all, run

ROOT = Path(__file__).parents[2]
ESCAPEES = ROOT / "tests" / "doubles" / "escapee.py"
EVERY_KIND = ("deaf", "holder", "stopped", "hidden", "chain")
SECONDS = timedelta(seconds=1)

#: A process in a session of its own, without its parent, deaf to TERM, holding the output open.
ESCAPEE = """
import os, signal, sys
from pathlib import Path
told, tell = os.pipe()
if os.fork():
    os.read(told, 1)
    {after}
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
Path("escaped").write_text(str(os.getpid()))
os.write(tell, b"!")
signal.pause()
"""

#: Each link starts the next and ends at once, deaf, and in a session of its own if it is told to.
CHAIN = """
#include <signal.h>
#include <unistd.h>
int main(int count, char **words) {
    signal(SIGTERM, SIG_IGN);
    for (long link = 0; link < 3000000; link++) {
        if (fork()) _exit(0);
        if (count > 1) setsid();
    }
}
"""

WORKER = """
import sys, threading
from datetime import timedelta
from pathlib import Path
from workers.workspace.process import Command, run

cwd, value, program = sys.argv[1:]
command = Command((sys.executable, "-c", program), Path(cwd), {}, timedelta(60), None)
run(command, on_output=print, stop=threading.Event(), marker={"FENCEPOST_OPERATION": value})
"""


@pytest.fixture
def value(tmp_path):
    """A marker of this test's own; nothing that carries it outlives the test."""
    value = f"test-{tmp_path.name}-{os.getpid()}"
    yield value
    assert alive(OPERATION, value) == []


@pytest.fixture
def start(tmp_path, value):
    """Run a command under a supervisor, in this thread."""

    def start(*argv, stop=None, on_output=lambda chunk: None, on_error=None, **limits):
        limits = {"deadline": 30 * SECONDS, "stall": None, "grace": SECONDS / 5} | limits
        command = Command(argv, tmp_path, {"PATH": os.environ["PATH"]}, **limits)
        return run(
            command,
            on_output=on_output,
            on_error=on_error,
            stop=stop or threading.Event(),
            marker={OPERATION: value},
        )

    return start


@pytest.fixture
def escapee(start, tmp_path):
    """Run a program that leaves escapees of these kinds; afterwards none of them is there."""

    def escapee(*words, **limits):
        (tmp_path / "ready").unlink(missing_ok=True)
        ended = start(sys.executable, str(ESCAPEES), str(tmp_path), *words, **limits)
        assert {pid: name for pid, name in naming(tmp_path).items() if "innocent" not in name} == {}
        return ended

    return escapee


def watching(value):
    """The pids of the guard and the supervisor of the run that carries this marker."""
    parents = {pid: int(stat_of(pid)[1]) for pid in alive(OPERATION, value)}
    (guard,) = [pid for pid, parent in parents.items() if parent == os.getpid()]
    (supervisor,) = [pid for pid, parent in parents.items() if parent == guard]
    return guard, supervisor


def python(program):
    return (sys.executable, "-c", program)


def is_gone(pid):
    """Whether a process has ended; its new parent may not have collected it yet."""
    try:
        return stat_of(pid.strip())[0] == "Z"
    except OSError:
        return True


def stat_of(pid):
    """What the kernel says of a process: its state, its parent and more."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


@pytest.mark.parametrize("code", [0, 3, 255])
def test_tells_the_exit_code(start, code):
    """The program's own exit code arrives, with both its streams."""
    ended = start("sh", "-c", f"echo out; echo err >&2; exit {code}")

    assert (ended.exit, ended.signal, ended.cause, ended.survivors) == (code, None, "exited", 0)
    assert ended.output.tail == b"out\nerr\n"
    assert ended.is_success is (code == 0)


def test_tells_the_signal(start):
    """A program that a signal ended has a signal and no exit code."""
    ended = start("sh", "-c", "kill -SEGV $$")

    assert (ended.exit, ended.signal, ended.cause) == (None, signal.SIGSEGV, "exited")


@pytest.mark.parametrize(
    ("argv", "cause"),
    [
        (("no-such-program-here",), "not_found"),
        (("./not-there",), "not_found"),
        (("./plain",), "not_executable"),
        (("/",), "not_executable"),
        (("./noise",), "not_executable"),
        (("nul\0",), "not_executable"),
    ],
)
def test_what_cannot_run_says_so(start, tmp_path, argv, cause):
    """A missing program and one that may not or cannot be executed are told apart."""
    (tmp_path / "plain").write_text("x")
    (tmp_path / "noise").write_bytes(b"\x00\x01\x02")
    (tmp_path / "noise").chmod(0o755)

    ended = start(*argv)

    assert (ended.exit, ended.signal, ended.cause) == (None, None, cause)


def test_the_program_starts_clean(start):
    """Closed input, its own session, the usual signals, no descriptor of ours."""
    ended = start(
        *python(
            "import os, signal, sys, json;"
            "print(json.dumps([sys.stdin.read(), os.getsid(0) == os.getpid(),"
            " signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,"
            " sorted(os.environ), len(os.listdir('/proc/self/fd'))]))"
        )
    )

    text, leads, default, names, descriptors = json.loads(ended.output.tail)
    assert (text, leads, default) == ("", True, True)
    assert set(names) - {"LC_CTYPE"} == {"PATH", OPERATION}
    assert descriptors == 4  # its three, and the one that lists them


def test_arguments_are_bytes(start):
    """An argument that is not UTF-8 arrives as it was."""
    assert start("printf", "%s", "\udcff\n").output.tail == b"\xff\n"


@pytest.mark.contract("E06")
@pytest.mark.parametrize("after", ["pass", "sys.exit(7)", "signal.pause()"])
def test_nothing_escapes(start, tmp_path, after):
    """A double fork, a session of its own and deaf ears do not outlive the run."""
    ended = start(*python(ESCAPEE.format(after=after)), deadline=SECONDS)

    assert is_gone((tmp_path / "escaped").read_text())
    assert ended.survivors == 0
    assert ended.cause == ("deadline" if "pause" in after else "exited")


@pytest.mark.contract("E06")
@pytest.mark.parametrize("after", ["0", "3", "stay", "on"])
def test_nothing_of_any_kind_escapes(escapee, after):
    """Deaf, parentless, hidden, frozen or forking without end: at every end all of it is gone."""
    limits = {"stay": {"stall": SECONDS}, "on": {"deadline": SECONDS}}

    ended = escapee(*EVERY_KIND, after, **limits.get(after, {}))

    causes = {"stay": "stalled", "on": "deadline"}
    assert (ended.cause, ended.survivors) == (causes.get(after, "exited"), 0)
    assert ended.exit == (int(after) if after.isdigit() else None)


@pytest.mark.contract("E06")
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_no_chain_of_forks_is_fast_enough(start, tmp_path):
    """Chains of forks without a pause, on a host with a thousand other processes, are outrun."""
    (tmp_path / "chain.c").write_text(CHAIN)
    subprocess.run(["cc", "-O2", "-o", "chain", "chain.c"], cwd=tmp_path, check=True)
    chain = tmp_path / "chain"
    others = [subprocess.Popen(["sleep", "60"]) for _ in range(1000)]
    try:
        ended = start("sh", "-c", "; ".join([f"{chain} leave", str(chain)] * 5))
    finally:
        for one in others:
            one.kill()
            one.wait()

    assert (ended.cause, ended.exit, ended.survivors) == ("exited", 0, 0)
    assert naming(tmp_path) == {}


@pytest.mark.contract("E06")
@pytest.mark.parametrize("victim", ["supervisor", "guard"])
def test_whoever_kills_a_supervisor_gains_nothing(escapee, until, tmp_path, value, victim):
    """Of the two processes that watch a run the other ends it, what is hidden and forks too."""

    def kill():
        until((tmp_path / "ready").exists)
        os.kill(watching(value)[victim == "supervisor"], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    ended = escapee(*EVERY_KIND, "stay")
    killer.join()

    assert ended.survivors == 0
    assert ended.cause == ("lost" if victim == "supervisor" else "stopped")


@pytest.mark.contract("E06", "E07")
def test_whoever_freezes_a_guard_gains_nothing(escapee, until, tmp_path, value):
    """A guard that stands still holds up neither the run's end nor its worker."""

    def freeze():
        until((tmp_path / "ready").exists)
        os.kill(watching(value)[0], signal.SIGSTOP)

    freezer = threading.Thread(target=freeze)
    freezer.start()
    ended = escapee(*EVERY_KIND, "stay", stall=SECONDS)
    freezer.join()

    assert (ended.cause, ended.survivors) == ("stalled", 0)
    assert ended.duration < 10 * SECONDS


@pytest.mark.contract("E06")
def test_an_earlier_tree_is_ended_whole(tmp_path, value, until):
    """What an earlier run left is killed with what hides and forks below its guard."""
    program = shlex.join((sys.executable, str(ESCAPEES), str(tmp_path), *EVERY_KIND, "stay"))
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(ROOT), value, f"import os; os.system({program!r})"],
        cwd=ROOT,
    )
    until((tmp_path / "ready").exists)

    assert kill_all(OPERATION, value)

    assert set(naming(tmp_path)) <= {worker.pid}
    worker.wait()


@pytest.mark.contract("E06")
def test_an_innocent_is_not_touched(escapee, until, tmp_path):
    """A process of the same user, name and session that no run started lives on."""
    place = tmp_path / "innocent"
    place.mkdir()
    words = [sys.executable, str(ESCAPEES), str(place), "deaf", "holder", "stay"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, env={OPERATION: "another"}) as innocent:
        until((place / "ready").exists)
        before = naming(place)

        escapee(*EVERY_KIND, "7")
        escapee(*EVERY_KIND, "stay", stall=SECONDS / 2)

        assert naming(place) == before
        assert len(before) == 3
        innocent.kill()
        assert kill_all(OPERATION, "another")


@pytest.mark.contract("E06")
def test_a_killed_worker_takes_the_tree_with_it(tmp_path, value, until):
    """After SIGKILL of the worker its supervisor ends everything within the grace."""
    program = ESCAPEE.format(after="signal.pause()")
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path), value, program], cwd=ROOT
    )
    until((tmp_path / "escaped").exists)
    until((tmp_path / "escaped").read_text)
    assert len(alive(OPERATION, value)) >= 3

    worker.kill()
    worker.wait()

    until(lambda: alive(OPERATION, value) == [], seconds=6)
    assert is_gone((tmp_path / "escaped").read_text())


@pytest.mark.contract("E07")
def test_the_deadline_ends_it(start):
    """A program that writes for ever is ended at its deadline."""
    ended = start("sh", "-c", "while :; do echo on; sleep 0.05; done", deadline=SECONDS / 2)

    assert (ended.cause, ended.signal) == ("deadline", signal.SIGTERM)
    assert SECONDS / 2 <= ended.duration < 5 * SECONDS


@pytest.mark.contract("E07")
def test_silence_ends_it(start):
    """A program that says nothing for too long is stalled; one that goes on writing is not."""
    silent = start("sh", "-c", "echo once; exec sleep 60", stall=SECONDS / 2)
    chatty = start(
        "sh", "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done", stall=SECONDS * 3 / 4
    )

    assert (silent.cause, silent.output.tail) == ("stalled", b"once\n")
    assert (chatty.cause, chatty.exit) == ("exited", 0)


@pytest.mark.contract("O09")
def test_a_wish_ends_it(start):
    """Once stop is set the program gets TERM, and its last words are heard."""
    stop = threading.Event()
    ended = start(
        "sh", "-c", "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.02; done",
        stop=stop,
        on_output=lambda chunk: stop.set(),
        grace=5 * SECONDS,
    )  # fmt: skip

    assert (ended.cause, ended.exit) == ("stopped", 5)
    assert ended.output.tail.endswith(b"bye\n")
    assert start("touch", "started", stop=stop).cause == "stopped"


def test_a_stopped_program_can_still_be_ended(start):
    """A program that stopped itself hears TERM all the same."""
    ended = start(*python("import os; os.kill(os.getpid(), 19)"), deadline=SECONDS / 2)

    assert (ended.cause, ended.signal) == ("deadline", signal.SIGTERM)


@pytest.mark.contract("E05")
def test_floods_are_bounded(start):
    """200 MB on stderr, without a newline: counted and hashed whole, kept in part."""
    size = 200_000_000
    ended = start("sh", "-c", f"head -c {size} /dev/zero >&2; printf end")

    whole = hashlib.sha256()
    for _ in range(200):
        whole.update(bytes(size // 200))
    whole.update(b"end")
    assert (ended.exit, ended.output.total) == (0, size + 3)
    assert ended.output.sha256 == whole.hexdigest()
    assert len(ended.output.tail) == 64 * 1024
    assert ended.output.tail.endswith(b"\0end")


@pytest.mark.contract("E05")
def test_streams_come_apart(start):
    """With somebody to hear stderr each stream arrives whole by itself; all of it is counted."""
    out, errors = hashlib.sha256(), hashlib.sha256()
    program = "head -c 9000000 /dev/zero & head -c 7000000 /dev/zero | tr '\\0' e >&2; wait; exit 3"

    ended = start("sh", "-c", program, on_output=out.update, on_error=errors.update)

    assert (ended.exit, ended.output.total) == (3, 16_000_000)
    assert out.digest() == hashlib.sha256(bytes(9_000_000)).digest()
    assert errors.digest() == hashlib.sha256(b"e" * 7_000_000).digest()


@pytest.mark.contract("E05")
def test_a_slow_reader_is_no_stall(start, until):
    """An agent that has to wait for its worker is not silent, and loses nothing."""
    slowly = iter([0.02] * 30)
    pause = threading.Event()
    size = 4_000_000
    ended = start(
        "head", "-c", str(size), "/dev/zero",
        on_output=lambda chunk: pause.wait(next(slowly, 0)),
        stall=SECONDS / 5,
    )  # fmt: skip

    assert (ended.cause, ended.output.total) == ("exited", size)


@pytest.mark.contract("E05")
def test_who_holds_the_pipe_cannot_hang_the_worker(start, tmp_path):
    """A process outside the tree that was handed the output pipe is not waited for."""
    ears = tmp_path / "ears"
    listener = (
        "import os, socket, sys;"
        "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1] + '.new'); s.listen();"
        "os.rename(sys.argv[1] + '.new', sys.argv[1]);"
        "c, _ = s.accept(); m, fds, _, _ = socket.recv_fds(c, 9, 1); c.send(b'ok');"
        "os.write(fds[0], b'still here'); sys.stdin.read()"
    )
    keeper = subprocess.Popen(
        [*python(listener), str(ears)],
        stdin=subprocess.PIPE,
    )
    program = (
        "import socket, time, os;"
        "[time.sleep(0.01) for _ in range(500) if not os.path.exists('ears')];"
        "s = socket.socket(socket.AF_UNIX); s.connect('ears');"
        "socket.send_fds(s, [b'x'], [1]); s.recv(2)"
    )
    try:
        ended = start(*python(program))

        assert (ended.cause, ended.exit) == ("exited", 0)
        assert keeper.poll() is None
    finally:
        keeper.communicate()


def test_many_run_at_once(tmp_path, value):
    """Twenty runs in threads of one process each report their own exit code and output."""

    def one(number):
        argv = ("sh", "-c", f"echo {number}; sleep 0.1; exit {number}")
        command = Command(argv, tmp_path, {"PATH": os.environ["PATH"]}, 30 * SECONDS, None)
        return run(
            command, on_output=lambda chunk: None, stop=threading.Event(), marker={OPERATION: value}
        )

    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(one, range(20)))

    assert [ended.exit for ended in found] == list(range(20))
    assert [int(ended.output.tail) for ended in found] == list(range(20))
    assert {ended.cause for ended in found} == {"exited"}


@pytest.mark.contract("E06")
def test_a_listener_that_fails_ends_the_tree(start, tmp_path):
    """When the worker's own code raises, the run is over before the error leaves."""

    def fail(chunk):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        start("sh", "-c", "echo $$ >pid; echo x; exec sleep 60", on_output=fail)

    assert is_gone((tmp_path / "pid").read_text())


@pytest.mark.contract("E06")
def test_a_killed_supervisor_is_made_up_for(start, tmp_path):
    """An agent that kills its supervisor gains nothing: what carries the marker is killed."""
    ended = start("sh", "-c", "echo $$ >pid; kill -9 $PPID; exec sleep 60")

    assert (ended.cause, ended.survivors) == ("lost", 0)
    assert is_gone((tmp_path / "pid").read_text())


@pytest.mark.contract("E06")
def test_a_supervisor_is_buried_when_its_guard_ends(start):
    """Nobody inherits a dead process for each run; who is the first of a host may bury none."""
    ancestors = [f"$(ps -o {what}= -p $PPID)" for what in ("pid", "ppid")]
    found = []
    for _ in range(10):
        ended = start("sh", "-c", f"echo {' '.join(ancestors)}")
        found += [state_of(int(pid)) for pid in ended.output.tail.split()]

    assert found == [""] * 20


@pytest.mark.contract("E06", "E07")
def test_a_frozen_supervisor_is_made_up_for(start, tmp_path, monkeypatch):
    """An agent that stops its supervisor's clock does not outlive its deadline for long."""
    monkeypatch.setattr(process, "_BACKSTOP", SECONDS / 5)

    ended = start("sh", "-c", "echo $$ >pid; kill -STOP $PPID; exec sleep 60", deadline=SECONDS / 5)

    assert (ended.cause, ended.survivors) == ("deadline", 0)
    assert is_gone((tmp_path / "pid").read_text())


@pytest.mark.contract("E06")
def test_an_earlier_tree_is_found_and_proven_gone(tmp_path, value, until):
    """What still runs of an operation is found by its marker, also behind a clean environment."""
    program = (
        "import subprocess, sys; from pathlib import Path;"
        "p = subprocess.Popen(['sleep', '60'], env={}, start_new_session=True);"
        "Path('hidden').write_text(str(p.pid)); p.wait()"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path), value, program], cwd=ROOT
    )
    until((tmp_path / "hidden").exists)
    until((tmp_path / "hidden").read_text)
    hidden = (tmp_path / "hidden").read_text()
    assert int(hidden) not in alive(OPERATION, value)
    assert carrying({OPERATION: value, "FENCEPOST_FENCE": "2"}) == []

    assert kill_all(OPERATION, value)

    assert alive(OPERATION, value) == []
    assert is_gone(hidden)
    worker.wait()


def test_nothing_alive_is_proven_too(value):
    """An operation that never ran here is gone."""
    assert kill_all(OPERATION, value)
