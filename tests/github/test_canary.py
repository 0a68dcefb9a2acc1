"""Every credential is a canary: agents tell them in every way, and they are found nowhere."""

from __future__ import annotations

import shlex
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from secrets import token_hex

import pytest
from doubles.github.server import GitHub
from doubles.models import Answer, Fail, ModelServer, Run, Say, Write
from doubles.models.messages import Messages
from doubles.models.responses import Responses
from fixtures.agents import binary
from fixtures.canary import Canaries, command_lines
from fixtures.command import Fencepost
from fixtures.github_site import NAME, Site
from fixtures.seen import Seen
from fixtures.stack import Stack
from fixtures.waiting import until
from fixtures.world import Attempt
from sqlalchemy.engine import make_url

from app.domain.board import Column
from app.domain.digest import stored
from app.domain.executor import AGENTS, COMMAND
from app.domain.work_order import Agent, MergeStrategy, Specification
from app.embedded import valkey
from app.transitions.add_repository import add_repository
from app.transitions.approve import approve
from app.transitions.change import LOCAL
from app.transitions.dispatch import Base, dispatch
from app.transitions.draft import draft
from app.transitions.move import move
from app.transitions.submit import submit

pytestmark = pytest.mark.contract("E09", "E02")

#: What tells everything it finds, in pieces of any length.
TELLS = """
import sys, time
lines = open(sys.argv[1], "rb").read().splitlines()
for number, line in enumerate(lines):
    for start in range(0, len(line), 7):
        sys.stdout.buffer.write(line[start : start + 7])
        sys.stdout.buffer.flush()
        time.sleep(0.01 if number < 3 else 0)
    sys.stdout.buffer.write(b"\\n" if number % 2 else b" ")
print("\\x1b[31m" + lines[0].decode()[:9] + "\\x1b[0m" + lines[0].decode()[9:])
"""
#: What has no shape of its own.
GIVEN = (
    "FENCEPOST_OPENAI_API_KEY", "FENCEPOST_ANTHROPIC_API_KEY", "FENCEPOST_WEBHOOK_SECRET",
    "FENCEPOST_TOKEN",
)  # fmt: skip
MODELS = {
    "codex": ("FENCEPOST_CODEX", "FENCEPOST_OPENAI_BASE_URL", Responses(), "/v1"),
    "claude-code": ("FENCEPOST_CLAUDE", "FENCEPOST_ANTHROPIC_BASE_URL", Messages(), ""),
}


class Place:
    """A stack whose every credential is a canary."""

    def __init__(self, site: Site, canaries: Canaries) -> None:
        self.site, self.stack, self.canaries = site, site.stack, canaries
        self.github = site.stack.home.parent / "github"
        self.known = add_repository(
            self.stack.store, self.stack.world, LOCAL, "widgets", site.url, "github"
        )
        self.leaks = self.stack.outside / "leaks"
        # what a worker does not hold it knows by its shape alone
        self.leaks.write_text("\n".join(canaries.leaks("owner_url", "app_url")) + "\n")
        (self.stack.outside / "tells.py").write_text(TELLS)

    def dispatch(
        self, command: str = "", agent: str | None = None, title: str = "Change it"
    ) -> Seen:
        """Dispatch a command, or an agent that does as its model says."""
        stack, limit = self.stack, timedelta(minutes=2)
        work = Specification(
            title, "main", (), () if agent else ("sh", "-c", command),
            (f"cat {self.leaks}; true",), limit, limit, merge=MergeStrategy.PARALLEL,
            merge_bound=8, executor=AGENTS[agent] if agent else COMMAND,
            agent=Agent(agent, "Do it.") if agent else None,
        )  # fmt: skip
        new = draft(stack.store, stack.world, LOCAL, self.known.id, work)
        submit(stack.store, stack.world, LOCAL, new.work_order)
        approve(stack.store, stack.world, LOCAL, new.work_order)
        move(stack.store, stack.world, LOCAL, new.task, Column.READY, "it is approved")
        base = Base("main", self.site.door.refs(NAME)["refs/heads/main"])
        attempt = dispatch(stack.store, stack.world, LOCAL, new.task, base)
        return stack.seen(Attempt(stack.world, new.task, attempt))

    def ended(self, seen: Seen) -> list[str]:
        """Wait for the end of an attempt; the codes of what went wrong."""
        self.stack.until(lambda: seen.is_over, 90)
        frictions = stored(seen.observation() or b"{}")["frictions"]
        return [one["code"] for one in frictions]

    def found(self) -> dict[str, set[str]]:
        """Wherever a canary is, in all that the product keeps."""
        told = str(self.site.door.pulls(NAME)).encode()
        return {
            **self.canaries.in_database(self.stack.database),
            **self.canaries.in_redis(self.stack.redis_url),
            **self.canaries.in_files(self.stack.home, self.github),
            **({"pull requests": here} if (here := self.canaries.in_bytes(told)) else {}),
        }


