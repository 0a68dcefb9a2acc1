"""However a run ends, nothing of it is left: no process, no checkout, no lock; nobody else pays."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from fixtures.command import Fencepost
from fixtures.role import Role, naming
from fixtures.seen import Seen
from fixtures.stack import Stack, a_repository
from fixtures.waiting import until

from app.cli import record
from app.domain.digest import stored
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL
from workers.workspace.environment import OPERATION
from workers.workspace.presence import alive

ESCAPEE = Path(__file__).parents[1] / "doubles" / "escapee.py"
KINDS = ("deaf", "holder", "stopped", "hidden", "chain")
LONG_LEASE = {"FENCEPOST_LEASE": "120"}  #: so that nothing here comes from a lease that ran out
LONG = pytest.mark.long

Leaves = Callable[[str, str], str]
Gone = Callable[[], None]


@pytest.fixture
def leaves(stack: Stack) -> Leaves:
    """A command that leaves an escapee of each kind the first time; a second run just works."""

    def command(name: str, after: str, *kinds: str) -> str:
        place = stack.outside / name
        place.mkdir()
        escapee = shlex.join((sys.executable, str(ESCAPEE), str(place), *(kinds or KINDS), after))
        once = f"if mkdir {place}/first 2>/dev/null; then exec {escapee}; fi"
        return f"{stack.counted(name)}; echo y >> a.py; {once}"

    return command


@pytest.fixture
def innocents(stack: Stack, tmp_path: Path) -> Iterator[Callable[[Role | None], Path]]:
    """Start the same program as an innocent, in a worker's process group if there is one."""
    started: list[subprocess.Popen[bytes]] = []

    def start(beside: Role | None = None) -> Path:
        place = tmp_path / f"innocent-{len(started)}"
        place.mkdir()
        words = [sys.executable, str(ESCAPEE), str(place), "deaf", "stay"]
        group = beside.process.pid if beside is not None else None
        started.append(
            subprocess.Popen(
                words, stdout=subprocess.DEVNULL, env={OPERATION: str(place)}, process_group=group
            )
        )
        stack.until((place / "ready").exists)
        return place

    yield start
    for one in started:
        for pid in naming(Path(str(one.args[2]))):  # type: ignore[index]  # it is a list
            os.kill(pid, signal.SIGKILL)
        one.wait()


@pytest.fixture
def gone(stack: Stack) -> Gone:
    """Wait until no process of a run is left; afterwards nothing else of it is either."""

    def check() -> None:
        stack.until(lambda: not naming(stack.outside), 20)

    return check


def no_trace(stack: Stack) -> None:
    """Neither a checkout nor anybody's lock is left."""
    stack.until(lambda: not list((stack.home / "checkouts").glob("*")))
    assert [str(path) for path in stack.home.rglob("*.lock") if is_of_git(path)] == []


def is_of_git(path: Path) -> bool:
    """Whether a file is inside a git folder: git's own locks are, ours stand beside."""
    return any((above / "HEAD").is_file() for above in path.parents)


def is_ready(stack: Stack, name: str) -> bool:
    return (stack.outside / name / "ready").exists()


def why(seen: Seen) -> list[str]:
    """The codes of what went wrong."""
    return [one["code"] for one in stored(seen.observation() or b"{}")["frictions"]]


@pytest.mark.contract("E06", "E07", "Q08", "T09")
def test_at_each_end_of_a_run_all_of_it_is_gone(
    stack: Stack, leaves: Leaves, gone: Gone, innocents: Callable[[Role | None], Path]
) -> None:
    """Done, failed, out of time, canceled, or in a check: the right end, and nothing is left."""
    stack.start_dispatcher()
    worker = stack.start_worker(slots=8)
    stack.until(lambda: worker.says("role.started"))
    places = [innocents(None), innocents(worker)]
    before = [naming(place) for place in places]
    change = "echo y >> a.py"

    ends = {
        "done": stack.dispatch(leaves("done", "0")),
        "failed": stack.dispatch(leaves("failed", "3")),
        "late": stack.dispatch(leaves("late", "on"), limit=timedelta(seconds=3)),
        "canceled": stack.dispatch(leaves("canceled", "stay")),
        "checked": stack.dispatch(change, leaves("checked", "0")),
        "unchecked": stack.dispatch(change, leaves("unchecked", "4")),
    }
    seen = {name: stack.seen(attempt) for name, attempt in ends.items()}
    stack.until(lambda: is_ready(stack, "canceled"))
    cancel(stack.store, stack.world, LOCAL, ends["canceled"].id, "it is not needed")
    stack.until(lambda: all(one.is_over for one in seen.values()))

    gone()
    no_trace(stack)
    assert {name: one.outcome for name, one in seen.items()} == {
        "done": "done", "failed": "failed", "late": "failed", "canceled": "canceled",
        "checked": "failed", "unchecked": "failed",
    }  # fmt: skip
    assert why(seen["failed"]) == ["command_failed"]
    assert why(seen["late"]) == ["deadline_exceeded"]
    assert why(seen["checked"]) == ["check_changed_files"]  # it says so in the checkout
    assert why(seen["unchecked"])[0] == "check_failed"
    execution = stored(seen["failed"].observation() or b"{}")["execution"]
    assert (execution["exit"], execution["cause"]) == (3, "exited")
    for one in seen.values():
        assert one.open_claims() == 0
    assert [naming(place) for place in places] == before


