"""A worker killed while it drives the real Codex on a real library: one request, at any moment."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from doubles.models import Fail, ModelServer, Run, Say
from doubles.models.messages import Messages
from doubles.models.responses import Responses
from fixtures.agents import KEY, binary
from fixtures.role import Role, naming
from fixtures.seen import Seen
from fixtures.stack import Stack
from fixtures.world import Attempt
from real_library import make_repository

from app.domain.digest import stored
from app.domain.work_order import Agent
from app.events import Moment
from app.kinds import author, pull_request
from app.transitions.cancel import cancel
from app.transitions.change import LOCAL

AUTHOR = f"kind={author.NAME}"
WINDOWS = [
    (f"{Moment.SPAWNED} {AUTHOR}", "guarded under fence 2"),
    (f"{Moment.EXITED} {AUTHOR}", "guarded under fence 2"),
    (f"{Moment.COMMITTED} {AUTHOR}", "guarded under fence 2"),
    (f"{Moment.PUSHED} {AUTHOR}", "result under fence 1"),
    (f"{Moment.OPENED} kind={pull_request.NAME}", "result under fence 1"),
]
LONG = [pytest.mark.long]
ESCAPEE = Path(__file__).parents[1] / "doubles" / "escapee.py"
MODULE = "src/humanize/lists.py"
CHECK = f"PYTHONPATH=src {sys.executable} -m pytest -q -p no:cacheprovider tests/test_lists.py"


@pytest.fixture
def model(stack: Stack, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    """A model that changes the library and says so; the workers know where it is."""
    sources = request.config.rootpath / ".fencepost/sources"
    stack.source = make_repository(sources, tmp_path / "library")
    script = [Run(f"echo 'y = 2' >> {MODULE}"), Say("I added y.")]
    with ModelServer(Responses(), script) as server:
        stack.settings |= {
            "FENCEPOST_CODEX": binary("codex"),
            "FENCEPOST_OPENAI_BASE_URL": f"{server.url}/v1",
            "FENCEPOST_OPENAI_API_KEY": KEY,
        }
        yield server


def dispatched(stack: Stack) -> Attempt:
    """An attempt for Codex."""
    return stack.dispatch("", CHECK, agent=Agent("codex", f"Add y to {MODULE}."))


@pytest.mark.contract("M06", "M07", "E06", "E10", "O11")
@pytest.mark.parametrize(
    ("at", "then"),
    [
        pytest.param(at, then, marks=[] if number in (0, 3) else LONG, id=at.split()[0])
        for number, (at, then) in enumerate(WINDOWS)
    ],
)
def test_an_agent_is_begun_afresh_or_not_at_all(
    stack: Stack, model: ModelServer, at: str, then: str,
    killed_at: Callable[[Role], None], published_once: Callable[[Seen], None],
) -> None:  # fmt: skip
    """Before the push another agent runs from the beginning; after it none does."""
    seen = stack.seen(dispatched(stack))
    stack.start_dispatcher()
    worker = stack.start_worker(at)

    killed_at(worker)
    stack.until(lambda: not naming(stack.home))
    stack.build()

    published_once(seen)
    assert seen.chain[1] == then
    finished = [one for one in model.asked if model.wire.told(one.body)]
    begun = [one for one in model.asked if not model.wire.told(one.body)]
    runs = 1 if then.endswith("1") else 2
    assert len(finished) <= len(begun) <= runs
    execution = stored(seen.observation() or b"{}")["execution"]
    assert execution["usage"]["output_tokens"] == 40


@pytest.mark.contract("T09")
def test_a_model_that_comes_back_costs_no_attempt(
    stack: Stack, model: ModelServer, published_once: Callable[[Seen], None]
) -> None:
    """A run that its model left is handed back, and another claim begins it anew."""
    good, model.script = model.script, [Fail(429)]
    seen = stack.seen(dispatched(stack))
    stack.build()
    stack.until(lambda: stack.roles[-1].says("model_limited"))
    model.script = good

    published_once(seen)
    assert seen.chain[1].startswith("guarded")


@pytest.mark.contract("T09", "E11")
def test_a_model_that_refuses_fails_the_attempt(stack: Stack, model: ModelServer) -> None:
    """What another try would not mend is the end, and says why."""
    model.script = [Fail(401)]
    seen = stack.seen(dispatched(stack))
    stack.build()
    stack.until(lambda: seen.is_over)

    assert (seen.outcome, seen.requests, seen.starts()) == ("failed", [], 1)
    (friction,) = stored(seen.observation() or b"{}")["frictions"]
    assert friction["code"] == "model_unauthorized"


@pytest.mark.contract("Q08", "E06", "E10")
@pytest.mark.parametrize("name", ["codex", pytest.param("claude-code", marks=pytest.mark.long)])
def test_an_agent_that_ignores_a_cancel_is_gone_all_the_same(stack: Stack, name: str) -> None:
    """A tool of it traps TERM, forks and hides; the attempt is closed, and none of it is left."""
    checkouts, program = stack.home / "checkouts", name.partition("-")[0]
    words = shlex.join((sys.executable, str(ESCAPEE)))
    kinds = "deaf holder stopped hidden chain stay"
    script = [Run(f"mkdir left; exec {words} $PWD/left {kinds}"), Say("Never said.")]
    with ModelServer(Responses() if name == "codex" else Messages(), script) as server:
        vendor, path = ("OPENAI", "/v1") if name == "codex" else ("ANTHROPIC", "")
        stack.settings |= {
            f"FENCEPOST_{program.upper()}": binary(program),
            f"FENCEPOST_{vendor}_BASE_URL": f"{server.url}{path}",
            f"FENCEPOST_{vendor}_API_KEY": KEY,
        }
        attempt = stack.dispatch("", agent=Agent(name, "Never end."))
        seen = stack.seen(attempt)
        stack.build()
        stack.until(lambda: list(checkouts.glob("*/*/left/ready")))
        assert naming(checkouts)

        cancel(stack.store, stack.world, LOCAL, attempt.id, "it is not needed")

        stack.until(lambda: seen.is_over)
    assert (seen.outcome, seen.requests) == ("canceled", [])
    assert seen.chain == ["started under fence 1", "closed under fence 1"]
    assert naming(checkouts) == {}
    stack.until(lambda: not list(checkouts.glob("*")))