@pytest.fixture
def place(stack: Stack, github: GitHub) -> Place:
    """A stack of which nothing runs yet."""
    given = {name: f"canary-{token_hex(12)}/{token_hex(6)}+x" for name in GIVEN}
    given["FENCEPOST_GITHUB_TOKEN"] = github.door.add_token(value=f"canary-{token_hex(16)}")
    stack.settings |= given | {
        "FENCEPOST_GITHUB_URL": github.api, "FENCEPOST_GITHUB_SETTLE": "3",
    }  # fmt: skip
    database, urls = stack.database, {}
    for name in ("owner_url", "app_url", "worker_url"):
        urls[name] = str(make_url(getattr(database, name)).password)
    urls["redis"] = str(make_url(stack.redis_url).password)
    site = Site(stack, github, github.door.refs(NAME)["refs/heads/main"])
    return Place(site, Canaries(given | urls))


@pytest.fixture
def arguments(place: Place) -> Iterator[set[str]]:
    """The canaries that stood among a process's arguments, at any time."""
    told: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            for line in command_lines(place.stack.home):
                told.update(place.canaries.in_bytes(line))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    yield told
    over.set()
    looking.join()


@pytest.fixture
def flower(place: Place, tmp_path: Path) -> Iterator[int]:
    """The port of a Flower beside the stack."""
    port = valkey.free_port()
    urls = {"FENCEPOST_REDIS_URL": place.stack.redis_url}
    begun = Fencepost(tmp_path / "flower", urls).begin("flower", "--port", str(port))
    until(lambda: page(port, "/healthcheck") == b"OK", 40)
    yield port
    begun.terminate()
    begun.communicate(timeout=10)


def page(port: int, path: str) -> bytes:
    """A page of Flower, or what it says in its place."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.read()
    except OSError:
        return b""


def telling(place: Place) -> str:
    """A command that tells all that is to be known, waits until it is looked at, and is green."""
    out, python = place.stack.outside, shlex.quote(sys.executable)
    home = shlex.quote(str(place.stack.home))
    return f"""
env; cat {out}/leaks; cat {out}/leaks >&2; {python} {out}/tells.py {out}/leaks
for one in $(grep -la {home} /proc/[0-9]*/environ 2>/dev/null); do
  tr '\\0' '\\n' < $one; tr '\\0' ' ' < $(dirname $one)/cmdline; base64 -w0 $one; echo
