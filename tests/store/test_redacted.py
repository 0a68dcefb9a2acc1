"""The narrow ways by which something leaves a worker: no secret passes any of them (E09)."""

from __future__ import annotations

import ast
import io
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from fixtures.waiting import until
from sqlalchemy import select

from app import config, logs, secrecy
from app.broker.unburied import Unburied
from app.domain.dead_letter import LetterCause
from app.domain.event import EventType
from app.domain.failure import FailureClass, failure_class
from app.domain.identity import Claim
from app.domain.result import Outcome
from app.events import Event, Moment, subscribers
from app.kinds.ending import ending, observation_of
from app.store.engine import Store
from app.store.fencing import of_key
from app.store.schema import artifacts, claims, dead_letters, events, unknowns
from app.transitions.hold import hold
from app.transitions.release import release
from workers.burial import Undertaker
from workers.executors.complaints import Complaints
from workers.executors.lines import parts
from workers.journal import Journal
from workers.observation import Friction
from workers.workspace.output import Output, shown

pytestmark = pytest.mark.contract("E09")

CANARY = "canary-of-a-waist-0123456789/+abc"
MARK = "[redacted:anthropic-api-key]"
TOKEN = "ghp_" + "Ab1" * 12


@pytest.fixture(autouse=True)
def held() -> Iterator[None]:
    """This process holds a canary; what other tests hold is forgotten."""
    secrecy.HELD.forget()
    secrecy.note("FENCEPOST_ANTHROPIC_API_KEY", CANARY)
    yield
    secrecy.HELD.forget()


