"""What follows from how far the steps have come (O03, O05, O12)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.board import AttemptOutcome, StepState
from app.domain.result import Outcome
from app.workflow.graph import compile_workflow, default_definition
from app.workflow.progress import Came, after

PENDING, RUNS = StepState.PENDING, StepState.DISPATCHED
DONE, FAILED = StepState.SUCCEEDED, StepState.FAILED

DIAMOND = {
    "v": 1,
    "concurrency": 2,
    "steps": [
        {"name": "author", "kind": "author", "command": ["x"]},
        {"name": "lint", "kind": "command", "command": ["x"], "needs": ["author"]},
        {"name": "test", "kind": "command", "command": ["x"], "needs": ["author"]},
        {"name": "scan", "kind": "command", "command": ["x"], "needs": ["author"]},
        {"name": "ask", "kind": "gate", "needs": ["lint", "test", "scan"]},
        {"name": "propose", "kind": "pull_request", "needs": ["ask"]},
    ],
}


def came(graph, **states):
    found = {step.name: Came(PENDING) for step in graph.steps}
    for name, state in states.items():
        found[name] = state if isinstance(state, Came) else Came(state)
    return found


@pytest.mark.contract("O02", "O08")
def test_no_more_steps_run_than_the_bound():
    """Concurrency is bounded by the graph."""
    graph = compile_workflow(DIAMOND)

    assert after(graph, came(graph)).dispatch == ("author",)
    assert len(after(graph, came(graph, author=DONE)).dispatch) == 2
    assert len(after(graph, came(graph, author=DONE, lint=RUNS)).dispatch) == 1


@pytest.mark.contract("O12")
def test_a_gate_takes_no_place_of_a_running_step():
    """Waiting for a person holds no worker and no room."""
    graph = compile_workflow(DIAMOND)
    waiting = came(graph, author=DONE, lint=DONE, test=DONE, scan=DONE)

    assert after(graph, waiting).dispatch == ("ask",)
    assert after(graph, waiting | {"ask": Came(RUNS)}).outcome is None


@pytest.mark.contract("O05")
def test_a_failure_waits_for_what_runs_and_then_ends_everything_at_once():
    """Below the failure: blocked; the rest: skipped; nothing new starts."""
    graph = compile_workflow(DIAMOND)
    failing = came(graph, author=DONE, lint=FAILED, test=RUNS)

    assert after(graph, failing) == after(graph, failing, canceled=True)
    now = after(graph, failing | {"test": Came(DONE)})
    assert dict(now.end) == {
        "scan": StepState.SKIPPED, "ask": StepState.BLOCKED, "propose": StepState.BLOCKED,
    }  # fmt: skip
    assert now.outcome is AttemptOutcome.FAILED


def test_an_author_that_changed_nothing_ends_the_attempt_unchanged():
    """There is nothing to judge and nothing to propose."""
    graph = compile_workflow(default_definition(["x"], []))
    now = after(graph, came(graph, author=Came(DONE, Outcome.UNCHANGED)))

    assert now.end == (("pull_request", StepState.SKIPPED),)
    assert now.outcome is AttemptOutcome.UNCHANGED


def test_a_condition_skips_a_step_and_its_need_counts_as_met():
    """An optional step is optional for those that come after it."""
    graph = compile_workflow(
        {
            "v": 1,
            "steps": [
                {"name": "a", "kind": "command", "command": ["x"],
                 "outputs": {"type": "object", "properties": {"risk": {"type": "integer"}}}},
                {"name": "b", "kind": "gate", "needs": ["a"], "when": "steps.a.outputs.risk > `3`"},
                {"name": "c", "kind": "command", "command": ["x"], "needs": ["b"]},
            ],
        }
    )  # fmt: skip
    low = came(graph, a=Came(DONE, Outcome.GREEN, {"risk": 1}))
    high = came(graph, a=Came(DONE, Outcome.GREEN, {"risk": 9}))

    assert (after(graph, low).end, after(graph, low).dispatch) == (
        (("b", StepState.SKIPPED),),
        ("c",),
    )
    assert after(graph, high).dispatch == ("b",)


@pytest.mark.contract("O12")
def test_a_pause_starts_nothing_and_ends_nothing():
    """What runs goes on; what waits, waits."""
    graph = compile_workflow(DIAMOND)

    assert after(graph, came(graph, author=DONE), paused=True).dispatch == ()
    assert after(graph, came(graph, author=DONE), paused=True).outcome is None


@given(st.data())
def test_every_graph_comes_to_an_end(data):
    """Whatever each step does, the attempt ends, and no unfinished step is left."""
    size = data.draw(st.integers(1, 6))
    steps = [
        {
            "name": f"s{n}", "kind": data.draw(st.sampled_from(["command", "gate"])),
            "command": ["x"],
            "needs": [f"s{m}" for m in range(n) if data.draw(st.booleans())],
        }
        for n in range(size)
    ]  # fmt: skip
    graph = compile_workflow({"v": 1, "steps": steps, "concurrency": data.draw(st.integers(1, 3))})
    state = came(graph)

    for _ in range(4 * size):
        now = after(graph, state)
        state |= {name: Came(RUNS) for name in now.dispatch}
        state |= {name: Came(ended) for name, ended in now.end}
        if now.outcome is not None:
            break
        running = [name for name, step in state.items() if step.state is RUNS]
        name = data.draw(st.sampled_from(running))
        state[name] = Came(data.draw(st.sampled_from([DONE, FAILED])))

    assert now.outcome is not None
    assert not {step.state for step in state.values()} & {PENDING, RUNS}


WATCHED = {
    "v": 1,
    "steps": [
        {"name": "author", "kind": "author", "command": ["x"], "outputs": {"type": "object"}},
        {"name": "propose", "kind": "pull_request", "needs": ["author"],
         "when": "steps.author.outputs.worth == `true`"},
        {"name": "watch", "kind": "checks", "needs": ["propose"]},
        {"name": "tidy", "kind": "command", "command": ["x"], "needs": ["author"]},
    ],
}  # fmt: skip


@pytest.mark.contract("O12", "O08")
def test_a_watch_takes_no_place_of_a_running_step():
    """Waiting for others' checks keeps nothing else from running, and is waited for."""
    graph = compile_workflow(WATCHED)
    waiting = came(graph, author=DONE, propose=DONE, watch=RUNS)

    assert after(graph, waiting).dispatch == ("tidy",)
    assert after(graph, waiting | {"tidy": Came(DONE)}).outcome is None
    assert after(graph, waiting | {"tidy": Came(FAILED)}).outcome is None  # it is waited for


def test_without_a_request_there_is_nothing_to_watch():
    """A step that was skipped has opened none, so the watch is skipped too."""
    graph = compile_workflow(WATCHED)
    now = after(graph, came(graph, author=DONE, tidy=DONE))

    assert dict(now.end) == {"propose": StepState.SKIPPED, "watch": StepState.SKIPPED}
    assert now.outcome is AttemptOutcome.DONE