done
head -c 70000 /dev/zero | tr '\\0' x; cat {out}/leaks
touch {out}/told; until [ -e {out}/go ]; do sleep 0.05; done
echo 'y = 2' >> a.py"""


def test_a_command_that_tells_everything(place: Place, arguments: set[str], flower: int) -> None:
    """It prints every credential in every form; a request is opened, and they are nowhere."""
    seen = place.dispatch(telling(place))
    place.stack.build()
    place.stack.until((place.stack.outside / "told").exists, 90)
    while_it_runs = place.found()
    worker = place.stack.roles[-1].process.pid
    shown = Path(f"/proc/{worker}/environ").read_bytes()
    (place.stack.outside / "go").touch()

    assert place.ended(seen) == []
    (pull,) = place.site.door.pulls(NAME)
    assert pull["head_sha"] in str(seen.observation())
    pages = [page(flower, path) for path in ("/workers", "/tasks", "/broker", "/api/tasks")]
    assert place.canaries.in_bytes(b"".join(pages)) == set()
    assert "fencepost" in pages[0].decode()
    assert (while_it_runs, place.found(), arguments) == ({}, {}, set())
    assert place.canaries.in_bytes(shown) == set(), "in the worker's environment"
    assert str(seen.observation()).count("[redacted:") > 3


@pytest.mark.parametrize("agent", MODELS)
def test_an_agent_whose_model_tells_its_key(place: Place, agent: str, arguments: set[str]) -> None:
    """In words, in what it runs, and in what it refuses with; what it changed is proposed."""
    program, address, wire, path = MODELS[agent]
    name = f"FENCEPOST_{'OPENAI' if agent == 'codex' else 'ANTHROPIC'}_API_KEY"
    key = place.canaries.values[name]
    out = place.stack.outside
    wait = f"touch {out}/told; until [ -e {out}/go ]; do sleep 0.05; done"
    green: list[Answer] = [
        Run(f"echo 'y = 2' >> a.py; echo {key}; printf %s {key[:9]}; printf %s {key[9:]}; env"),
        Run(f"cat {place.leaks} >&2; cat /proc/$PPID/environ; false"), Run(wait),
        Say(f"I was sent {key}, that is {key.encode().hex()}."),
    ]  # fmt: skip
    with ModelServer(wire, green) as model:
        place.stack.settings |= {
            program: binary(agent.partition("-")[0]), address: model.url + path,
        }  # fmt: skip
        seen = place.dispatch(agent=agent)
        place.stack.build()
        if agent == "codex":  # its sandbox lets it write nowhere else
            place.stack.until(lambda: len(model.asked) > 2, 90)
        else:
            place.stack.until((out / "told").exists, 90)
        while_it_runs = place.found()
        (place.stack.outside / "go").touch()
        assert place.ended(seen) == []

        model.script = [Fail(401, f"incorrect key {key} given: {key[:-2]}")]
        assert place.ended(place.dispatch(agent=agent)) == ["model_unauthorized"]

        file = "b.txt" if agent == "codex" else None
        writes = Write(file, f"key = {key}\n") if file else Run(f"echo key = {key} > b.txt")
        model.script = [writes, Say("I wrote it down.")]
        assert place.ended(place.dispatch(agent=agent)) == ["secret_in_candidate"]

    assert len(place.site.door.pulls(NAME)) == 1
    assert (while_it_runs, place.found()) == ({}, {})
    assert arguments <= {name}, "beyond what the model itself had a shell print"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("cp a.py x$(grep -m1 -xE '[0-9a-f]+' {leaks}).py", "secret_in_identity"),
        ("cp a.py x-ghp_$(printf %036d 7).py", "secret_in_identity"),
        ("grep canary {leaks} | base64 -w0 > b.txt", "secret_in_candidate"),
        ("head -1 {leaks} | tr -d '\\n' >> a.py", "secret_in_candidate"),
        ("ln -s $(grep -m1 canary {leaks} | head -1) b", "secret_in_candidate"),
    ],
)
def test_a_candidate_with_a_secret_is_not_published(place: Place, command: str, code: str) -> None:
    """In the name of a file or in a file: nothing of it is pushed, and why tells nothing."""
    seen = place.dispatch(command.format(leaks=place.leaks))
    place.stack.build()

    codes = place.ended(seen)
    assert code in codes
    assert (seen.outcome, place.site.door.pulls(NAME)) == ("failed", [])
    heads = [ref for ref in place.site.door.refs(NAME) if ref.startswith("refs/heads/")]
    assert heads == ["refs/heads/main"]
    assert place.found() == {}


def test_a_name_that_holds_a_secret_begins_nothing(place: Place) -> None:
    """A title becomes a commit and a request; who typed a key into it is told, not published."""
    token = f"ghp_{7:036}"
    seen = place.dispatch(place.stack.counted("ran"), title=f"Use {token}")
    place.stack.build()

    assert place.ended(seen) == ["secret_in_identity"]
    assert (place.stack.count("ran"), place.site.door.pulls(NAME)) == (0, [])
    assert token not in f"{seen.observation()} {place.stack.logs()}"
    assert Canaries({"token": token}).in_files(place.stack.home, place.github) == {}


def test_what_only_looks_like_a_secret_is_published_and_said(place: Place) -> None:
    """A repository's own tests need keys that look real; whoever reviews is told of them."""
    seen = place.dispatch("printf 'KEY = \"ghp_%036d\"\\n' 7 > b.py")
    place.stack.build()

    assert place.ended(seen) == []
    assert len(place.site.door.pulls(NAME)) == 1
    with place.stack.database.as_superuser() as connection:
        events = connection.execute("select value from fencepost.events").fetchall()
    (warning,) = [value for (value,) in events if b"looks like a secret" in value]
    assert b"b.py: it adds what looks like a secret: github-token" in warning
