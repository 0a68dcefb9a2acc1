"""What runs write, on the whole road: bounded, stored safely, shown safely (E05)."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.role import Role
from fixtures.seen import Seen
from fixtures.stack import Stack

from app.domain.digest import canonical, stored
from app.domain.work_order import Agent

pytestmark = pytest.mark.contract("E05")

MB = 1_000_000
#: What steers terminals, or fools whoever reads: each around the letters that are to be seen.
TRICKS = [
    b"\x1b[31;1mRED\x1b[0m", b"\x1b[2J\x1b[HCLEAR", b"\x1b]0;TITLE\x07", b"\x1b]52;c;ZXZpbA==\x07",
    b"\x1b]8;;http://evil.example/\x1b\\LINK\x1b]8;;\x1b\\", b"\x1bP1;1|17/ab\x1b\\DCS",
    b"\x1b[6nREPORT", b"\x1b]never closed", b"\x9b31mC1\x9c", "\u009b31mC1 in UTF-8".encode(),
    "BIDI \u202e\u2066txt.exe\u2069".encode(), b"all is well\rEVIL", b"over\x08\x08\x08\x08under",
    b"NUL \0 NUL", b"BAD \xff\xfe \xed\xa0\x80 UTF-8", b"BELL \x07\x07", b"\xef\xbb\xbfBOM",
    "\u2028LINE\u2029".encode(), "\U000e0041TAG".encode(), b"\x1b[?1049hSCREEN", b"DEL\x7f",
]  # fmt: skip
#: Writes each trick to both streams, then leaves files whose names are tricks too.
TRICKSTER = f"""
import os, sys
for trick in {TRICKS!r}:
    for stream in (1, 2):
        os.write(stream, trick + b"\\n")
for name in (b"a\\x1b]0;name\\x07.py", "b\\u202etxt.py".encode(), b"c\\rd\\n.py", b"\\xff.py"):
    open(name, "wb").write(b"\\x1b]0;content\\x07\\r\\n")
"""
#: What a terminal may be told: colours, of our own choice.
COLOUR = re.compile(r"\x1b\[[0-9]{1,2}m")
STEERS = ("Cc", "Cf", "Zl", "Zp", "Cs")

#: How people and programs see it.
EVERY_WAY = (
    ("attempts", "show"), ("explain",), ("logs",), ("logs", "--artifact", "agent-output"),
    ("logs", "--json"), ("attempts", "show", "--json"), ("explain", "--json"),
)  # fmt: skip

Shows = Callable[..., tuple[str, str]]


@pytest.fixture
def shows(stack: Stack) -> Shows:
    """Run a command of ours; what it writes into a pipe, and to a terminal."""
    words = [sys.executable, "-P", "-m", "app.cli"]
    environment = dict(stack.environment(stack.database.app_url)) | {"TERM": "xterm-256color"}

    def show(*arguments: str) -> tuple[str, str]:
        command = [*words, *arguments]
        piped = subprocess.run(
            command, env=environment, cwd=stack.home, capture_output=True, check=True
        )
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            command, env=environment, cwd=stack.home, stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            seen = b""
            while chunk := read(ours):
                seen += chunk
        os.close(ours)
        assert process.returncode == 0, seen
        said = (piped.stdout + piped.stderr).decode("utf-8", "replace")
        return said, seen.replace(b"\r\n", b"\n").decode()

    return show


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # its other end is closed
        return b""


def peak_of(worker: Role) -> int:
    """The most memory that a process has had, in bytes."""
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def warm(stack: Stack) -> Role:
    """A worker that has done everything once."""
    stack.start_dispatcher()
    worker = stack.start_worker()
    seen = stack.seen(stack.dispatch("seq 100000; echo 1 > b.py", "seq 100000"))
    stack.until(lambda: seen.is_over)
    assert seen.outcome == "done"
    return worker


def steering(text: str) -> list[str]:
    """The signs in a text that are none to look at."""
    plain = COLOUR.sub("", text).replace("\n", "")
    return [sign for sign in plain if unicodedata.category(sign) in STEERS]


def texts_of(stack: Stack, seen: Seen) -> list[str]:
    """Every event of an attempt, as it is stored."""
    with stack.database.as_superuser() as session:
        rows = session.execute(
            "select value from fencepost.events where attempt_id = %s", (seen.attempt.id,)
        ).fetchall()
    for (value,) in rows:
        assert canonical(json.loads(bytes(value))) == bytes(value)
    return [bytes(value).decode() for (value,) in rows]


@pytest.mark.parametrize("stream", [1, 2])
def test_a_flood_fills_no_memory(stack: Stack, stream: int) -> None:
    """200 MB without a newline, of the command and of a check, cost the worker next to nothing."""
    worker = warm(stack)
    before = peak_of(worker)
    flood = f"head -c {200 * MB} /dev/zero | tr '\\0' x >&{stream}"

    seen = stack.seen(stack.dispatch(f"{flood}; echo 2 > b.py", f"head -c {200 * MB} /dev/zero"))
    stack.until(lambda: seen.is_over, 120)

    assert seen.outcome == "done"
    assert peak_of(worker) - before < 64 * 1024 * 1024
    observation = stored(seen.observation() or b"{}")
    execution, (check,) = observation["execution"], observation["checks"]
    assert (execution["output_bytes"], check["output_bytes"]) == (200 * MB, 200 * MB)
    whole = hashlib.sha256()
    for _ in range(200):
        whole.update(b"x" * MB)
    assert execution["output_digest"] == whole.hexdigest()
    assert sum(map(len, texts_of(stack, seen))) < 3 * MB


@pytest.mark.parametrize("size", [3 * MB, 10 * MB], ids=["held", "let go"])
def test_a_line_of_an_agent_fills_no_memory(stack: Stack, tmp_path: Path, size: int) -> None:
    """One line of JSON of megabytes beside a flood on stderr: the last word is read anyhow."""
    program = tmp_path / "codex"
    item = '{"type":"item.completed","item":{"type":"agent_message","text":"'
    program.write_text(f"""#!/bin/sh
