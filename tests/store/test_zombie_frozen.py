"""A worker that freezes in the middle of a write holds its successor off for seconds only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest
from fixtures.database import Clock, Database, Timeouts, on_every_server
from fixtures.world import HEAD, LEASE, a_successor

import app
from app.domain.identity import Claim
from app.kinds.registry import KINDS
from app.store import engine, evidence
from app.store.engine import IDLE_TIMEOUT, STATEMENT_TIMEOUT, TRANSACTION_TIMEOUT, Store

pytestmark = [on_every_server, pytest.mark.contract("L2", "M12")]

WORKER = """
import json, sys
from app.domain.errors import FencepostError
from app.domain.identity import ActivityKey, Claim
from app.store import evidence
from app.store.engine import open_store

given = json.loads(sys.stdin.readline())
store = open_store(given["url"], name="test-frozen")
claim = Claim(ActivityKey(*given["key"]), given["fence"], given["token"])
try:
    with store.begin() as tx:
        evidence.start(tx, claim, given["sha"])
        print("inserted", flush=True)
        sys.stdin.readline()
except FencepostError as refusal:
    print(refusal.code, flush=True)
else:
    print("committed", flush=True)
"""


@pytest.fixture
def frozen(live: Claim, common: Database) -> Iterator[subprocess.Popen[str]]:
    """A worker's process, stopped after its insert and before its commit."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(Path(app.__file__).parents[1])},
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    key = live.key
    given = {"url": common.worker_url, "key": [key.world, key.kind, key.activity],
             "fence": live.fence, "token": live.token, "sha": HEAD}  # fmt: skip
    process.stdin.write(json.dumps(given) + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "inserted\n"
    process.send_signal(signal.SIGSTOP)
    yield process
    process.kill()
    process.communicate()


def test_zombie_frozen_in_a_transaction_is_passed_by(
    live: Claim, frozen: subprocess.Popen[str], control: Store, worker: Store, common: Database
) -> None:
    """The server ends the frozen session, its successor claims, and its late commit fails."""
    Clock(common).advance(LEASE)

    successor = a_successor(control, worker, live)
    frozen.send_signal(signal.SIGCONT)
    said, _ = frozen.communicate("commit\n", timeout=20)

    assert successor.fence == live.fence + 1
    assert said == "database_unreachable\n"
    with worker.begin() as tx:
        assert evidence.starts_of(tx, live.key) == {}


def test_zombie_timeouts_are_well_under_every_lease(
    common: Database, usual_timeouts: Timeouts
) -> None:
    """A session that hangs is ended long before its successor's own time is over."""
    longest = max(IDLE_TIMEOUT, STATEMENT_TIMEOUT, TRANSACTION_TIMEOUT)

    assert all(longest * 2 < kind.limits.lease for kind in KINDS.values())
    with (
        patch.object(engine, "_TIMEOUTS", usual_timeouts),
        closing(engine.open_store(common.worker_url, name="test-usual")) as worker,
        worker.begin() as tx,
    ):
        for setting, length in (
            ("idle_in_transaction_session_timeout", IDLE_TIMEOUT),
            ("statement_timeout", STATEMENT_TIMEOUT),
        ):
            found = tx.exec_driver_sql(
                "select setting::int from pg_settings where name = %s", (setting,)
            ).scalar_one()
            assert found == length.total_seconds() * 1000
