"""`fencepost run --repos`: every repository of a list once, however often it is asked for."""

from __future__ import annotations

import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fixtures import role
from fixtures.command import Fencepost
from fixtures.many import Many, a_list
from fixtures.role import naming
from fixtures.stack import Stack, a_repository
from sqlalchemy import event

from app.cli.order import Wanted, carry_out
from app.cli.repos import reading
from app.cli.repos.entry import Entry, Standing
from app.cli.repos.watching import look
from app.store import principals
from app.transitions.add_repository import add_repository
from app.transitions.approve import approve
from app.transitions.change import LOCAL
from app.transitions.draft import draft
from app.transitions.submit import submit

CHANGE = ("sh", "-c", "echo y >> a.py")
WHY = ("--again", "--reason", "the reason for it is gone")


def test_work_spreads_over_every_worker_that_joins(stack: Stack) -> None:
    """With each worker that is started beside, as much more runs at once; all of it ends."""
    many = a_list(stack, 20)
    stack.start_dispatcher()
    stack.start_worker(slots=3)
    running = many.begin("--", *many.waiting())
    stack.until(lambda: many.running() == 3)

    stack.start_worker(slots=3)
    stack.until(lambda: many.running() == 6)
    stack.start_worker(slots=3)
    stack.until(lambda: many.running() == 9)
    many.go.touch()

    out, err = running.communicate(timeout=80)
    assert running.returncode == 0, err
    assert many.rows("claims", "distinct worker") == 3
    assert out.splitlines()[-2] == "20 repositories: 20 done"
    assert Counter(many.requests().values()) == {1: 20}


def test_another_run_skips_what_is_done(stack: Stack) -> None:
    """A rerun begins nothing, ends well, and says where the requests are."""
    many = a_list(stack, 3)
    stack.build()
    first = many.run("--", *CHANGE).lines[-1]

    again = many.run("--", *CHANGE)

    assert again.code == 0
    last = again.lines[-1]
    assert (last["counts"], last["before"]) == ({"done": 3}, {"done": 3})
    assert many.rows("attempts") == 3
    assert urls(last) == urls(first)
    assert len(set(urls(last))) == 3


def test_failures_are_grouped_by_their_cause(stack: Stack) -> None:
    """What failed for the same cause stands together; --again retries those alone."""
    many = a_list(stack, 5, lambda number: ["", "lint", "lint", "", "test"][number - 1] + "\n")
    mended = stack.outside / "mended"
    command = (
        "sh", "-c", f'echo y >> a.py; [ -e {mended} ] && exit; case $(cat a.py) in '
        '*lint*) echo "error: line $$ is long"; exit 3;; *test*) exit 4;; esac',
    )  # fmt: skip
    stack.build()

    said = many.run("--", *command)

    assert said.code == 1
    last = said.lines[-1]
    assert [(one["count"], one["code"], one["cause"]) for one in last["failures"]] == [
        (2, "command_failed", "error: line <n> is long"),
        (1, "command_failed", "sh: exit <n>"),
    ]
    assert last["counts"] == {"done": 2, "failed": 3}

    told = many.fencepost("run", "--repos", str(many.list), "--", *command)
    assert told.code == 1
    assert "  2 × command_failed in step author: sh: exit 3\n" in told.out
    assert "before this run" in told.out
    assert "fencepost run --again --reason WHY --repos " in told.out
    assert many.rows("attempts") == 5

    mended.touch()
    again = many.run(*WHY, "--", *command)
    assert again.code == 0, again.lines[-1]
    assert again.lines[-1]["counts"] == {"done": 5}
    assert many.rows("attempts where number = 2") == 3
    assert Counter(many.requests().values()) == {1: 5}


def test_a_killed_run_is_gone_on_with(stack: Stack) -> None:
    """After kill -9 while it dispatches, the rerun joins, begins the rest, and doubles nothing."""
    many = a_list(stack, 8)
    stack.build()
    killed = role.start(
        ("app.cli", "run", "--repos", str(many.list), "--", *many.waiting()),
        environment=stack.environment(stack.database.app_url), directory=many.list.parent,
        logs=stack.home / "logs", stops_at="attempt.dispatched",
    )  # fmt: skip
    stack.until(lambda: killed.is_stopped)
    killed.kill()
    assert many.rows("attempts") == 1

    running = many.begin("--json", "--", *many.waiting())
    stack.until(lambda: many.rows("attempts") == 8)
    many.go.touch()

    _, err = running.communicate(timeout=80)
    assert running.returncode == 0, err
    assert Counter(many.requests().values()) == {1: 8}
    assert many.rows("work_orders") == many.rows("attempts") == stack.count("ran") == 8


