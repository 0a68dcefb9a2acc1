"""Every failure has one class, and two runs that fail alike have one signature."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain import errors, failure
from app.domain.failure import FailureClass, failure_class, signature
from app.domain.pull_request import Trouble
from app.domain.scope import ViolationCode
from workers.executors import process

HOUSE = Path(failure.__file__).parents[2]

#: Where a code stands among the arguments of what says that something went wrong.
CODE_AT = {
    "Friction": 0, "Unknown": 0, "Release": 0, "ending": 1, "hold": 2, "open_for_control": 2,
    "_publish_refusal": 0,
}  # fmt: skip


@pytest.mark.contract("T09")
def test_every_code_that_a_worker_can_produce_has_a_class() -> None:
    """A code without a class would be taken for our own fault."""
    produced = {
        *said_in_the_code(), *process.CAUSES.values(), *ViolationCode, *Trouble,
        *codes_of(errors.ProviderError), *codes_of(errors.SetupError), errors.OurFault.code,
        *(one.code for one in errors.Refused.__subclasses__() if "ZF00" in (one.__doc__ or "")),
    }  # fmt: skip

    assert len(produced) > 50
    assert produced - set(failure.CLASS_OF) == set()


def test_no_code_has_two_classes() -> None:
    """Each is written down once."""
    written = [code for codes in failure._CODES.values() for code in codes.split()]

    assert sorted(written) == sorted(set(written))
    assert set(failure._CODES) == set(FailureClass)


def test_what_nobody_classed_is_our_fault() -> None:
    """And that is never tried again by itself."""
    assert failure_class("something_new") is FailureClass.OUR_FAULT


@pytest.mark.contract("T11")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("exit 1 after 3.25 s", "exit 1 after 12.5 s"),
        ("\n\n  error in /tmp/a1/b.py, line 3", "error in /var/x/c.py, line 77\nand more"),
        ("at 2026-11-29T20:03:29Z: gone", "at 2025-01-02 03:04:05.678+01:00: gone"),
        ("12:00:01 object 0xdeadbeef", "23:59:59 object 0x1"),
        ("commit 83a2de9f is missing", "commit 1b00c7d0aa11bb22cc33 is missing"),
        ("id 6f1c1d1e-2a7b-4c3d-8e9f-0123456789ab", "id 0a0b0c0d-1111-2222-3333-444455556666"),
        ("\x1b[31mfailed\x1b[0m", "failed"),
    ],
)
def test_accidents_do_not_make_another_failure(first: str, second: str) -> None:
    """Times, paths, numbers and ids differ from run to run; the failure is the same."""
    one, other = (signature("author", "command_failed", words) for words in (first, second))

    assert one == other
    assert one.digest == other.digest


@pytest.mark.contract("T11")
@pytest.mark.parametrize(
    ("step", "code", "words"),
    [
        ("lint", "command_failed", "no module named x"),
        ("author", "check_failed", "no module named x"),
        ("author", "command_failed", "no module named y"),
    ],
)
def test_another_step_class_or_line_is_another_failure(step: str, code: str, words: str) -> None:
    """Words that mean something are kept."""
    known = signature("author", "command_failed", "no module named x")

    assert signature(step, code, words).digest != known.digest


def codes_of(branch: type[errors.FencepostError]) -> set[str]:
    """The codes of a branch of the tree, as far as it is the workers' own."""
    if branch.__module__ != errors.__name__:
        return set()  # of a command, and imported by another test
    return {branch.code} | {code for one in branch.__subclasses__() for code in codes_of(one)}


def said_in_the_code() -> Iterator[str]:
    """Codes that the source names where it says that something went wrong."""
    for folder in ("workers", "app/domain", "app/transitions", "app/kinds"):
        for path in sorted((HOUSE / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield from code_in(node)
                elif folder == "workers" and isinstance(node, ast.Assign):
                    yield from code_chosen_in(node)


def code_in(call: ast.Call) -> Iterator[str]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    place = CODE_AT.get(name)
    if place is None or len(call.args) <= place:
        return
    said = call.args[place]
    if isinstance(said, ast.Constant) and isinstance(said.value, str):
        yield said.value


def code_chosen_in(assignment: ast.Assign) -> Iterator[str]:
    """`code = "this" if … else "that"`."""
    chosen = assignment.value
    if ast.unparse(assignment.targets[0]) == "code" and isinstance(chosen, ast.IfExp):
        for one in (chosen.body, chosen.orelse):
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield one.value
