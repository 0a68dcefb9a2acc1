"""Workers on several hosts: each its own home, each its own kinds of work."""

from __future__ import annotations

from pathlib import Path

from fixtures import role
from fixtures.command import Fencepost
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack
from sqlalchemy import select

from app.domain.identity import Kind
from app.kinds import author, pull_request
from app.store.fencing import of_key
from app.store.schema import claims


def test_groups_of_workers_take_their_own_kinds(stack: Stack, work: str, tmp_path: Path) -> None:
    """Two hosts that share the local forge alone: each carries out what it is there for."""
    stack.start_dispatcher()
    authors = a_host(stack, tmp_path / "authors", author.NAME)
    seen = stack.seen(stack.dispatch(work))
    stack.until(lambda: seen.steps == {"author": "succeeded", "pull_request": "dispatched"})
    assert not seen.is_over

    openers = a_host(stack, tmp_path / "openers", pull_request.NAME)
    stack.until(lambda: seen.is_over)

    assert (seen.outcome, stack.count("author"), len(seen.requests)) == ("done", 1, 1)
    assert f"-{authors.process.pid}-" in holder(seen, author.NAME)
    assert f"-{openers.process.pid}-" in holder(seen, pull_request.NAME)
    assert list((tmp_path / "authors").glob("*")) != []
    assert not (stack.home / "checkouts").exists()


def test_a_kind_that_is_none_is_refused(tmp_path: Path) -> None:
    """A group that would take nothing is a mistake, said at once with the kinds that there are."""
    said = Fencepost(tmp_path / "home")("worker", "--kind", "missions.reviewer")

    assert said.code == 2
    assert all(kind in said.err for kind in (author.NAME, pull_request.NAME))


def a_host(stack: Stack, home: Path, kind: Kind) -> Role:
    """A worker with a home of its own, in which the forge is a folder that both hosts mount."""
    home.mkdir()
    (home / "forge").symlink_to(stack.home / "forge", target_is_directory=True)
    environment = {**stack.environment(stack.database.worker_url), "FENCEPOST_HOME": str(home)}
    one = role.start(
        ("app.cli", "worker", "--slots", "2", "--kind", kind, "--grace", "2s"),
        environment=environment, directory=home, logs=stack.home / "logs",
    )  # fmt: skip
    stack.roles.append(one)
    stack.until(lambda: one.says("role.started"))
    return one


def holder(seen: Seen, kind: Kind) -> str:
    """The name of the worker that held the one claim of a kind."""
    with seen.store.begin() as tx:
        query = select(claims.c.worker).where(of_key(claims, seen.key(kind)))
        return str(tx.execute(query).scalar_one())