def kill(worker: Role) -> None:
    worker.kill()


def kill_group(worker: Role) -> None:
    """With the git commands that it may just run."""
    worker.tell_group(signal.SIGKILL)


def term(worker: Role) -> None:
    worker.process.terminate()


def twice(number: int) -> Callable[[Role], None]:
    """Tell the group twice: the second word is the last."""

    def tell(worker: Role) -> None:
        worker.tell_group(number)
        until(lambda: worker.says("worker.draining"))
        worker.tell_group(number)

    return tell


@pytest.mark.contract("E06", "Q06")
@pytest.mark.parametrize(
    "end",
    [
        kill,
        pytest.param(kill_group, marks=LONG),
        pytest.param(term, marks=LONG),
        pytest.param(twice(signal.SIGTERM), id="TERM twice"),
        pytest.param(twice(signal.SIGINT), id="INT twice", marks=LONG),
        pytest.param(twice(signal.SIGQUIT), id="QUIT twice", marks=LONG),
    ],
)
def test_a_worker_that_ends_leaves_nothing_that_runs(
    stack: Stack, leaves: Leaves, gone: Gone, end: Callable[[Role], None],
    innocents: Callable[[Role | None], Path],
) -> None:  # fmt: skip
    """Killed, or told to end once or twice: its run is gone before anybody comes after it."""
    stack.start_dispatcher()
    worker = stack.start_worker(more=["--grace", "1"])
    seen = stack.seen(stack.dispatch(leaves("first", "stay")))
    stack.until(lambda: is_ready(stack, "first"))
    place = innocents(None)
    before = naming(place)

    end(worker)

    worker.process.wait(20)
    gone()
    assert naming(place) == before
    stack.start_worker()
    stack.until(lambda: seen.is_over)
    assert (seen.outcome, stack.count("first"), seen.starts()) == ("done", 2, 2)
    no_trace(stack)
    assert naming(place) == before


@pytest.mark.contract("E06")
@pytest.mark.parametrize(
    "victim", ["supervisor", pytest.param("guard", marks=LONG), pytest.param("both", marks=LONG)]
)
def test_a_run_that_lost_its_supervisor_is_gone_and_begun_anew(
    stack: Stack, leaves: Leaves, gone: Gone, victim: str
) -> None:
    """Whoever watched the run is killed: its tree ends with it, and another claim runs it again.

    Of guard and supervisor killed in one moment only what still carries its markers is found.
    """
    stack.settings = LONG_LEASE
    kinds = ("deaf", "holder", "stopped") if victim == "both" else KINDS
    stack.build()
    seen = stack.seen(stack.dispatch(leaves("first", "stay", *kinds)))
    stack.until(lambda: is_ready(stack, "first"))
    operation = seen.request.operation
    watchers = {"guard": guard_of(operation), "supervisor": supervisor_of(operation)}

    for one in watchers.values():
        os.kill(one, signal.SIGSTOP)
    survivor = [one for name, one in watchers.items() if victim not in (name, "both")]
    for one in watchers.values():
        if one not in survivor:
            os.kill(one, signal.SIGKILL)
    for one in survivor:
        os.kill(one, signal.SIGCONT)

    stack.until(lambda: seen.is_over)
    assert (seen.outcome, stack.count("first"), seen.starts()) == ("done", 2, 2)
    gone()
    no_trace(stack)


@pytest.mark.long
@pytest.mark.contract("E06", "Q06")
def test_a_stack_that_is_killed_whole_leaves_nothing_that_runs(tmp_path: Path) -> None:
    """SIGKILL of `fencepost up` and of every role at once: the next `up` runs the work anew."""
    own, place = Fencepost(tmp_path / "home"), tmp_path / "outside"
    place.mkdir()
    source = a_repository(tmp_path / "source", {"a.py": "x = 1\n"})
    escapee = shlex.join((sys.executable, str(ESCAPEE), str(place), *KINDS, "stay"))
    command = f"echo y >> a.py; if mkdir {place}/first 2>/dev/null; then exec {escapee}; fi"
    try:
        assert own("up", "--detach").code == 0
        attempt = own("run", "--detach", "--", "sh", "-c", command, at=source).out.strip()
        until((place / "ready").exists)
        up = record.find_up(own.home)
        assert up is not None

        for pid in (up.pid, *(role.pid for role in up.roles.values())):
            os.kill(pid, signal.SIGKILL)

        until(lambda: not naming(place))
        assert own("up", "--detach").code == 0
        until(lambda: own("attempts", "show", attempt, "--json").value["outcome"] == "done", 60)
        until(lambda: not list((own.home / "checkouts").glob("*")))
        assert naming(place) == {}
        assert [str(path) for path in own.home.rglob("*.lock") if is_of_git(path)] == []
    finally:
        own.clean()


def guard_of(operation: str) -> int:
    """The pid of the process that watches the supervisor of an operation's run."""
    marked = alive(OPERATION, operation)
    (guard,) = [pid for pid in marked if parent_of(pid) not in marked and has_child(pid, marked)]
    return guard


def supervisor_of(operation: str) -> int:
    guard = guard_of(operation)
    (supervisor,) = [pid for pid in alive(OPERATION, operation) if parent_of(pid) == guard]
    return supervisor


def has_child(pid: int, marked: list[int]) -> bool:
    return any(parent_of(one) == pid for one in marked)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
