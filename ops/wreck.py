"""Breaking a running stack from outside, and reading back what became of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import redis
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.cli import record
from app.domain.digest import Json, canonical
from app.domain.errors import FencepostError
from app.domain.identity import ActivityId, ActivityKey, Claim, DeliveryNumber, Kind, WorldId
from app.domain.operation import Mark, ref_of
from app.domain.result import Observation, Outcome
from app.embedded import servers
from app.kinds import author
from app.kinds.registry import KINDS
from app.kinds.request import WorkRequest, work_request
from app.repository.mirror import open_mirror
from app.repository.remote import Remote
from app.repository.requests import list_requests
from app.store import activities
from app.store.claims import Verdict
from app.store.engine import Store, open_store
from app.transitions.bind import bind
from app.transitions.claim import claim
from app.transitions.start import start
from workers.workspace.checkout import Author, open_checkout
from workers.workspace.operation_ref import push_mark, push_result, write_mark

_INSERT = (
    "insert into fencepost.events (world_id, kind, activity_id, fence, n, type, value)"
    " values (:w, :k, :a, :f, 1000, 'step', '{}')"
)


@dataclass(frozen=True, slots=True)
class Zombie:
    """A claim that was taken for real, and then slept through its lease."""

    claim: Claim
    request: WorkRequest
    mark: str  #: the `started` commit that it pushed


class Scene:
    """A running stack, seen from outside."""

    def __init__(self, home: Path, app: Store, worker: Store, broker: redis.Redis) -> None:
        self._home, self._app, self._worker, self._redis = home, app, worker, broker

    @classmethod
    def of(cls, home: Path) -> Self:
        """The stack of a home that runs on the embedded servers."""
        addresses = servers.running(home)
        assert addresses is not None
        return cls(
            home,
            open_store(addresses.app_url, name="demo", connections=2),
            open_store(addresses.worker_url, name="demo-zombie", connections=2),
            redis.Redis.from_url(addresses.redis_url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._app.close()
        self._worker.close()
        self._redis.close()

    def worker_pid(self) -> int:
        """The pid of the worker that runs now."""
        found = record.find_up(self._home)
        assert found is not None
        return found.roles["worker"].pid

    @contextmanager
    def worker_frozen(self) -> Iterator[None]:
        """Freeze the worker for a while."""
        pid = self.worker_pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def reclaimed_at(self, attempt: str, fence: int) -> float:
        """When the attempt's author was claimed under this fence, unix seconds; waits for it."""
        query = (
            "select extract(epoch from c.claimed_at) from fencepost.claims c"
            " join fencepost.activities a using (world_id, kind, activity_id)"
            " where a.attempt_id = :attempt and a.kind = :kind and c.fence = :fence"
        )
        named = {"attempt": attempt, "kind": author.NAME, "fence": fence}
        until(lambda: self._rows(query, **named), "another claim")
        return float(str(self._rows(query, **named)[0][0]))

    def expect(self, attempt: str, outcome: str) -> None:
        """Wait for the attempt's end, and insist on its outcome."""
        query = "select outcome from fencepost.attempts where attempt_id = :attempt"
        until(lambda: self._rows(query, attempt=attempt)[0][0], "the end of the attempt")
        found = self._rows(query, attempt=attempt)[0][0]
        if found != outcome:
            raise SystemExit(f"attempt {attempt} ended as {found}, not as {outcome}")

    def queued(self) -> int:
        """How many messages wait in Redis."""
        return sum(int(str(self._redis.llen(kind))) for kind in KINDS)

    def flush(self) -> None:
        """Wipe Redis."""
        self._redis.flushall()

    def requests(self, attempt: str) -> int:
        """How many pull requests the forge has for an attempt's branch."""
        request = self._request_of(attempt)[1]
        mirror = open_mirror(self._home / "forge", request.repository)
        return len(list_requests(mirror, head=request.branch))

    def zombie(self, attempt: str) -> Zombie:
        """Claim the attempt's author for real, push its mark, commit its start; then do nothing."""
        key, request = self._request_of(attempt)
        taken = claim(self._worker, key, DeliveryNumber(1), "zombie")
        assert not isinstance(taken, Verdict)
        bind(self._worker, taken, request.operation)
        remote = self._remote(request)
        with open_checkout(
            self._home / "checkouts", f"{attempt}-zombie", Remote(str(remote)), request.base,
            remote / "objects",
        ) as checkout:  # fmt: skip
            mark = write_mark(
                checkout.git_dir, request.operation, taken, Mark.STARTED, None, _signature(request)
            )
            push_mark(checkout.git_dir, Remote(str(remote)), ref_of(request.operation), mark, None)
        start(self._worker, taken, mark)
        return Zombie(taken, request, mark)

    def refused_insert(self, zombie: Zombie) -> str:
        """Let it insert an event by hand, with its own token, and return the trigger's refusal."""
        claim, key = zombie.claim, zombie.claim.key
        values = {"w": key.world, "k": key.kind, "a": key.activity, "f": claim.fence}
        try:
            with self._worker.engine.begin() as tx:
                tx.execute(
                    text("select set_config('fencepost.token', :t, true)"), {"t": claim.token}
                )
                tx.execute(text(_INSERT), values)
        except DBAPIError as fault:
            return f"{getattr(fault.orig, 'sqlstate', '')} {str(fault.orig).splitlines()[0]}"
        raise SystemExit("the zombie's INSERT was taken")

    def refused_push(self, zombie: Zombie) -> str:
        """Let it publish a result over its own mark, and return the remote's refusal."""
        remote, request = self._remote(zombie.request), zombie.request
        with open_checkout(
            self._home / "checkouts", "zombie-late", Remote(str(remote)), request.base,
            remote / "objects",
        ) as checkout:  # fmt: skip
            late = write_mark(
                checkout.git_dir, request.operation, zombie.claim, Mark.RESULT, zombie.mark,
                _signature(request), observation=_late().bytes,
            )  # fmt: skip
            try:
                push_result(
                    checkout.git_dir, Remote(str(remote)), ref_of(request.operation), late,
                    zombie.mark, None, None,
                )  # fmt: skip
            except FencepostError as fault:
                return f"{fault.code}: {fault.message}"
        raise SystemExit("the zombie's push was taken")

    def counts(self) -> dict[str, int]:
        """What the database and the remotes hold."""
        rows = self._rows(
            "select 'attempts ' || coalesce(outcome, 'active'), count(*) from fencepost.attempts"
            " group by 1 union all select 'claims ' || coalesce(end_cause, 'open'), count(*)"
            " from fencepost.claims group by 1"
            " union all select 'starts', count(*) from fencepost.starts"
            " union all select 'calls to the forge', count(*) from fencepost.effect_calls"
            " union all select 'results', count(*) from fencepost.results"
            " union all select 'settlements', count(*) from fencepost.settlements"
            " union all select 'refused claims', count(*) from fencepost.verdicts"
            " union all select 'unknowns', count(*) from fencepost.unknowns"
            " union all select 'receipts', count(*) from fencepost.receipts"
        )
        found = {str(row[0]): int(str(row[1])) for row in sorted(rows, key=str)}
        mirrors = sorted((self._home / "forge").glob("*.git"))
        requests = [
            request
            for path in mirrors
            for request in list_requests(open_mirror(path.parent, path.name.removesuffix(".git")))
        ]
        heads = {request.head for request in requests}
        found["pull requests at the forge"] = len(requests)
        found["branches that they come from"] = len(heads)
        return found

    def _request_of(self, attempt: str) -> tuple[ActivityKey, WorkRequest]:
        query = (
            "select world_id, activity_id from fencepost.activities"
            " where attempt_id = :attempt and kind = :kind"
        )
        named = {"attempt": attempt, "kind": author.NAME}
        until(lambda: self._rows(query, **named), "the activity")
        world, activity = self._rows(query, **named)[0]
        key = ActivityKey(WorldId(str(world)), Kind(author.NAME), ActivityId(str(activity)))
        with self._app.begin() as tx:
            return key, work_request(activities.get(tx, key).request)

    def _remote(self, request: WorkRequest) -> Path:
        return self._home / "forge" / f"{request.repository}.git"

    def _rows(self, query: str, **values: object) -> list[tuple[object, ...]]:
        with self._app.begin() as tx:
            return [tuple(row) for row in tx.execute(text(query), values)]


def until(condition: Callable[[], object], what: str, seconds: float = 60) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.05)


def _signature(request: WorkRequest) -> Author:
    return Author(request.signature.name, request.signature.email, request.signature.when)


def _late() -> Observation:
    """What the zombie believes to have found out."""
    value: dict[str, Json] = {"v": 1, "outcome": Outcome.UNCHANGED, "late": True}
    return Observation(Outcome.UNCHANGED, canonical(value))
