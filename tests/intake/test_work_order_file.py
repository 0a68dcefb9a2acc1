"""A work order file is read exactly, or refused with line and column of every fault."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from app.domain.digest import canonical
from app.domain.extent import Extent
from app.domain.work_order import Budget, MergeStrategy, RetryRule
from app.intake.fault import UnfitFile
from app.intake.work_order_file import WorkOrderFile, read
from app.workflow.graph import compile_workflow

WHOLE = """\
title: Tidy the source
repository: ../humanize
base: main
paths: [src/**, tests/**]
exclude: [src/vendor/**]
command: [ruff, format, src]
checks:
  - pytest -q
workflow:
  concurrency: 2
  steps:
    - {name: author, kind: author}
    - name: lint
      kind: command
      command: ruff check
      needs: [author]
      outputs: {type: object, properties: {risk: {type: integer}}}
      retry: {transient: {attempts: 1, backoff: 2m}}
    - {name: look, kind: gate, needs: [lint], when: steps.lint.outputs.risk > `3`}
    - {name: propose, kind: pull_request, needs: [look]}
budget: {attempts: 3, wall_time: 2h, cost: 2.50, tokens: 100000, repeated_failures: 2}
limits: {timeout: 20m, check_timeout: 90s}
merge: {parallel: 3}
retry:
  transient: {attempts: 1, backoff: 30s}
  lost_worker: {attempts: 0}
second_person: true
"""


def a_file(text: str | bytes) -> WorkOrderFile:
    return read(text if isinstance(text, bytes) else text.encode(), "order.yaml")


def faults_of(text: str | bytes) -> list[tuple[int, int, str]]:
    """Line, column and code of each fault."""
    with pytest.raises(UnfitFile) as refusal:
        a_file(text)
    assert refusal.value.code == "unfit_work_order"
    for fault in refusal.value.faults:
        assert f"order.yaml:{fault.place.line}:{fault.place.column}: " in refusal.value.message
    return [(one.place.line, one.place.column, one.code) for one in refusal.value.faults]


def test_everything_that_can_be_written_is_read() -> None:
    """Each field of the file is part of the specification, and so of its digest."""
    found = a_file(WHOLE)

    order = found.specification
    assert (found.repository, found.base) == ("../humanize", "main")
    assert order.title == "Tidy the source"
    assert order.paths == ("src/**", "tests/**", "!src/vendor/**")
    assert (order.command, order.checks) == (("ruff", "format", "src"), ("pytest -q",))
    assert order.budget == Budget(3, timedelta(hours=2), 2_500_000, 100_000, 2)
    assert (order.timeout, order.check_timeout) == (timedelta(minutes=20), timedelta(seconds=90))
    assert (order.merge, order.merge_bound) == (MergeStrategy.PARALLEL, 3)
    assert order.retry == {
        "transient": RetryRule(1, timedelta(seconds=30)),
        "lost_worker": RetryRule(0),
    }
    assert order.second_person is True
    assert order.workflow is not None
    author, lint, *_ = order.workflow["steps"]
    assert author["command"] == ["ruff", "format", "src"]
    assert author["checks"] == ["pytest -q"]
    assert lint["command"] == ["sh", "-c", "ruff check"]
    assert lint["retry"] == {"transient": {"attempts": 1, "backoff_s": 120}}
    assert canonical(order.value())


def test_little_is_enough() -> None:
    """One command: the repository of the file's folder, its current branch, a serial merge."""
    found = a_file("command: make tidy\n")

    order = found.specification
    assert (found.repository, found.base) == (".", None)
    assert order.command == ("sh", "-c", "make tidy")
    assert order.title == "sh -c make tidy"
    assert (order.paths, order.workflow, order.budget) == ((), None, Budget())
    assert (order.merge, order.merge_bound) == (MergeStrategy.SERIAL, 1)
    assert order.second_person is False


def test_json_is_read_like_yaml() -> None:
    """The same content gives the same bytes, tabs and escapes of JSON included."""
    written = {"command": ["echo", "tidy / 😀"], "title": "Tidy", "budget": {"cost": 0.1}}
    as_yaml = "title: Tidy\ncommand: [echo, tidy / 😀]\nbudget: {cost: 0.10}\n"

    as_json = a_file(json.dumps(written, indent="\t").replace("/", "\\/"))

    assert canonical(as_json.specification.value()) == canonical(
        a_file(as_yaml).specification.value()
    )
    assert as_json.specification.budget.cost == 100_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("command: a\ntitel: x\n", [(2, 1, "unknown_field")]),
        ("command: a\nbudget: {attempt: 1}\n", [(2, 10, "unknown_field")]),
        ("command: a\nchecks: pytest\n", [(2, 9, "wrong_type")]),
        ("command: a\nchecks: [é, {}]\n", [(2, 13, "wrong_type")]),
        ("command: a\nsecond_person: yes\n", [(2, 16, "wrong_type")]),
        ("command: a\nbudget: {attempts: 1.5}\n", [(2, 20, "wrong_type")]),
        ("command: a\nbudget: {attempts: 0, cost: -1}\n",
         [(2, 20, "out_of_range"), (2, 29, "out_of_range")]),
        ("command: a\nlimits: {timeout: 10}\n", [(2, 19, "wrong_type")]),
        ("command: a\nlimits: {timeout: 0s}\n", [(2, 19, "out_of_range")]),
        ("command: a\nlimits: {timeout: 10 min}\n", [(2, 19, "bad_value")]),
        ("command: a\nmerge: parallel\n", [(2, 8, "bad_value")]),
        ("command: a\nretry: {budget: {attempts: 1}}\n", [(2, 9, "unknown_field")]),
        ("command: []\n", [(1, 10, "too_short")]),
        ("command: a\nchecks: ['  ']\n", [(2, 10, "bad_value")]),
        ("command: a\npaths: [../x, src]\n", [(2, 9, "unsafe_path")]),
        ("command: a\nexclude: [src, /etc]\n", [(2, 16, "unsafe_path")]),
        ("command: a\npaths: ['!src']\n", [(2, 9, "unsafe_path")]),
        ("title: x\n", [(1, 1, "missing_field")]),
        ("command: a\nagent: {name: codex, prompt: x}\n", [(1, 1, "conflict")]),
        ("agent: {name: codex}\n", [(1, 8, "missing_field")]),
        ("- a\n", [(1, 1, "wrong_type")]),
        ("", [(1, 1, "empty")]),
        ("command: a\ncommand: b\n", [(2, 1, "duplicate_key")]),
        ("command: [a\nb: c\n", [(2, 2, "bad_syntax")]),
        ("command: a\n\tchecks: []\n", [(2, 1, "bad_syntax")]),
        ("command: a\n---\ncommand: b\n", [(2, 1, "several_documents")]),
        ("command: a\n1: b\n", [(2, 1, "key_not_text")]),
        ("command: a\ntitle: \x07\n", [(2, 8, "bad_character")]),
        ('command: a\ntitle: "x\\0"\n', [(2, 8, "not_exact")]),
        ("command: a\ntitle: e\u0301\n", [(2, 8, "not_exact")]),
        (b"command: a\ntitle: \xff\n", [(2, 8, "not_utf8")]),
        ("command: !!python/object/apply:os.system [ls]\n", [(1, 10, "tag_refused")]),
        ("a: &a [x]\nb: *a\n", [(1, 4, "alias_refused")]),
    ],
)  # fmt: skip
@pytest.mark.contract("L8")
def test_a_fault_has_a_place_and_a_code(
    text: str | bytes, expected: list[tuple[int, int, str]]
) -> None:
    """Whoever wrote the file is told where to look, and programs are told what it is."""
    assert faults_of(text) == expected


def test_every_fault_is_named_at_once() -> None:
    """Several faults are several lines, in the order of the file."""
    found = faults_of("titel: x\ncommand: a\nbudget: {attempts: many}\nmerge: never\n")

    assert found == [(1, 1, "unknown_field"), (3, 20, "wrong_type"), (4, 8, "bad_value")]


@pytest.mark.parametrize(
    ("steps", "line", "code"),
    [
        ("[{name: a, kind: gate}, {name: a, kind: gate}]", 3, "duplicate_step"),
        ("[{name: a, kind: gate, needs: [b]}, {name: b, kind: gate, needs: [a]}]", 3, "cycle"),
        ("[{name: a, kind: gate, needs: [c]}]", 3, "unknown_dependency"),
        ("[{name: a, kind: gate, when: __import__('os')}]", 3, "bad_condition"),
        ("[{name: a, kind: gate, outputs: {type: objekt}}]", 3, "bad_output_contract"),
        ("[{name: a, kind: magic}]", 3, "bad_value"),
        ("[{name: A b, kind: gate}]", 3, "bad_value"),
        ("[]", 3, "too_short"),
    ],
)
@pytest.mark.contract("O02")
def test_a_fault_of_the_workflow_is_at_its_step(steps: str, line: int, code: str) -> None:
    """What the compiler refuses is refused in the file, with the step's line."""
    ((at, _, found),) = faults_of(f"command: a\nworkflow:\n  steps: {steps}\n")

    assert (at, found) == (line, code)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("command: a\nworkflow:\n  steps:\n"
         + "".join(f"  - {{name: s{n}, kind: gate}}\n" for n in range(10_000)), "too_large"),
        ("{command: a, workflow: {steps: ["
         + ",".join("{name: s, kind: gate}" for _ in range(10_000)) + "]}}", "too_many_values"),
        ("command: a\nworkflow:\n  steps:\n"
         + "".join(f"  - {{name: s{n}, kind: gate}}\n" for n in range(201)), "too_long"),
        ("[" * 100_000, "too_deep"),
        ("a: " * 50_000, "bad_syntax"),
        ("x" * 300_000, "too_large"),
        ("\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" if n else "a0: &a0 [lol]"
                   for n in range(30)), "alias_refused"),
    ],
)  # fmt: skip
@pytest.mark.timeout(20)
def test_what_is_too_much_is_refused_before_it_is_built(text: str, code: str) -> None:
    """Ten thousand steps, a hundred thousand levels, a billion laughs: one fault, at once."""
    ((_, _, found),) = faults_of(text)

    assert found == code


def test_an_agent_that_is_not_installed_is_refused_with_those_that_are() -> None:
    """Nobody waits for a run that no worker could begin."""
    with pytest.raises(UnfitFile) as refusal:
        a_file("agent: {name: nobody, prompt: Fix the clock}\n")

    (fault,) = refusal.value.faults
    assert (fault.place.line, fault.place.column, fault.code) == (1, 15, "agent_not_installed")
    assert "installed: claude-code, codex" in fault.message


def test_an_agent_has_its_executor_and_a_command_of_a_step_its_own() -> None:
    """An author without a command is the agent's; what has a command runs that."""
    text = """\
agent: {name: codex, prompt: Fix the clock}
workflow:
  steps:
    - {name: author, kind: author}
    - {name: tests, kind: command, needs: [author], command: make test}
"""
    specification = read(text.encode(), "w.yaml").specification

    assert (specification.executor, specification.command) == ("codex/v1", ())
    author, tests = compile_workflow(specification.workflow or {}).steps
    assert (author.prompt, author.command) == ("Fix the clock", ())
    assert (tests.prompt, tests.command) == (None, ("sh", "-c", "make test"))


def test_a_checks_step_has_a_timeout_of_its_own() -> None:
    """In seconds in the workflow that is kept; one that is too long is named at its place."""
    text = """\
command: make
workflow:
  steps:
    - {name: author, kind: author}
    - {name: propose, kind: pull_request, needs: [author]}
    - {name: ci, kind: checks, needs: [propose], timeout: TIME}
"""
    workflow = a_file(text.replace("TIME", "2d")).specification.workflow
    assert workflow is not None
    assert '"timeout_s":172800' in canonical(workflow).decode()

    assert faults_of(text.replace("TIME", "9d")) == [(6, 59, "out_of_range")]


def test_a_checkout_is_read_and_its_folders_are_checked():
    """How much of the repository a run sees, and where a folder is none."""
    asked = "command: [x]\ncheckout: {sparse: [src/, docs], depth: 2, submodules: true}\n"

    assert a_file(asked).specification.checkout == Extent(("docs", "src"), 2, submodules=True)
    with pytest.raises(UnfitFile) as refused:
        a_file("command: [x]\ncheckout:\n  sparse: [src, ../x]\n")
    assert [(one.code, one.place.line) for one in refused.value.faults] == [("unsafe_path", 3)]
