"""Definitions compile to a graph, or are refused with the node named (O02)."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from app.workflow.graph import MOST_STEPS, WorkflowFault, compile_workflow, default_definition

OBJECT = {"type": "object", "properties": {"risk": {"type": "integer"}}}


def a_step(name, kind="command", **more):
    return {"name": name, "kind": kind, "command": ["true"], **more}


def definition(*steps, **more):
    return {"v": 1, "steps": list(steps), **more}


def refusal(value):
    with pytest.raises(WorkflowFault) as caught:
        compile_workflow(value)
    return caught.value.code, caught.value.node, caught.value.message


@pytest.mark.contract("O02")
def test_steps_come_in_an_order_that_respects_every_need():
    """A graph is written in any order, and run in one that works."""
    graph = compile_workflow(
        definition(
            a_step("propose", "pull_request", needs=["test", "lint"]),
            a_step("lint", needs=["author"]),
            a_step("author", "author"),
            a_step("test", needs=["author"]),
        )
    )

    names = [step.name for step in graph.steps]
    assert names[0] == "author"
    assert names[-1] == "propose"
    assert graph.below(["author"]) == {"lint", "test", "propose"}


@pytest.mark.contract("O02")
@pytest.mark.parametrize(
    ("code", "node", "value"),
    [
        ("duplicate_step", "a", definition(a_step("a"), a_step("a"))),
        ("unknown_dependency", "a", definition(a_step("a", needs=["b"]))),
        ("self_dependency", "a", definition(a_step("a", needs=["a"]))),
        ("bad_concurrency", "", definition(a_step("a"), concurrency=0)),
        ("bad_concurrency", "", definition(a_step("a"), concurrency=True)),
        ("bad_step_name", "-x", definition(a_step("-x"))),
        ("bad_retry", "a", definition(a_step("a", retry={"budget": {"attempts": 1}}))),
        ("bad_retry", "a", definition(a_step("a", retry={"transient": {"attempts": -1}}))),
        ("unknown_step_kind", "a", definition(a_step("a", "magic"))),
        ("bad_output_contract", "a", definition(a_step("a", outputs={"type": "objekt"}))),
        ("bad_output_contract", "a", definition(a_step("a", outputs={"type": "string"}))),
        ("bad_output_contract", "a", definition(a_step("a", outputs=["risk"]))),
        ("missing_command", "a", definition({"name": "a", "kind": "author"})),
        ("several_authors", "b", definition(a_step("a", "author"), a_step("b", "author"))),
        ("nothing_to_propose", "p", definition(a_step("p", "pull_request"))),
        ("no_steps", "", {"v": 1, "steps": []}),
        ("too_many_steps", "", definition(*(a_step(f"s{n}") for n in range(MOST_STEPS + 1)))),
        ("too_many_steps", "", definition(*(a_step(f"s{n}") for n in range(10_000)))),
    ],
)
def test_a_fault_is_named_with_its_node(code, node, value):
    """The writer of a workflow is told which step to look at."""
    assert refusal(value)[:2] == (code, node)


@pytest.mark.contract("O02")
def test_a_cycle_is_printed():
    """The path shows the way round."""
    code, _, message = refusal(
        definition(a_step("a", needs=["c"]), a_step("b", needs=["a"]), a_step("c", needs=["b"]))
    )

    way = message.partition("needs ")[2].split(" → ")
    needs = {("a", "c"), ("c", "b"), ("b", "a")}
    assert code == "cycle"
    assert set(itertools.pairwise(way)) == needs


@pytest.mark.contract("O02", "S03")
@pytest.mark.parametrize(
    "when",
    [
        "steps.a.outcome ==",
        "__import__('os').system('true')",
        "secrets.token == 'x'",
        "steps.a.environment == 'x'",
        "steps.later.outcome == 'green'",
        "steps.b.outcome == 'green'",
        "@",
        "`true`",
        "x" * 600,
    ],
)
def test_a_condition_reaches_nothing_but_the_steps_before_it(when):
    """A safe language: no names, no calls into Python, nothing of the host."""
    value = definition(a_step("a"), a_step("b", needs=["a"], when=when), a_step("later"))

    assert refusal(value)[:2] == ("bad_condition", "b")


@pytest.mark.contract("O02")
def test_reading_outputs_needs_a_contract():
    """What a condition reads has been promised by the step that writes it."""
    reads = a_step("b", needs=["a"], when="steps.a.outputs.risk < `3`")

    assert refusal(definition(a_step("a"), reads))[:2] == ("missing_output_contract", "a")
    assert compile_workflow(definition(a_step("a", outputs=OBJECT), reads))


def test_the_road_of_a_single_command_compiles():
    """What `fencepost run` does is a workflow like any other."""
    graph = compile_workflow(default_definition(["true"], ["true"]))

    assert [step.name for step in graph.steps] == ["author", "pull_request"]


def watching(**of_checks):
    """A workflow that ends with a checks step."""
    return definition(
        a_step("author", "author"),
        {"name": "propose", "kind": "pull_request", "needs": ["author"]},
        {"name": "watch", "kind": "checks", "needs": ["propose"], **of_checks},
    )


@pytest.mark.contract("O02")
@pytest.mark.parametrize(
    ("of_checks", "code"),
    [
        ({"needs": ["author"]}, "nothing_to_watch"),
        ({"timeout_s": 0}, "bad_timeout"),
        ({"timeout_s": "2h"}, "bad_timeout"),
        ({"kind": "gate", "timeout_s": 5}, "bad_timeout"),
    ],
)
def test_a_checks_step_has_a_request_and_a_time(of_checks, code):
    """It watches what a pull_request step before it has opened; no other step has a timeout."""
    assert refusal(watching(**of_checks))[:2] == (code, "watch")


def test_a_checks_step_has_a_time_of_its_own_or_the_usual_one():
    """Which that is, is not the graph's matter."""
    for of_checks, timeout in (({}, None), ({"timeout_s": 90}, timedelta(seconds=90))):
        assert compile_workflow(watching(**of_checks)).step("watch").timeout == timeout