case "$*" in *--version*) echo codex-cli 0.171.5; exit;; sandbox*) exit;; esac
head -c {50 * MB} /dev/zero >&2 &
printf %s {shlex.quote(item)}; head -c {size} /dev/zero | tr '\\0' x; echo '"}}}}'
wait
echo 3 > b.py
echo '{{"type":"turn.completed","usage":{{"output_tokens":7}}}}'
""")
    program.chmod(0o755)
    stack.settings |= {"FENCEPOST_CODEX": str(program), "FENCEPOST_OPENAI_API_KEY": "sk-none"}
    worker = warm(stack)
    before = peak_of(worker)

    seen = stack.seen(stack.dispatch("", agent=Agent("codex", "Write a lot.")))
    stack.until(lambda: seen.is_over, 120)

    assert seen.outcome == "done", seen.observation()
    assert peak_of(worker) - before < 64 * 1024 * 1024
    execution = stored(seen.observation() or b"{}")["execution"]
    assert execution["usage"]["output_tokens"] == 7
    assert execution["output_bytes"] > 50 * MB + size
    assert sum(map(len, texts_of(stack, seen))) < 3 * MB


def test_what_a_run_writes_steers_no_terminal(stack: Stack, shows: Shows) -> None:
    """Escapes, directions, broken UTF-8 and NULs are stored as text, and shown as what they are."""
    trickster = shlex.join((sys.executable, "-c", TRICKSTER))
    stack.build()
    green = stack.seen(stack.dispatch(trickster, f"cd /; {trickster} || true"))
    red = stack.seen(stack.dispatch("echo 1 > c.py", f"{trickster}; exit 3"))
    stack.until(lambda: green.is_over and red.is_over)

    assert (green.outcome, red.outcome) == ("done", "failed"), stack.logs()
    for seen in (green, red):
        for text in texts_of(stack, seen):
            assert steering(text) == []
        observation = seen.observation() or b"{}"
        assert canonical(stored(observation)) == observation
        for name in ("execution", "checks"):
            assert steering(observation_text(observation, name)) == []
        for words in EVERY_WAY if seen is green else EVERY_WAY[:2]:
            for text in shows(*words, seen.attempt.id):
                assert steering(text) == [], words
    _, diff = shows("logs", green.attempt.id, "--artifact", "diff")
    assert steering(diff) == []
    piped, _ = shows("logs", green.attempt.id)
    for word in ("RED", "LINK", "REPORT", "EVIL", "BAD", "TAG", "BOM"):
        assert word in piped
    assert "evil.example" not in piped
    (request,) = green.requests
    assert steering(request.title + request.body) == []
    assert "name" in request.body


def observation_text(observation: bytes, name: str) -> str:
    """The texts of a part of an observation, without what JSON makes of them."""
    found: list[str] = []

    def gather(value: object) -> None:
        if isinstance(value, str):
            found.append(value)
        for one in value.values() if isinstance(value, dict) else []:
            gather(one)
        for one in value if isinstance(value, list) else []:
            gather(one)

    gather(stored(observation)[name])
    return "".join(found).replace("\t", "")