def kept(store: Store, live: Claim) -> str:
    """Every event and every artifact of a claim's activity."""
    with store.begin() as tx:
        rows = tx.execute(
            select(events.c.value).where(of_key(events, live.key)).order_by(events.c.n)
        ).scalars()
        data = tx.execute(select(artifacts.c.bytes).where(of_key(artifacts, live.key))).scalars()
        return b"\n".join([*rows, *data]).decode()


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_journal_joins_what_chunks_have_torn(
    worker: Store, live: Claim, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output, with and without colour and line ends, an event's texts at any depth, artifacts."""
    monkeypatch.setattr("workers.journal._EVERY", 0)  # each chunk is an event
    journal = Journal(worker, live)
    red = f"\x1b[31m{CANARY[:9]}\x1b[0m{CANARY[9:]}"
    told = f"key={CANARY} and {TOKEN}\n{red}\n".encode() + b"x" * 9000 + CANARY.encode()
    for start in range(0, len(told), size):
        journal.output(told[start : start + size])
    journal.end_output()
    journal.tell(EventType.COMMAND, command=["echo", CANARY], more={CANARY: [f"a {TOKEN}"]})
    journal.keep("agent-output", "text/plain", f"{CANARY}\n{TOKEN}\n".encode(), of=1)
    journal.close()

    text = kept(worker, live)
    output = "".join(re.findall(r'^{"text":"(.*)"}$', text, re.MULTILINE))
    assert CANARY not in text + output
    assert TOKEN not in text + output
    assert text.count(MARK) == 6
    assert text.count("[redacted:github-token]") == 3


def test_an_unfinished_line_is_told_when_its_program_ends(worker: Store, live: Claim) -> None:
    """Not later, and no other program's words are joined to it."""
    journal = Journal(worker, live)
    journal.output(b"no end")
    journal.end_output()
    journal.tell(EventType.STEP, step="agent")
    journal.output(b"another\n")
    journal.close()

    assert [line for line in kept(worker, live).split("\n") if "text" in line] == [
        '{"text":"no end"}', '{"text":"another\\n"}',
    ]  # fmt: skip


def test_why_work_is_held_or_handed_back(worker: Store, live: Claim) -> None:
    """Both are shown to people for as long as there are rows."""
    hold(worker, live, "operation_ref_missing", f"fatal: {CANARY} https://me:{TOKEN}@h/a")

    with worker.begin() as tx:
        row = tx.execute(select(unknowns).where(of_key(unknowns, live.key))).one()
    assert CANARY not in str(row)
    assert TOKEN not in str(row)
    assert MARK in str(row)


def test_why_a_claim_is_released(worker: Store, live: Claim) -> None:
    """It stands in the claim, and in the log line."""
    said: list[Event] = []
    subscribers.append(said.append)
    try:
        release(worker, live, f"transient: git: {CANARY}", timedelta(0))
    finally:
        subscribers.remove(said.append)

    with worker.begin() as tx:
        row = tx.execute(select(claims.c.end_detail).where(of_key(claims, live.key))).all()
    assert CANARY not in f"{row} {said}"
    assert MARK in str(row)


def test_a_buried_message(worker: Store, control: Store) -> None:
    """Whatever somebody put into a queue is kept without what this process holds."""

    class Nothing:
        def oldest(self) -> None:
            """None is put aside."""

    undertaker = Undertaker(worker, cast("Unburied", Nothing()), "w")
    undertaker.bring("missions.author", LetterCause.NOT_JSON, f"junk {CANARY}".encode())
    undertaker.close(10)

    with control.begin() as tx:
        rows = [row or b"" for row in tx.execute(select(dead_letters.c.bytes)).scalars()]
    assert not any(CANARY.encode() in row for row in rows)
    assert f"junk {MARK}".encode() in rows


def test_an_observation() -> None:
    """All of it, and its reason before that is cut."""
    found = observation_of(Outcome.FAILED, {"outcome": "failed", "a": [{"b": f"x {CANARY}"}]})
    assert CANARY.encode() not in found.bytes
    assert MARK.encode() in found.bytes
    cut = ending(Outcome.FAILED, "git_failed", "x" * 1990 + CANARY).bytes.decode()
    assert CANARY[:5] not in cut
    assert CANARY[:5] not in str(Friction("check_failed", "x" * 1990 + CANARY).as_json())


def test_only_one_place_makes_observations() -> None:
    """Whoever makes one elsewhere has to think of redaction too; so nobody does."""
    house = Path(__file__).parents[2]
    makers = {
        str(file.relative_to(house))
        for room in ("app", "workers")
        for file in (house / room).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Observation"
    }
    assert makers == {"app/kinds/ending.py", "app/domain/result.py"}  # the latter reads them


def test_log_lines_and_the_ends_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes them, with or without a traceback."""
    stream = io.StringIO()
    root, hooks = logging.getLogger(), (sys.excepthook, threading.excepthook)
    handlers, level, listening = root.handlers[:], root.level, subscribers[:]
    monkeypatch.setattr(sys, "stderr", stream)
    try:
        logs.to_stderr("worker")
        subscribers[-1](Event(Moment.TROUBLE, {"what": f"it says {CANARY}"}))
        logging.getLogger("celery").warning("refused: %s", {"token": TOKEN})
        thread = threading.Thread(target=int, args=[f"no number: {CANARY}"], name="a-thread")
        thread.start()
        thread.join()
    finally:
        root.handlers[:], root.level, subscribers[:] = handlers, level, listening
        sys.excepthook, threading.excepthook = hooks

    said = stream.getvalue()
    assert CANARY not in said
    assert TOKEN not in said
    assert said.count(MARK) == 2
    assert "thread a-thread" in said
    assert "ValueError" in said


def test_the_end_of_an_output_is_of_whole_secrets() -> None:
    """Where it is cut off amid one, nothing of it is left; size and digest are of what came."""
    for before in range(980, 1060):
        output = Output(kept=1000)
        output.add(b"a" * 5000 + b"\n" + CANARY.encode() + b"\n" + b"b" * before)
        tail = output.so_far().tail.decode()
        assert not any(CANARY[at : at + 6] in tail for at in range(len(CANARY) - 6)), before
    assert CANARY not in shown(f"\x1b[1m{CANARY[:4]}\x1b[0m{CANARY[4:]}\0".encode())


def test_what_an_agent_says() -> None:
    """Each text of an object, before it is cut; and words on stderr, line by line."""
    (found,) = parts(f'{{"type": "x", "a": ["{CANARY}"], "n": 1.5}}\n'.encode())
    assert found == {"type": "x", "a": [MARK], "n": 1.5}
    complaints = Complaints()
    list(
        complaints.hear(
            f"{'x' * 230}{CANARY}\n-----BEGIN PRIVATE KEY-----\n{'Ab1' * 20}\n".encode()
        )
    )
    assert CANARY[:6] not in complaints.last
    assert "Ab1Ab1" not in complaints.last


def test_a_key_that_was_replaced_counts_at_once(tmp_path: Path) -> None:
    """Both the old value, which a run may still hold, and the new one."""
    file = tmp_path / "key"
    file.write_text("old-canary-0123456789\n")
    key = config.late({"FENCEPOST_OPENAI_API_KEY_FILE": str(file)}, "FENCEPOST_OPENAI_API_KEY")
    assert key is not None
    file.write_text("new-canary-0123456789\n")

    assert key.word() == "new-canary-0123456789"
    told = secrecy.redacted("old-canary-0123456789 new-canary-0123456789")
    assert told == "[redacted:openai-api-key] [redacted:openai-api-key]"
    file.write_text("unread-canary-0123456789\n")
    until(lambda: "unread" not in secrecy.redacted("unread-canary-0123456789"), 10)


def test_what_came_by_the_environment_is_not_shown_in_proc() -> None:
    """Whoever may read it there finds no value; the process and its children still have it."""
    script = (
        "import os, subprocess; from app import config; config.read();"
        "print(open('/proc/self/environ').read().replace(chr(0), ' '));"
        "print(os.environ['FENCEPOST_TOKEN']);"
        "print(subprocess.run(['sh', '-c', 'echo $FENCEPOST_TOKEN'], capture_output=True).stdout)"
    )
    url = f"postgresql://me:{CANARY.replace('/', '%2F')}@h/d"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "FENCEPOST_TOKEN": CANARY, "FENCEPOST_DATABASE_URL": url},
    )  # fmt: skip

    shown_by_kernel, own, childs = done.stdout.splitlines()
    assert re.search(r"FENCEPOST_TOKEN=\*+ ", shown_by_kernel + " ")
    assert CANARY[:8] not in shown_by_kernel
    assert own == CANARY
    assert CANARY in childs


@pytest.mark.parametrize("code", ["secret_in_identity", "secret_in_candidate"])
def test_a_quarantine_is_not_tried_again(code: str) -> None:
    """Another run would write the same."""
    assert failure_class(code) is FailureClass.SCOPE_VIOLATION