@pytest.mark.parametrize("steps", [1, 3])
def test_what_was_broken_off_goes_on_where_it_was(stack: Stack, steps: int) -> None:
    """A work order that was drafted and no more is submitted, approved and dispatched."""
    many = a_list(stack, 1)
    (entry,) = entries_of(many)
    source, store, world = entry.asked.source, stack.store, stack.world
    known = add_repository(store, world, LOCAL, source.name, source.url)
    new = draft(store, world, LOCAL, known.id, entry.asked.specification, key=f"{entry.key}/draft")
    if steps > 1:
        submit(store, world, LOCAL, new.work_order, key=f"{entry.key}/submit")
        approve(store, world, LOCAL, new.work_order, key=f"{entry.key}/approve")
    stack.build()

    said = many.run("--timeout", "2m", "--check-timeout", "2m", "--", *CHANGE)

    assert said.code == 0, said.err
    assert said.lines[-1]["repositories"][0]["task"] == new.task
    assert many.rows("work_orders") == 1


def test_two_runs_at_once_share_the_work(stack: Stack) -> None:
    """The same list twice at the same time: each repository has one attempt, both runs see it."""
    many = a_list(stack, 6)
    stack.build()

    both = [many.begin("--json", "--", *CHANGE) for _ in range(2)]

    for one in both:
        _, err = one.communicate(timeout=80)
        assert one.returncode == 0, err
    assert many.rows("work_orders") == many.rows("attempts") == 6
    assert Counter(many.requests().values()) == {1: 6}


def test_ctrl_c_detaches_from_somebody_elses_stack(stack: Stack) -> None:
    """What was begun goes on; the summary says so; the rerun joins it."""
    many = a_list(stack, 3)
    stack.build()
    running = many.begin("--json", "--", *many.waiting())
    stack.until(lambda: many.running() == 3)

    running.send_signal(signal.SIGINT)

    out, _ = running.communicate(timeout=20)
    assert running.returncode == 130
    assert '"text": "detached; 3 go on, 0 are not begun.' in out
    many.go.touch()
    again = many.run("--", *many.waiting())
    assert again.code == 0
    assert many.rows("attempts") == 3


def test_ctrl_c_cancels_all_on_a_stack_of_ones_own(own: Fencepost, tmp_path: Path) -> None:
    """Every attempt is canceled, nothing is left; --again takes them up as new tasks."""
    for name in ("one", "two", "three"):
        a_repository(tmp_path / name, {"a.py": "x = 1\n"})
    listed = tmp_path / "list"
    listed.write_text("one\ntwo\nthree\n")
    gone = tmp_path / "gone"
    command = ("sh", "-c", f"[ -e {gone} ] || sleep 300; echo y >> a.py")
    running = own.begin("run", "--repos", str(listed), "--", *command)
    assert running.stderr
    for line in running.stderr:
        if "running" in line and "three" in line:
            break

    running.send_signal(signal.SIGINT)

    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "cancels 3 attempts; Ctrl-C again leaves at once" in err
    assert "3 repositories: 3 canceled\n" in out
    assert naming(own.home) == {}

    gone.touch()
    plain = own("run", "--repos", str(listed), "--", *command)
    assert (plain.code, "3 canceled (3 of them before)" in plain.out) == (1, True)
    again = own("run", "--repos", str(listed), *WHY, "--", *command)
    assert (again.code, "3 repositories: 3 done\n" in again.out) == (0, True), again.err


def test_a_full_world_holds_the_rest_back(stack: Stack) -> None:
    """Beyond what may wait nothing is refused for good: the rest is dispatched as there is room."""
    many = a_list(stack, 6)
    stack.build()
    limited = many.fencepost("queues", "limit", "--waiting", "1", "--reason", "it is small")
    assert limited.code == 0, limited.err

    said = many.run("--", *CHANGE)

    assert said.code == 0, said.lines[-1]
    assert said.lines[-1]["counts"] == {"done": 6}
    assert "world_full" in {line.get("code") for line in said.lines}


def test_one_question_serves_all(stack: Stack) -> None:
    """However many attempts are watched, a look at them is one statement."""
    many = a_list(stack, 7)
    entries = entries_of(many)
    with stack.store.begin() as tx:
        principal = principals.get(tx, LOCAL)
    for entry in entries:
        entry.attempt = carry_out(stack.store, stack.home, entry.asked, principal).attempt
        entry.standing = Standing.QUEUED
    asked: list[str] = []
    event.listen(
        stack.store.engine, "before_cursor_execute", lambda *words: asked.append(str(words[2]))
    )

    look(stack.store, stack.world, entries)

    assert len(asked) == 1
    assert {(entry.step, entry.standing) for entry in entries} == {("author", "queued")}


def entries_of(many: Many) -> list[Entry]:
    """What a list asks for, as the command line reads it."""
    limit = timedelta(minutes=2)
    wanted = Wanted((), (), CHANGE, None, limit, limit)
    return reading.read(str(many.list), wanted, None, lambda *_, **__: None)


def urls(summary: dict[str, Any]) -> list[str]:
    """Where the requests of a summary are."""
    return [one["pull_request"]["url"] for one in summary["repositories"]]
